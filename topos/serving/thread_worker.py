"""Workers in a thread: the model runs in this process, whose memory and fate it shares."""

from __future__ import annotations

import asyncio
import mmap
import threading
from queue import SimpleQueue

from topos.errors import ToposError
from topos.serving.arena import Arena
from topos.serving.loaded import LoadedModel, brief
from topos.serving.messages import Answer, Call, Failed, Origin
from topos.serving.settings import Settings
from topos.serving.worker import Worker

__all__ = ["ThreadWorker"]


class ThreadWorker(Worker):
    """A model in a thread of its own.

    A thread cannot be killed: one that hangs is left to itself, and ends once its call does.
    """

    def __init__(self, model: LoadedModel) -> None:
        description = model.description
        super().__init__(description, Arena(description, mmap.mmap(-1, Arena.size(description))))
        self._loop = asyncio.get_running_loop()
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        name = f"topos {description.name}"
        threading.Thread(target=self._run, args=(model,), name=name, daemon=True).start()

    @classmethod
    async def start(cls, origin: Origin, settings: Settings) -> ThreadWorker:
        """Returns a worker once its model is loaded.

        Raises what loading does, and `TimeoutError` where it takes longer than the settings say.
        """
        async with asyncio.timeout(settings.start_seconds):
            return cls(await asyncio.to_thread(LoadedModel.load, origin))

    def submit(self, number: int, program: int) -> None:
        """Hands the call to the thread."""
        self._calls.put(Call(number, program))

    def stop(self, reason: str) -> None:
        """Ends the thread after the call it runs; nobody hears its answer."""
        self._calls.put(None)
        self._end(reason)

    def _run(self, model: LoadedModel) -> None:
        while (call := self._calls.get()) is not None:
            answer = _answer(model, self.arena, call)
            try:
                self._loop.call_soon_threadsafe(self._deliver, answer)
            except RuntimeError:
                # The loop was closed while the call ran.
                return

    def _deliver(self, answer: Answer | Failed) -> None:
        self.answered(answer)


def _answer(model: LoadedModel, arena: Arena, call: Call) -> Answer | Failed:
    try:
        model.run(call.program, arena)
    except ToposError as error:
        return Failed(call.number, brief(error))
    # A kernel of the user's own may raise anything, and the thread must go on.
    except Exception as error:
        return Failed(call.number, f"{type(error).__name__}: {error}")
    return Answer(call.number)
