"""External judges: commands of any make that verify or run the modules of a bundle."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy.typing as npt

from topos.bundle.bundle import Bundle, Call, Program
from topos.bundle.judgement import State, Verdict, judged
from topos.errors import ExecutionError
from topos.runtimes import ArrayType
from topos.runtimes._archive import load, save

__all__ = ["evaluator_verdicts", "validator_verdicts"]

Array = npt.NDArray[Any]

LONGEST_SECONDS: Final = 600


def validator_verdicts(command: str, bundle: Bundle, folder: Path) -> list[Verdict]:
    """Returns whether a command accepts the modules: it is called with the path of a text.

    A status of zero accepts. `folder` takes the texts.
    """
    return [_validated(command, program, folder) for program in bundle.programs]


def evaluator_verdicts(command: str, bundle: Bundle, folder: Path) -> list[Verdict]:
    """Returns what the samples are by a command: `COMMAND MODULE ARGS.npz RESULTS.npz ...`.

    It gets such a triple for each call. The arguments are `arg0`, `arg1`, ..., the results
    `result0`, ...; elements that numpy does not know are stored as their bits. `folder` takes the
    files.
    """
    weights = bundle.weights()
    return [
        verdict
        for program in bundle.programs
        for verdict in judged(
            "evaluator", program, partial(_answers, command, program, weights, folder)
        )
    ]


def _validated(command: str, program: Program, folder: Path) -> Verdict:
    try:
        _called([*shlex.split(command), str(_text(program, folder))])
    except ExecutionError as error:
        return Verdict("validator", program.name, "", State.FAILED, reason=str(error))
    return Verdict("validator", program.name, "", State.HOLDS)


def _answers(
    command: str,
    program: Program,
    weights: Mapping[str, Array],
    folder: Path,
    calls: Sequence[Call],
) -> list[list[Array]]:
    module, words, answered = _text(program, folder), shlex.split(command), []
    for place, call in enumerate(calls):
        ends = (f".{place}.args.npz", f".{place}.results.npz")
        arguments, results = (module.with_suffix(end) for end in ends)
        every = {**weights, **call.inputs}
        save(arguments, [every[port.name] for port in program.arguments], "arg")
        results.unlink(missing_ok=True)
        answered.append(results)
        words += map(str, (module, arguments, results))
    _called(words)
    types = [ArrayType(port.shape, port.dtype) for port in program.results]
    return [_loaded(words[0], results, types) for results in answered]


def _loaded(command: str, results: Path, types: Sequence[ArrayType]) -> list[Array]:
    if not results.is_file():
        raise ExecutionError(f"{command} answered no results")
    return load(results, types, "result")


def _text(program: Program, folder: Path) -> Path:
    path = folder / f"{program.name}.mlir"
    path.write_text(program.text, encoding="utf-8")
    return path


def _called(words: Sequence[str]) -> None:
    """Runs a command; raises `ExecutionError` with the end of what it says where it fails."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExecutionError(f"{words[0]} cannot be run: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise ExecutionError(f"{words[0]} ended with {done.returncode}: {said[0]}")
