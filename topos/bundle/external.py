"""External judges: commands of any make that verify or run the modules of a checked bundle.

A program that our own verifier refused goes to none of them.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy.typing as npt

from topos.bundle.bundle import Call, Program
from topos.bundle.report import Check, State, Verdict, blocked, judged, told
from topos.errors import ArgumentError, ExecutionError
from topos.runtimes import ArrayType
from topos.runtimes._archive import load, save

Array = npt.NDArray[Any]

LONGEST_SECONDS: Final = 600


def validator_verdicts(command: str, check: Check, folder: Path) -> list[Verdict]:
    """Returns whether a command accepts the modules: it is called with the path of a text.

    A status of zero accepts. `folder` takes the texts. Raises `ArgumentError` for a text that is
    no command.
    """
    words = _words(command)
    return [
        blocked("validator", program)
        if check.refused(program)
        else _validated(words, program, folder)
        for program in check.bundle.programs
    ]


def evaluator_verdicts(command: str, check: Check, folder: Path) -> list[Verdict]:
    """Returns what the samples are by a command: `COMMAND MODULE ARGS.npz RESULTS.npz ...`.

    It is called once, with such a triple for each call of each program. The arguments are `arg0`,
    `arg1`, ..., the results `result0`, ...; elements that numpy does not know are stored as their
    bits. `folder` takes the files. Raises `ArgumentError` for a text that is no command.
    """
    words, weights = _words(command), check.bundle.weights()
    programs = check.bundle.programs
    asked = {
        program.name: _asked(program, weights, folder)
        for program in programs
        if not check.refused(program)
    }
    # Most of an evaluator's time is its start, so one process takes the modules of all programs.
    done = _called(words, [path for each in asked.values() for path in each.paths], len(asked))
    verdicts = []
    for program in programs:
        if program.name in asked:
            answers = partial(_answers, program, asked, done)
            verdicts += judged("evaluator", program, answers)
        else:
            verdicts.append(blocked("evaluator", program))
    return verdicts


class _Asked(NamedTuple):
    """What a command is asked of one program: a module, and the archives of each call."""

    module: Path
    arguments: tuple[Path, ...]
    results: tuple[Path, ...]

    @property
    def paths(self) -> list[Path]:
        """The triples, one after the other."""
        pairs = zip(self.arguments, self.results, strict=True)
        return [path for pair in pairs for path in (self.module, *pair)]

    @property
    def is_answered(self) -> bool:
        """Whether every call has results."""
        return all(path.is_file() for path in self.results)


class _Done(NamedTuple):
    """How a command ended: its name, what it said, and what is wrong where it failed."""

    command: str
    said: tuple[str, ...] = ()
    failure: str = ""
    notes: str = ""

    def reason(self, module: Path) -> str:
        """Returns what is wrong with a module: the line that names it, or else the first."""
        about = [line for line in self.said if str(module) in line]
        line = (about or [*self.said, "it said nothing"])[0]
        return f"{self.failure}: {line}{self.notes}"


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ArgumentError(f"a judge needs a command, got {command!r}: {error}") from None
    if not words:
        raise ArgumentError(f"a judge needs a command, got {command!r}")
    return words


def _validated(words: Sequence[str], program: Program, folder: Path) -> Verdict:
    module = _text(program, folder)
    done = _called(words, [module], 1)
    if done.failure:
        return told("validator", program, State.FAILED, done.reason(module))
    return told("validator", program, State.HOLDS)


def _asked(program: Program, weights: Mapping[str, Array], folder: Path) -> _Asked:
    """Writes a module and the arguments of its sample's calls."""
    module, calls = _text(program, folder), program.sample()
    arguments, results = (
        tuple(module.with_suffix(f".{place}.{kind}.npz") for place in range(len(calls)))
        for kind in ("args", "results")
    )
    for path, call in zip(arguments, calls, strict=True):
        every = {**weights, **call.inputs}
        save(path, [every[port.name] for port in program.arguments], "arg")
    for path in results:
        path.unlink(missing_ok=True)
    return _Asked(module, arguments, results)


def _answers(
    program: Program, asked: Mapping[str, _Asked], done: _Done, calls: Sequence[Call]
) -> list[list[Array]]:
    own = asked[program.name]
    # One module's failure is no other's, unless nothing tells whose it is.
    if not own.is_answered or all(each.is_answered for each in asked.values()):
        if done.failure:
            raise ExecutionError(done.reason(own.module))
        if not own.is_answered:
            raise ExecutionError(f"{done.command} wrote no results")
    types = [ArrayType(port.shape, port.dtype) for port in program.results]
    return [load(path, types, "result") for path in own.results]


def _text(program: Program, folder: Path) -> Path:
    path = folder / f"{program.name}.mlir"
    path.write_text(program.text, encoding="utf-8")
    return path


def _called(words: Sequence[str], paths: Sequence[Path], programs: int) -> _Done:
    """Runs a command on paths, of so many programs; where there are none it is not started."""
    name = words[0]
    if not programs:
        return _Done(name)
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
        return _Done(name, (_unstarted(name, error),), f"{name} cannot be run")
    if not done.returncode:
        return _Done(name)
    said = (done.stderr or done.stdout).strip().splitlines()
    notes = "".join(f"; {_missing(word)}" for word in words[1:] if _is_missing(word))
    return _Done(name, tuple(said), f"{name} ended with {done.returncode}", notes)


def _unstarted(name: str, error: Exception) -> str:
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
