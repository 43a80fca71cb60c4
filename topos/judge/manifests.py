"""Folders with a manifest of digests: written whole or not at all, and verified when read."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from topos.errors import ArgumentError

MANIFEST: Final = "manifest.json"
# The key of a manifest that says what the folder is.
KIND: Final = "topos"
CASE, REPRODUCER = "case", "reproducer"


@contextmanager
def replacing(path: str | os.PathLike[str], kind: str, facts: Mapping[str, Any]) -> Iterator[Path]:
    """Gives a new folder to write into, which takes its place at `path` when the context ends.

    A manifest with `facts` and the digest of every file is added. Raises `ArgumentError` where
    something stands there that is no folder of this kind, and `OSError` where the system refuses.
    """
    target = demand_place(path, kind)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=target.parent, prefix=".", suffix=".partial"))
    try:
        partial.chmod(0o755)
        yield partial
        files = {each.name: digest(each) for each in sorted(partial.iterdir())}
        manifest = {KIND: kind, "version": topos_version(), **facts, "files": files}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        if target.exists():
            old = partial.with_suffix(".old")
            os.rename(target, old)
            os.rename(partial, target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def demand_place(path: str | os.PathLike[str], kind: str) -> Path:
    """Returns the place that a folder of a kind may take, links followed.

    Raises `ArgumentError` where something else stands there.
    """
    target = Path(os.path.realpath(path))
    if not os.path.lexists(target) or (target.is_dir() and not any(target.iterdir())):
        return target
    manifest = _manifest(target) if target.is_dir() else None
    if manifest is None or manifest[KIND] != kind:
        raise ArgumentError(f"{target} exists and is not a {kind}: name another folder")
    for each in sorted(target.iterdir()):
        if each.name != MANIFEST and each.name not in manifest["files"]:
            raise ArgumentError(
                f"{target} holds {each.name}, which is no file of a {kind}: name another folder"
            )
    return target


def manifest_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the manifest of a case or a reproducer, whose files are as they were written.

    Raises `ArgumentError` where the folder is neither, or a file of it is missing or another.
    """
    folder = Path(path)
    manifest = _manifest(folder)
    if manifest is None:
        there = "is no case" if folder.is_dir() else "is no folder"
        raise ArgumentError(f"{path} {there}: write a case with topos record")
    for name, wanted in manifest["files"].items():
        there = folder / name
        if not there.is_file():
            raise ArgumentError(f"{path} has no {name}, which its manifest lists: record it again")
        if digest(there) != wanted:
            raise ArgumentError(f"{there} is not the file that was recorded: record it again")
    return manifest


def is_case(path: str | os.PathLike[str]) -> bool:
    """Returns whether a folder has the manifest of a case or a reproducer."""
    return _manifest(Path(path)) is not None


def digest(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def topos_version() -> str:
    """Returns the version of topos, or what stands for it where it was never installed."""
    try:
        return version("topos-compiler")
    except PackageNotFoundError:
        return "of a folder that was never installed"


def _manifest(folder: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(manifest, dict) or manifest.get(KIND) not in (CASE, REPRODUCER):
        return None
    files = manifest.get("files")
    plain = isinstance(files, dict) and all(Path(name).name == name for name in files)
    return manifest if plain else None
