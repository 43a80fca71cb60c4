"""What a session says of arguments, times, processes and bundles that it cannot serve with."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serving.serving_bundles import FEATURES, truth
from topos.bundle import Program
from topos.errors import ArgumentError, BundleError, CrashError, UnavailableError
from topos.serving import DrainingError, RequestError, Session, Settings
from topos.serving.loaded import LoadedModel
from topos.serving.messages import Origin, Refused
from topos.serving.process_worker import ProcessWorker
from topos.serving.worker_main import _refused

X = np.arange(2 * FEATURES, dtype=np.float32).reshape(2, FEATURES)


class Lazy:
    """Becomes an array by a way of its own, which tells the thread that it ran on."""

    def __init__(self, become: Callable[[], Any]) -> None:
        self.become = become
        self.threads: list[int] = []

    def __array__(self, *_: Any, **__: Any) -> Any:
        self.threads.append(threading.get_ident())
        return self.become()


def raise_error(error: BaseException) -> Any:
    raise error


def test_an_argument_becomes_an_array_on_the_thread_of_its_owner(session: Session) -> None:
    lazy = Lazy(lambda: X)
    answer = session.infer("mlp", {"x": lazy})
    assert answer["scores"].tobytes() == truth(X).tobytes()
    asyncio.run(session.infer_async("mlp", {"x": lazy}))
    assert set(lazy.threads) == {threading.get_ident()}


def test_an_argument_that_is_no_array_is_counted_and_harms_nobody(session: Session) -> None:
    before = session.counters("mlp").outcomes.get("RequestError", 0)
    with pytest.raises(RequestError, match=r"^x: needs an array, got Lazy$"):
        session.infer("mlp", {"x": Lazy(lambda: raise_error(KeyError("x")))})
    assert session.counters("mlp").outcomes["RequestError"] == before + 1
    with pytest.raises(SystemExit):
        session.infer("mlp", {"x": Lazy(lambda: raise_error(SystemExit(3)))})
    assert session.infer("mlp", {"x": X}, deadline=10.0)["scores"].shape == (2, 3)


def spoiled(_: Any) -> Any:
    raise ValueError("of all things")


def test_a_start_that_fails_in_any_way_refuses_the_bundle(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LoadedModel, "load", spoiled)
    told = "^the bundle cannot be loaded: ValueError: of all things$"
    with pytest.raises(BundleError, match=told):
        Session(bundle, runtime="interpreter").open()


def test_a_process_that_fails_at_its_start_refuses_with_the_reason() -> None:
    told = "the bundle cannot be loaded: "
    assert _refused(ValueError("x\udc80")) == Refused("BundleError", f"{told}ValueError: x\\udc80")
    assert _refused(MemoryError()).kind == "UnavailableError"
    assert _refused(ArgumentError("as it is")) == Refused("ArgumentError", "as it is")


def test_a_worker_process_refuses_an_origin_of_nonsense() -> None:
    async def start() -> None:
        origin = Origin(5, "interpreter", "fast", {}, None)  # type: ignore[arg-type]
        await ProcessWorker.start(origin, Settings())

    with pytest.raises(BundleError, match=r"^the bundle cannot be loaded: ValidationError: "):
        asyncio.run(start())


def test_every_call_of_a_sample_is_run(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = Program.sample

    def spoiled_last(program: Program) -> Any:
        first = sample(program)[0]
        wrong = {name: array + 1 for name, array in first.results.items()}
        return (first, first._replace(results=wrong))

    monkeypatch.setattr(Program, "sample", spoiled_last)
    with pytest.raises(BundleError, match=r"scores within .* of the oracle's"):
        Session(bundle, runtime="interpreter").open()


def test_a_reload_that_takes_too_long_says_so(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(start_seconds=2.0)
    with Session(bundle, runtime="interpreter", settings=settings) as session:
        released = threading.Event()
        monkeypatch.setattr(LoadedModel, "load", lambda _: released.wait(20.0))
        with pytest.raises(CrashError, match=r"^the worker was not ready within 2 seconds$"):
            session.reload("mlp")
        released.set()
        told = "the last reload was refused: the worker was not ready within 2 seconds"
        assert session.model("mlp").reason == told


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), MemoryError()])
def test_a_reload_that_lacks_something_is_refused_with_the_reason(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    with Session(bundle, runtime="interpreter") as session:
        monkeypatch.setattr(LoadedModel, "load", lambda _: raise_error(error))
        with pytest.raises(UnavailableError, match=type(error).__name__):
            session.reload("mlp")
        assert type(error).__name__ in session.model("mlp").reason
        assert session.counters("mlp").refused_reloads == 1


def test_a_session_that_closes_is_draining(bundle: Path) -> None:
    session, ended = Session(bundle, runtime="interpreter").open(), list[type]()
    # The session closes while all of them ask.
    asking = threading.Barrier(5)

    def ask_until_refused() -> None:
        session.infer("mlp", {"x": X})
        asking.wait(20.0)
        try:
            while True:
                session.infer("mlp", {"x": X})
        except BaseException as error:
            ended.append(type(error))

    threads = [threading.Thread(target=ask_until_refused, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    asking.wait(20.0)
    session.close()
    for thread in threads:
        thread.join(20.0)
    assert ended == [DrainingError] * 4


def test_a_model_is_not_unknown_while_its_session_closes(bundle: Path) -> None:
    async def serve() -> None:
        session = await Session(bundle, runtime="interpreter").open_async()
        closing = asyncio.create_task(session.close_async())
        await asyncio.sleep(0)
        assert not closing.done()
        with pytest.raises(DrainingError):
            await session.infer_async("mlp", {"x": X})
        await closing

    asyncio.run(serve())


def use_inherited(session: Session, told: Any) -> None:
    """Runs in a process that was forked from that of the session."""
    for use in (
        lambda: session.infer("mlp", {"x": X}),
        lambda: session.reload("mlp"),
        lambda: session.drain(1.0),
        lambda: asyncio.run(session.infer_async("mlp", {"x": X})),
    ):
        try:
            use()
        except DrainingError as error:
            told.send(str(error))
    session.close()
    told.send("closed")


# Where another test of this process imported jax, it warns of any fork.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:os.fork:RuntimeWarning")
def test_a_session_lives_in_the_process_that_opened_it(session: Session) -> None:
    forking = multiprocessing.get_context("fork")
    ours, theirs = forking.Pipe(duplex=False)
    child = forking.Process(target=use_inherited, args=(session, theirs))
    child.start()
    try:
        told = [ours.recv() for _ in range(5) if ours.poll(10.0)]
    finally:
        child.kill()
        child.join()
    reason = "a session lives in the process that opened it, not in one forked from that"
    assert told == [reason] * 4 + ["closed"]
    assert session.infer("mlp", {"x": X})["scores"].shape == (2, 3)


def test_a_worker_outlives_the_terminal_of_its_session(bundle: Path) -> None:
    settings = Settings(isolation="process")
    with Session(bundle, runtime="interpreter", settings=settings) as session:
        process = session.model("mlp").process
        assert process is not None
        os.kill(process, signal.SIGHUP)
        assert session.infer("mlp", {"x": X})["scores"].shape == (2, 3)
        assert session.counters("mlp").restarts == 0
