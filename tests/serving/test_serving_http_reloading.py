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
import uvicorn

from tests.serving.serving_bundles import exported_mlp, truth
from topos.errors import UnavailableError
from topos.serving import Session, Settings
from topos.serving.http import reloading
from topos.serving.http.examples import Examples
from topos.serving.http.reloading import Reloading, watched_folders
from topos.serving.http.running import Running


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
            return [
                type("Model", (), {"name": name, "version": "2", "notes": ()})
                for name in ("a", "b")
            ]

        async def reload_async(self, name: str) -> Any:
            if name == "a":
                raise OSError(errno.EMFILE, "Too many open files")
            return self.models()[1]

    session: Any = Two()
    asyncio.run(Reloading(session, [], told.append).reload_all())
    assert told[0].startswith("a serves on as it was: ")
    assert told[1:] == ["b is loaded again, version 2"]


def test_a_model_that_was_never_loaded_is_told_without_a_version() -> None:
    told: list[str] = []

    class One:
        def models(self) -> list[Any]:
            parts = {"name": "a", "version": "", "ready": False, "reason": "no worker"}
            return [type("Model", (), {**parts, "notes": ("compiled",)})]

    session: Any = One()
    application: Any = None
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(application)
        Running(session, application, config, listener, [], told.append)._tell()
    line, note = told
    assert line.startswith("a is not ready (no worker) at http://127.0.0.1:")
    assert note == "a: compiled"


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
            process = session.model("mlp").process
            assert process is not None
            os.kill(process, signal.SIGHUP)
            rows = np.ones((1, 6), np.float32)
            await session.infer_async("mlp", {"x": rows})
            assert session.counters("mlp").restarts == 0

    asyncio.run(hung_up())


def test_a_reload_that_lacked_something_is_tried_again_without_a_change(tmp_path: Path) -> None:
    exported_mlp(tmp_path / "mlp")
    tried = 0

    class Short:
        def models(self) -> list[Any]:
            return [
                type("Model", (), {"name": name, "version": "?", "notes": ()})
                for name in ("mlp", "gone")
            ]

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


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    """`own/scorer` leads over two links to a bundle of `checkouts/1`: the layout of git-sync."""
    for number in (1, 2, 3):
        path = tmp_path / "checkouts" / str(number) / "a"
        exported_mlp(path, rows=(1,), scale=number, name=None)
    (tmp_path / "current").symlink_to(tmp_path / "checkouts" / "1")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "scorer").symlink_to("../current/a")
    return tmp_path


def test_a_link_that_leads_elsewhere_is_a_reload_under_the_name_of_the_path(
    checkouts: Path,
) -> None:
    given, rows = checkouts / "own" / "scorer", np.ones((1, 6), np.float32)
    steps = {"current": "checkouts/2", "own/scorer": "../checkouts/3/a"}
    told: list[str] = []

    async def watched() -> None:
        async with Session(given, runtime="interpreter") as session:
            examples = Examples([given])
            for number, (link, target) in enumerate(steps.items(), start=2):
                (checkouts / "new").symlink_to(target)
                (checkouts / "new").rename(checkouts / link)
                await Reloading(session, [given], told.append).reload_changed(True)
                results = await session.infer_async("scorer", {"x": rows})
                assert results["scores"].tobytes() == truth(rows, number).tobytes()
                assert examples.weights(session.model("scorer")) == 6 * 3 * 4

    asyncio.run(watched())
    assert [line.partition(", ")[0] for line in told] == ["scorer is loaded again"] * 2


def test_the_folder_of_every_link_on_the_path_is_watched(checkouts: Path) -> None:
    assert watched_folders(checkouts / "own" / ".." / "own" / "scorer") == {
        *(checkouts / "own" / ".." / "own" / "scorer", checkouts / "own" / ".." / "own"),
        *(checkouts / "own", checkouts, checkouts / "checkouts" / "1"),
        checkouts / "checkouts" / "1" / "a",
    }
    (checkouts / "loop").symlink_to("loop")
    assert checkouts in watched_folders(checkouts / "loop" / "scorer")


def test_a_bundle_of_another_name_is_a_refused_reload(tmp_path: Path) -> None:
    told: list[str] = []

    async def watched() -> None:
        exported_mlp(tmp_path / "mlp", rows=(1,))
        async with Session(tmp_path / "mlp", runtime="interpreter") as session:
            exported_mlp(tmp_path / "mlp", rows=(1,), name="other")
            await Reloading(session, [tmp_path / "mlp"], told.append).reload_changed(True)

    asyncio.run(watched())
    needs = "a reload of mlp needs a bundle of that name, got other"
    assert told == [f"mlp serves on as it was: {needs}"]
