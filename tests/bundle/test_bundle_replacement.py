"""An export takes the place of a bundle whole, or leaves what stands there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.bundle.bundled_models import mlp
from topos.bundle import Bundle, export, replacement
from topos.errors import BundleError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_bundle_is_replaced_whole(tmp_path: Path) -> None:
    export(tmp_path / "b", [mlp(1), mlp(2)], batched=True)
    before = names(tmp_path / "b")
    after = mlp().export(tmp_path / "b")
    assert (
        before
        != names(tmp_path / "b")
        == sorted(
            [
                "main.mlir",
                "main.mlirbc",
                "main.sample.safetensors",
                "manifest.json",
                "weights.safetensors",
            ]
        )
    )
    assert Bundle.load(tmp_path / "b").version == after.version
    assert names(tmp_path) == ["b"]


def test_an_empty_folder_and_missing_parents_are_taken(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    mlp().export(tmp_path / "empty")
    mlp().export(tmp_path / "new" / "folder")
    assert Bundle.load(tmp_path / "new" / "folder").name == "folder"


def test_a_link_stays_one(tmp_path: Path) -> None:
    mlp().export(tmp_path / "first")
    (tmp_path / "current").symlink_to("first")
    version = mlp(seed=9).export(tmp_path / "current").version
    assert (tmp_path / "current").is_symlink()
    assert Bundle.load(tmp_path / "first").version == version


def test_what_is_no_bundle_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "manifest.json").write_text('{"name": "of another program"}')
    mlp().export(tmp_path / "bundle")
    (tmp_path / "bundle" / "notes").write_text("mine")
    before = names(tmp_path)
    reasons = {
        "folder": "has no manifest.json",
        "file": "a bundle is a folder",
        "package": "needs format 1",
        "bundle": "holds notes besides",
    }
    for name, reason in reasons.items():
        with pytest.raises(BundleError, match=f"an export replaces bundles only: .*{reason}"):
            mlp().export(tmp_path / name)
    assert names(tmp_path) == before
    assert (tmp_path / "folder" / "thesis.tex").read_text() == "mine"
    assert (tmp_path / "bundle" / "notes").read_text() == "mine"


def test_a_failure_while_writing_leaves_the_old_bundle(tmp_path: Path) -> None:
    version = mlp().export(tmp_path / "b").version
    with pytest.raises(FileNotFoundError), replacement.replacing(tmp_path / "b") as folder:
        (folder / "missing" / "manifest.json").write_text("half")
    assert Bundle.load(tmp_path / "b").version == version
    assert names(tmp_path) == ["b"]


def test_what_is_being_written_is_no_bundle_and_the_old_one_serves(tmp_path: Path) -> None:
    version = mlp().export(tmp_path / "b").version
    with replacement.replacing(tmp_path / "b") as folder:
        for path in (tmp_path / "b").iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        (folder / "manifest.json").unlink()
        assert folder.parent == tmp_path
        with pytest.raises(BundleError, match="it is no bundle, or still being written"):
            Bundle.load(folder)
        assert Bundle.load(tmp_path / "b").version == version


def test_a_reader_meets_one_bundle_or_the_other(tmp_path: Path) -> None:
    plans = mlp(seed=1), mlp(seed=2)
    versions = {plan.export(tmp_path / "b").version for plan in plans}
    done = threading.Event()
    met: list[str] = []

    def read() -> None:
        while not done.is_set():
            met.append(Bundle.load(tmp_path / "b").version)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(5):
            for plan in plans:
                plan.export(tmp_path / "b")
    finally:
        done.set()
        reader.join()
    # An error of the reader fails this test by the warning that pytest makes of it.
    assert set(met) == versions
