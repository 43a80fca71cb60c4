"""Reloading: a watch and a reload outlive whatever goes wrong under them."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serving.serving_bundles import exported_mlp
from topos.errors import UnavailableError
from topos.serving import Session, Settings
from topos.serving.http import reloading
from topos.serving.http.reloading import Reloading


def test_a_watch_that_fails_is_told_once_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    tries = 0

    async def failing(*_: Any, **__: Any) -> AsyncIterator[set[Any]]:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise OSError(errno.EMFILE, "Too many open files")
        await asyncio.sleep(60)
        yield set()

    async def watched() -> None:
        session: Any = None
        watching = asyncio.create_task(Reloading(session, [tmp_path], told.append).watch())
        while tries < 4:
            assert not watching.done()
            await asyncio.sleep(0.01)
        watching.cancel()

    monkeypatch.setattr(reloading, "awatch", failing)
    monkeypatch.setattr(reloading, "_PAUSE_SECONDS", 0.01)
    asyncio.run(watched())
    (line,) = told
    assert line.startswith("cannot watch the bundles, and will try again: ")
    assert "Too many open files" in line


def test_a_reload_that_fails_leaves_the_other_models_theirs(tmp_path: Path) -> None:
    told: list[str] = []

    class Two:
        def models(self) -> list[Any]:
            return [type("Model", (), {"name": name, "version": "2"}) for name in ("a", "b")]

        async def reload_async(self, name: str) -> Any:
            if name == "a":
                raise OSError(errno.EMFILE, "Too many open files")
            return self.models()[1]

    session: Any = Two()
    asyncio.run(Reloading(session, [], told.append).reload_all())
    assert told[0].startswith("a serves on as it was: ")
    assert told[1:] == ["b is loaded again, version 2"]


def test_a_worker_without_file_descriptors_is_a_refused_reload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported_mlp(tmp_path / "mlp")

    def none_left() -> tuple[socket.socket, socket.socket]:
        raise OSError(errno.EMFILE, "Too many open files")

    async def reloaded() -> None:
        settings = Settings(isolation="process")
        folder = tmp_path / "mlp"
        async with Session(folder, runtime="interpreter", settings=settings) as session:
            with monkeypatch.context() as patch:
                patch.setattr("topos.serving.process_worker.socket.socketpair", none_left)
                with pytest.raises(UnavailableError, match=r"cannot start: .*Too many open files"):
                    await session.reload_async("mlp")
            assert "Too many open files" in session.model("mlp").reason
            assert (await session.reload_async("mlp")).reason == ""

    asyncio.run(reloaded())


def test_a_hangup_of_the_group_ends_no_worker(tmp_path: Path) -> None:
    exported_mlp(tmp_path / "mlp")

    async def hung_up() -> None:
        settings = Settings(isolation="process")
        folder = tmp_path / "mlp"
        async with Session(folder, runtime="interpreter", settings=settings) as session:
            worker: Any = session._models["mlp"]._lane._worker
            os.kill(worker.pid, signal.SIGHUP)
            rows = np.ones((1, 6), np.float32)
            await session.infer_async("mlp", {"x": rows})
            assert session.counters("mlp").restarts == 0

    asyncio.run(hung_up())


def test_a_reload_that_lacked_something_is_tried_again_without_a_change(tmp_path: Path) -> None:
    exported_mlp(tmp_path / "mlp")
    tried = 0

    class Short:
        def model(self, name: str) -> Any:
            return type("Model", (), {"version": "another"})

        async def reload_async(self, name: str) -> Any:
            nonlocal tried
            tried += 1
            raise UnavailableError("a worker process cannot start: Too many open files")

    session: Any = Short()
    watching = Reloading(session, [tmp_path / "mlp", tmp_path / "gone"], lambda _: None)
    asyncio.run(watching.reload_changed(True))
    asyncio.run(watching.reload_changed(False))
    assert tried == 2
    shutil.rmtree(tmp_path / "mlp")
    asyncio.run(watching.reload_changed(False))
    assert tried == 2
