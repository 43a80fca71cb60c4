"""Workers in a thread: the model runs in this process, whose memory and fate it shares."""

from __future__ import annotations

import asyncio
import mmap
import threading
from queue import SimpleQueue
from typing import Final

from topos.errors import CrashError
from topos.serving.description import Arena
from topos.serving.loaded import LoadedModel
from topos.serving.messages import Answer, Call, Failed, Origin
from topos.serving.settings import Settings
from topos.serving.worker import Pace, Worker

# What a call may hold the loop for; to hand it to the thread and hear of its end takes a tenth.
QUICK_SECONDS: Final = 1e-3


class ThreadWorker(Worker):
    """A model in a thread of its own; one whose calls are quick runs on the loop when alone.

    A thread cannot be killed: one that hangs is left to itself, and ends once its call does. A
    call that hangs on the loop hangs the loop with it; a program comes to run there only after
    calls of it in the thread took less than `QUICK_SECONDS`.
    """

    def __init__(self, model: LoadedModel) -> None:
        description = model.description
        super().__init__(description, Arena(description, mmap.mmap(-1, Arena.size(description))))
        self._loop, self._model = asyncio.get_running_loop(), model
        self._pace = Pace(len(description.programs))
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        name = f"topos {description.name}"
        threading.Thread(target=self._run, args=(model,), name=name, daemon=True).start()

    @classmethod
    async def start(cls, origin: Origin, settings: Settings) -> ThreadWorker:
        """Returns a worker once its model is loaded.

        Raises what loading does, and `CrashError` where it takes longer than the settings say.
        """
        try:
            async with asyncio.timeout(settings.start_seconds) as limit:
                return cls(await asyncio.to_thread(LoadedModel.load, origin))
        except TimeoutError as error:
            if not limit.expired():
                raise
            seconds = settings.start_seconds
            raise CrashError(f"the worker was not ready within {seconds:g} seconds") from error

    def submit(self, number: int, program: int, alone: bool = False) -> None:
        """Hands the call to the thread, or runs it here where it is alone and quick."""
        call = Call(number, program)
        if alone and self._pace.seconds(program) < QUICK_SECONDS:
            self._deliver(call, _answer(self._model, self.arena, call))
        else:
            self._calls.put(call)

    def stop(self, reason: str) -> None:
        """Ends the thread after the call it runs; nobody hears its answer."""
        self._calls.put(None)
        self._end(reason)

    def _run(self, model: LoadedModel) -> None:
        while (call := self._calls.get()) is not None:
            answer = _answer(model, self.arena, call)
            try:
                self._loop.call_soon_threadsafe(self._deliver, call, answer)
            except RuntimeError:
                # The loop was closed while the call ran.
                return

    def _deliver(self, call: Call, answer: Answer | Failed) -> None:
        if isinstance(answer, Answer):
            self._pace.learn(call.program, answer.seconds)
        self.answered(answer)


def _answer(model: LoadedModel, arena: Arena, call: Call) -> Answer | Failed:
    try:
        return model.answer(call, arena)
    # A kernel of the user's own may raise anything, and the thread must go on.
    except Exception as error:
        return Failed(call.number, f"{type(error).__name__}: {error}")
