"""Background loops: an asyncio loop in a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import threading

__all__ = ["BackgroundLoop"]


class BackgroundLoop:
    """A loop that runs until it is stopped."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the loop and its thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _run(self) -> None:
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(_finished())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()


async def _finished() -> None:
    """Cancels all other tasks, so that no thread waits for one for ever."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
