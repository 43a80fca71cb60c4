"""Reloads: a new version takes over whole, a bad one not at all, and no request is dropped."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.serving.serving_bundles import FEATURES, exported_mlp, exported_pair, truth
from tests.serving.serving_gate import Gate, eventually
from topos.bundle.manifest import MANIFEST, decoded, encoded
from topos.errors import BundleError
from topos.serving import DrainingError, Session, Settings, WorkerError
from topos.serving.description import Arena
from topos.serving.loaded import LoadedModel

X = np.random.default_rng(3).integers(-4, 5, (5, FEATURES)).astype(np.float32)


def scores(session: Session) -> bytes:
    return session.infer("mlp", {"x": X})["scores"].tobytes()


def workers() -> list[str]:
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name in ("topos mlp", "topos pair")]


@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_the_new_version_answers_after_a_reload(tmp_path: Path, isolation: Any) -> None:
    old = exported_mlp(tmp_path / "mlp")
    settings = Settings(isolation=isolation)
    with Session(tmp_path / "mlp", runtime="interpreter", settings=settings) as session:
        new = exported_mlp(tmp_path / "mlp", rows=(2, 16), scale=2.0)
        assert session.model("mlp").version == old.version
        assert scores(session) == truth(X).tobytes()
        status = session.reload("mlp")
        assert (status.version, status.rows, status.reason) == (new.version, (2, 16), "")
        assert scores(session) == truth(X, 2.0).tobytes()
        assert session.counters("mlp").reloads == 1


def altered_weights(path: Path) -> None:
    weights = path / "weights.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)


def without_manifest(path: Path) -> None:
    (path / MANIFEST).unlink()


def wrong_promise(path: Path) -> None:
    """Swaps the weights for others, whose digest the manifest is made to hold."""
    other = exported_mlp(path.parent / "other", scale=2.0)
    (path / "weights.safetensors").write_bytes((other.path / "weights.safetensors").read_bytes())
    manifest = decoded((path / MANIFEST).read_bytes())
    promised = decoded((other.path / MANIFEST).read_bytes()).weights
    replaced = msgspec.structs.replace(manifest, weights=promised)
    (path / MANIFEST).write_bytes(encoded(replaced))


def another_model(path: Path) -> None:
    exported_pair(path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (altered_weights, "whose digest is another"),
        (without_manifest, "has no manifest.json"),
        (wrong_promise, "scores within .* of the oracle's, and interpreter is .* off"),
        (another_model, "a reload of mlp needs a bundle of that name, got pair"),
    ],
)
def test_a_bad_bundle_is_refused_and_the_old_one_serves_on(
    tmp_path: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    old = exported_mlp(tmp_path / "mlp")
    with Session(tmp_path / "mlp", runtime="interpreter") as session:
        spoil(tmp_path / "mlp")
        with pytest.raises(BundleError, match=reason) as caught:
            session.reload("mlp")
        status = session.model("mlp")
        assert (status.ready, status.version) == (True, old.version)
        assert status.reason == f"the last reload was refused: {caught.value}"
        assert scores(session) == truth(X).tobytes()
        assert session.counters("mlp").refused_reloads == 1
        asyncio.run(eventually(lambda: workers() == ["topos mlp"]))
        rmtree(tmp_path / "mlp")
        new = exported_mlp(tmp_path / "mlp", scale=2.0)
        status = session.reload("mlp")
        assert (status.version, status.reason) == (new.version, "")
        assert scores(session) == truth(X, 2.0).tobytes()


def test_requests_that_came_before_finish_on_their_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported_mlp(tmp_path / "mlp")
    gate = Gate()

    async def serve() -> None:
        async with Session(tmp_path / "mlp", runtime="interpreter") as session:
            monkeypatch.setattr(LoadedModel, "run", lambda *given: gate.run(*given))
            asked = [
                asyncio.create_task(session.infer_async("mlp", {"x": X[:rows]}))
                for rows in (1, 5, 5)
            ]
            await eventually(lambda: gate.seen)
            await asyncio.to_thread(exported_mlp, tmp_path / "mlp", (4,), 2.0)
            await session.reload_async("mlp")
            late = asyncio.create_task(session.infer_async("mlp", {"x": X}))
            await asyncio.sleep(0)
            gate.opened.set()
            for task, rows in zip(asked, (1, 5, 5), strict=True):
                assert (await task)["scores"].tobytes() == truth(X[:rows]).tobytes()
            assert (await late)["scores"].tobytes() == truth(X, 2.0).tobytes()
            assert await session.drain_async(20.0)

    asyncio.run(serve())


def test_closing_ends_a_version_that_still_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported_mlp(tmp_path / "mlp")
    gate = Gate()

    async def serve() -> None:
        async with Session(tmp_path / "mlp", runtime="interpreter") as session:
            monkeypatch.setattr(LoadedModel, "run", lambda *given: gate.run(*given))
            asked = asyncio.create_task(session.infer_async("mlp", {"x": X}))
            await eventually(lambda: gate.seen)
            await session.reload_async("mlp")
        with pytest.raises(DrainingError, match="closed before the request was served"):
            await asked
        gate.opened.set()
        await eventually(lambda: not workers())

    asyncio.run(serve())


def test_no_answer_comes_from_two_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported_mlp(tmp_path / "mlp", rows=(2,))
    released, calls, run = threading.Event(), list[int](), LoadedModel.run

    def hang_once(model: LoadedModel, program: int, arena: Arena) -> None:
        calls.append(program)
        if len(calls) == 2:
            exported_mlp(tmp_path / "mlp", rows=(2,), scale=2.0)
            assert released.wait(20.0)
        run(model, program, arena)

    monkeypatch.setattr(LoadedModel, "run", hang_once)
    settings = Settings(call_seconds=1.0)
    with Session(tmp_path / "mlp", runtime="interpreter", settings=settings) as session:
        # Two rows of five are answered when the worker hangs, and its bundle is another by then.
        assert scores(session) == truth(X, 2.0).tobytes()
        released.set()
        assert session.counters("mlp").restarts == 1


def test_an_outcome_tells_the_version_that_computed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = exported_mlp(tmp_path / "mlp", rows=(2,))
    released, run = threading.Event(), LoadedModel.run
    replaced = list[str]()

    def hang_once(model: LoadedModel, program: int, arena: Arena) -> None:
        if not replaced:
            replaced.append(exported_mlp(tmp_path / "mlp", rows=(2,), scale=2.0).version)
            assert released.wait(20.0)
        run(model, program, arena)

    async def serve() -> None:
        settings = Settings(call_seconds=1.0)
        async with Session(tmp_path / "mlp", runtime="interpreter", settings=settings) as session:
            first = await session.outcome_async("mlp", {"x": X})
            assert (first.version, first.results["scores"].tobytes()) == (
                old.version,
                truth(X).tobytes(),
            )
            monkeypatch.setattr(LoadedModel, "run", hang_once)
            # The worker hangs, and the one that follows it loads what stands there by then.
            second = await session.outcome_async("mlp", {"x": X})
            released.set()
            assert second.results["scores"].tobytes() == truth(X, 2.0).tobytes()
            assert [second.version] == replaced

    asyncio.run(serve())


def test_what_is_told_of_a_model_follows_its_reloads(tmp_path: Path) -> None:
    exported_mlp(tmp_path / "mlp")
    with Session(tmp_path / "mlp", runtime="interpreter") as session:
        new = exported_mlp(tmp_path / "mlp", scale=2.0)
        session.reload("mlp")
        assert session.served("mlp").version == session.model("mlp").version == new.version
        rmtree(tmp_path / "mlp")
        with pytest.raises(BundleError):
            session.reload("mlp")
        assert session.model("mlp").reason.startswith("the last reload was refused: ")
        session.drain(1.0)
        assert not session.model("mlp").ready


def test_a_restart_takes_no_bundle_of_another_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported_mlp(tmp_path / "mlp", rows=(2,))
    released, run = threading.Event(), LoadedModel.run

    def hang(model: LoadedModel, program: int, arena: Arena) -> None:
        if not released.is_set():
            exported_mlp(tmp_path / "mlp", rows=(4,), scale=2.0)
            assert released.wait(20.0)
        run(model, program, arena)

    monkeypatch.setattr(LoadedModel, "run", hang)
    settings = Settings(call_seconds=1.0)
    with Session(tmp_path / "mlp", runtime="interpreter", settings=settings) as session:
        with pytest.raises(WorkerError, match="replaced by one with another signature"):
            session.infer("mlp", {"x": X})
        released.set()
        assert not session.model("mlp").ready
        assert session.reload("mlp").ready
        assert scores(session) == truth(X, 2.0).tobytes()
