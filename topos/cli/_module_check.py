"""A module on every runtime: its results held against those of the interpreter when exact."""

from __future__ import annotations

import json
import math
import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos import runtimes
from topos.bundle.commands import EVALUATOR, VALIDATOR, demand_accepted, evaluated
from topos.bundle.report import brief, is_slow, ready
from topos.cli._arguments import arguments_of, called
from topos.cli._reporting import DONE, FAILED
from topos.cli._shared import of_file, table
from topos.engine import Numerics
from topos.errors import ToposError, UnavailableError, UnsupportedError
from topos.runtimes import ArrayType
from topos.runtimes._runtime import isolating
from topos.runtimes.distance import relative_difference, same_bits

Array = npt.NDArray[Any]

HEADINGS: Final = ("runtime", "result", "deviation", "verdict")


class Verdict(NamedTuple):
    """One result of a runtime, or why there is none.

    `deviation` is a share of the largest magnitude of the interpreter's result.
    """

    runtime: str
    result: str
    deviation: float | None
    verdict: str
    passed: bool = True


class _Run(NamedTuple):
    """The arguments of a module, and its results by the interpreter with their types."""

    arguments: Sequence[Array]
    expected: Sequence[Array]
    types: Sequence[ArrayType]


def check_module(chosen: Namespace) -> int:
    """Verifies a module, runs it on runtimes, prints the verdicts, and returns the exit status."""
    verdicts: list[Verdict] = []
    status = of_file(chosen.bundle, lambda text: verdicts.extend(_verdicts(chosen, text)))
    if status != DONE:
        return status
    print(_document(verdicts) if chosen.json else table([HEADINGS, *map(_cells, verdicts)]))
    return DONE if all(each.passed for each in verdicts) else FAILED


def _verdicts(chosen: Namespace, text: str) -> Iterator[Verdict]:
    named = chosen.runtime is not None
    judges = ready(chosen.runtime)
    exact = runtimes.load("interpreter").compile(text, numerics=Numerics.EXACT)
    arguments = arguments_of(chosen, exact.signature.arguments)
    expected = called(chosen, exact, arguments)
    for runtime in judges:
        if not named and is_slow(runtime, text):
            yield Verdict(runtime.name, "", None, "skipped: name it with --runtime to run it")
            continue
        try:
            options = isolating(runtime)
            compiled = runtime.compile(text, numerics=chosen.numerics, options=options)
            results = compiled(*arguments)
        except UnsupportedError as error:
            yield Verdict(runtime.name, "", None, f"lacking: {brief(error)}", not named)
        except ToposError as error:
            yield Verdict(runtime.name, "", None, f"FAILED: {brief(error)}", False)
        else:
            for place, (ours, theirs) in enumerate(zip(expected, results, strict=True)):
                yield _compared(runtime.name, f"result{place}", ours, theirs, chosen.within)
    # Commands that the environment names; the text has passed our own verifier.
    with TemporaryDirectory(prefix="topos-check-") as folder:
        if command := os.environ.get(VALIDATOR):
            yield _validated(command, text, Path(folder))
        if command := os.environ.get(EVALUATOR):
            run = _Run(arguments, expected, exact.signature.results)
            yield from _evaluated(command, text, run, Path(folder), chosen.within)


def _validated(command: str, text: str, folder: Path) -> Verdict:
    try:
        demand_accepted(command, text, folder)
    except ToposError as error:
        return _wrong("validator", error)
    return Verdict("validator", "", None, "holds")


def _evaluated(
    command: str, text: str, run: _Run, folder: Path, within: float | None
) -> Iterator[Verdict]:
    try:
        results = evaluated(command, text, run.arguments, run.types, folder)
    except ToposError as error:
        yield _wrong("evaluator", error)
    else:
        for place, (ours, theirs) in enumerate(zip(run.expected, results, strict=True)):
            yield _compared("evaluator", f"result{place}", ours, theirs, within)


def _wrong(judge: str, error: ToposError) -> Verdict:
    if isinstance(error, UnavailableError):
        return Verdict(judge, "", None, f"skipped: {brief(error)}")
    return Verdict(judge, "", None, f"FAILED: {brief(error)}", False)


def _compared(
    runtime: str, result: str, ours: Array, theirs: Array, within: float | None
) -> Verdict:
    if same_bits(ours, theirs):
        return Verdict(runtime, result, 0.0, "bits equal")
    share = relative_difference(_real(ours), _real(theirs))
    if within is None:
        return Verdict(runtime, result, share, "deviates, no bound given")
    passed = share <= within
    return Verdict(runtime, result, share, "inside" if passed else "OUTSIDE", passed)


def _real(array: Array) -> Array:
    """Returns the parts of complex numbers as numbers of their own."""
    return np.stack([array.real, array.imag]) if array.dtype.kind == "c" else array


def _cells(verdict: Verdict) -> tuple[str, ...]:
    number = "" if verdict.deviation is None else f"{verdict.deviation:.1e}"
    return (verdict.runtime, verdict.result, number, verdict.verdict)


def _document(verdicts: list[Verdict]) -> str:
    """Returns the verdicts as JSON, where an infinite deviation is null."""
    entries = [each._asdict() for each in verdicts]
    for entry in entries:
        if entry["deviation"] is not None and not math.isfinite(entry["deviation"]):
            entry["deviation"] = None
    passed = all(each.passed for each in verdicts)
    return json.dumps({"passed": passed, "verdicts": entries}, indent=2)
