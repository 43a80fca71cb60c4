"""Commands that judge modules: started once for a call, or kept for many where they allow it."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, Final, NamedTuple

import numpy.typing as npt

from topos.errors import ArgumentError, ExecutionError, UnavailableError
from topos.runtimes import ArrayType
from topos.runtimes._archive import load, save

Array = npt.NDArray[Any]
VALIDATOR: Final = "TOPOS_STABLEHLO_VALIDATOR"
EVALUATOR: Final = "TOPOS_STABLEHLO_EVALUATOR"
LONGEST_SECONDS: Final = 600
# The commands of this package that take modules of several requests from one process.
OWN: Final = ("validate", "eval")
# The status of what an installation lacks, and the words in which topos says so.
UNUSABLE: Final = 2
LACKING: Final = "pip install"


class Done(NamedTuple):
    """How a command ended: its name, what it said, and what is wrong where it failed."""

    command: str
    said: tuple[str, ...] = ()
    failure: str = ""
    notes: str = ""
    lacking: str = ""

    def reason(self, module: Path) -> str:
        """Returns what is wrong with a module: the line that names it, or else the first."""
        about = [line for line in self.said if str(module) in line]
        line = (about or [*self.said, "it said nothing"])[0]
        return f"{self.failure}: {line}{self.notes}"


class Commands:
    """What calls commands, and keeps one process of each that is topos's own until it is closed."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], _Kept] = {}

    def called(self, words: Sequence[str], paths: Sequence[Path], programs: int) -> Done:
        """Returns how a command ended on paths, of so many programs."""
        if not is_own(words):
            return called(words, paths, programs)
        key = tuple(words)
        try:
            if key not in self._kept:
                self._kept[key] = _Kept(words)
            status, said = self._kept[key].ask(paths, LONGEST_SECONDS * programs)
        except OSError as error:
            self._end(key)
            return Done(words[0], (unstarted(words[0], error),), f"{words[0]} cannot be run")
        if status is None:
            self._end(key)
            return Done(words[0], said, f"{words[0]} ended")
        return _done(words, status, said)

    def _end(self, key: tuple[str, ...]) -> None:
        if key in self._kept:
            self._kept.pop(key).close()

    def __enter__(self) -> Commands:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for key in list(self._kept):
            self._end(key)


class _Kept:
    """A process of `topos validate --batch` or `topos eval --batch`."""

    def __init__(self, words: Sequence[str]) -> None:
        # Closed with the process, which may write to it at any time.
        self._errors: IO[Any] = TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [*words, "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def ask(self, paths: Sequence[Path], seconds: float) -> tuple[int | None, tuple[str, ...]]:
        """Returns the status of a request and what was said; the status of a process that is gone
        is None."""
        taken, told = self._process.stdin, self._process.stdout
        assert taken is not None
        assert told is not None
        try:
            print(json.dumps([str(path) for path in paths]), file=taken, flush=True)
        except BrokenPipeError:
            return None, self._last_words()
        if not select.select([told], [], [], seconds)[0]:
            return None, (f"it took longer than {seconds:g} seconds",)
        line = told.readline()
        if not line:
            return None, self._last_words()
        found = json.loads(line)
        return found["status"], tuple(found["said"].splitlines())

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def _last_words(self) -> tuple[str, ...]:
        self._process.wait()
        self._errors.seek(0)
        text: str = self._errors.read().decode(errors="replace")
        return tuple(text.strip().splitlines())


def words_of(command: str) -> list[str]:
    """Returns the words of a command; raises `ArgumentError` for a text that is none."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ArgumentError(f"a judge needs a command, got {command!r}: {error}") from None
    if not words:
        raise ArgumentError(f"a judge needs a command, got {command!r}")
    return words


def is_own(words: Sequence[str]) -> bool:
    """Returns whether a command is `topos validate` or `topos eval`, which take many modules."""
    rest = list(words[1:])
    if rest[:2] == ["-m", "topos"]:
        rest = rest[2:]
    elif Path(words[0]).name != "topos":
        return False
    return bool(rest) and rest[0] in OWN


def called(words: Sequence[str], paths: Sequence[Path], programs: int) -> Done:
    """Runs a command on paths, of so many programs, in a process of its own."""
    name = words[0]
    try:
        done = subprocess.run(
            [*words, *map(str, paths)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LONGEST_SECONDS * programs,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Done(name, (unstarted(name, error),), f"{name} cannot be run")
    said = (done.stderr or done.stdout) if done.returncode else ""
    if is_own(words):
        said = f"{done.stdout}\n{done.stderr}"
    return _done(words, done.returncode, said.strip().splitlines())


def _done(words: Sequence[str], status: int, said: Sequence[str]) -> Done:
    if not status:
        return Done(words[0], tuple(said))
    lacking = ""
    if is_own(words) and status == UNUSABLE:
        lacking = next((line for line in said if LACKING in line), "")
    notes = "".join(f"; {_missing(word)}" for word in words[1:] if _is_missing(word))
    return Done(words[0], tuple(said), f"{words[0]} ended with {status}", notes, lacking)


def unstarted(name: str, error: Exception) -> str:
    """Returns why a command did not start."""
    if os.sep not in name and shutil.which(name) is None:
        return "no command of this name is on PATH"
    return _missing(name) if _is_missing(name) else getattr(error, "strerror", "") or str(error)


def _is_missing(word: str) -> bool:
    """Returns whether a word of a command is a path at which nothing is."""
    looks = (os.sep in word or word.endswith(".py")) and len(word.split()) == 1
    return looks and not word.startswith("-") and not os.path.exists(word)


def _missing(word: str) -> str:
    if os.path.isabs(word):
        return f"there is no {word}"
    return f"there is no {word} in {Path.cwd()}: name it by its whole path"


def demand_accepted(command: str, text: str, folder: Path) -> None:
    """Raises `ExecutionError` where a validator refuses a text, `UnavailableError` at none."""
    module = folder / "module.mlir"
    module.write_text(text, encoding="utf-8")
    _demand(called(words_of(command), [module], 1), module)


def evaluated(
    command: str, text: str, arguments: Sequence[Array], types: Sequence[ArrayType], folder: Path
) -> list[Array]:
    """Returns the results of a text by an evaluator; raises as `demand_accepted` does."""
    module, given, results = (folder / each for each in ("module.mlir", "args.npz", "results.npz"))
    module.write_text(text, encoding="utf-8")
    save(given, arguments, "arg")
    done = called(words_of(command), [module, given, results], 1)
    _demand(done, module)
    if not results.is_file():
        raise ExecutionError(f"{done.command} wrote no results")
    return load(results, types, "result")


def _demand(done: Done, module: Path) -> None:
    if done.lacking:
        raise UnavailableError(done.lacking)
    if done.failure:
        raise ExecutionError(done.reason(module))
