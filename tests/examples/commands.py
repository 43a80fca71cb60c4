"""Running an example in a folder of its own: as a command, or in this process."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Final

import pytest

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
# Without the foreign runtimes an example takes seconds.
FOREIGN: Final = ("jax", "iree.compiler")
PLAIN: Final = {"COLUMNS": "80", "FORCE_COLOR": ""}

# Runs a file as a command does, its folder first on the path, where packages are missing.
WITHOUT: Final = """\
import os, runpy, sys
sys.modules.update(dict.fromkeys({}))
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""

Done = subprocess.CompletedProcess[str]


def command(example: str, folder: Path, *arguments: str, absent: Sequence[str] = ()) -> Done:
    """Returns the finished process of an example, which cannot import the packages `absent`."""
    options = ["-W", "error"] + (["-c", WITHOUT.format([*absent])] if absent else [])
    return subprocess.run(
        [sys.executable, *options, str(EXAMPLES / example), *arguments],
        cwd=folder,
        env={**os.environ, **PLAIN},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


def run(example: str, folder: Path, *arguments: str, absent: Sequence[str] = ()) -> Done:
    """Returns what an example did in this process, which cannot import the packages `absent`."""
    return ran(EXAMPLES / example, folder, *arguments, absent=absent)


def ran(file: Path, folder: Path, *arguments: str, absent: Sequence[str] = ()) -> Done:
    """Returns what a command's file did in this process, which has loaded what it imports."""
    path, status = str(file), 0
    told, failed = (TextIOWrapper(BytesIO(), encoding="utf-8") for _ in range(2))
    with (
        _standing(folder, [path, *arguments], absent),
        redirect_stdout(told),
        redirect_stderr(failed),
    ):
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    texts = []
    for stream in (told, failed):
        stream.seek(0)
        texts.append(stream.read())
    return subprocess.CompletedProcess([path, *arguments], status, *texts)


@contextmanager
def _standing(folder: Path, words: list[str], absent: Sequence[str]) -> Iterator[None]:
    """Lets this process pass for that of a command without some packages."""
    known, home = set(sys.modules), os.path.dirname(words[0])
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        patch.setattr(sys, "argv", words)
        patch.setattr(sys, "path", [home, *sys.path])
        for name, value in PLAIN.items():
            patch.setenv(name, value)
        for package in absent:
            # What is loaded of a package would be found past it.
            for name in (package, *(each for each in known if each.startswith(f"{package}."))):
                patch.setitem(sys.modules, name, None)
        try:
            yield
        finally:
            for name in set(sys.modules) - known:
                if os.path.dirname(getattr(sys.modules[name], "__file__", None) or "") == home:
                    del sys.modules[name]
