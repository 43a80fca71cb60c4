"""What becomes of a text on a runtime: an outcome, beside what the interpreter gives exactly."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt
from fuzz_cases import Case

from topos.errors import CrashError, ToposError
from topos.runtimes import ArrayType, Runtime, verify
from topos.runtimes._inputs import random_array
from topos.runtimes.distance import relative_difference, same_bits
from topos.runtimes.interpreter import RUNTIME

__all__ = ["LateError", "Outcome", "alarmed", "interpreted", "tried"]

Array = npt.NDArray[Any]

STEPS: Final = 10_000
# What the worker puts before the class of an exception that is no error of topos.
FOREIGN: Final = re.compile(r"failed at the module: (\w+)")
DEATH: Final = re.compile(r"died of (SIG\w+)|ended with status \d+")
# Rounding errors of this many units, beside the largest number of a result, are no wrong value.
NEAR_UNITS: Final = 256
# How many elements that differ a fault shows.
SHOWN: Final = 4


class Outcome(NamedTuple):
    """How a text ended: its kind, and in how far that is a fault, told with its reason."""

    kind: str
    fault: str = ""
    results: Sequence[Array] | None = None


class LateError(BaseException):
    """The alarm; no handler of exceptions takes it for one of its own."""


def alarm(number: int, frame: object) -> None:
    """Ends the text that is tried: what SIGALRM calls."""
    raise LateError


@contextmanager
def alarmed(limit: float) -> Iterator[None]:
    """Raises `LateError` in what takes more than `limit` seconds."""
    before = signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def interpreted(case: Case, limit: float) -> Outcome:
    """Returns how `case` ends on the interpreter, exactly, within `limit` seconds."""
    try:
        with alarmed(limit):
            verify(case.text)
            executable = RUNTIME.compile(case.text, numerics="exact", options={"max_steps": STEPS})
            arguments = _arguments(case, executable.signature.arguments)
            if arguments is None:
                return Outcome("too large")
            return Outcome("ran", results=executable(*arguments))
    except ToposError as error:
        return Outcome(type(error).__name__)
    except LateError:
        return Outcome("late", f"not done after {limit:g} s")
    # Whatever is no error of topos is the finding.
    except Exception as error:
        return Outcome("fault", f"{type(error).__name__}: {error}")


def tried(case: Case, runtime: Runtime, numerics: str, limit: float, exact: Outcome) -> Outcome:
    """Returns how `case` ends in the worker of `runtime`; a request may take `limit` seconds."""
    options = {"isolated": True, "timeout": limit}
    try:
        executable = runtime.compile(case.text, numerics=numerics, options=options)
        arguments = _arguments(case, executable.signature.arguments)
        if arguments is None:
            return Outcome("too large")
        results = executable(*arguments)
    except CrashError as error:
        death = DEATH.search(str(error))
        return Outcome(f"died: {death[1] or death[0]}" if death else "late", str(error))
    except ToposError as error:
        foreign = FOREIGN.search(str(error))
        if foreign:
            return Outcome(f"foreign: {foreign[1]}", str(error))
        return Outcome(type(error).__name__)
    if exact.results is None:
        return Outcome("ran alone")
    return _compared(exact.results, results)


def _compared(exact: Sequence[Array], results: Sequence[Array]) -> Outcome:
    if len(exact) == len(results) and all(map(same_bits, exact, results)):
        return Outcome("equal")
    if len(exact) == len(results) and all(map(_is_near, exact, results)):
        return Outcome("near")
    return Outcome("differs", "\n".join(map(_shown, exact, results)))


def _shown(exact: Array, result: Array) -> str:
    """Returns the first elements that differ, with their places in the flat array."""
    types = [str(ArrayType(each.shape, each.dtype)) for each in (exact, result)]
    if types[0] != types[1]:
        return f"exact {types[0]}, came {types[1]}"
    pairs = zip(exact.reshape(-1), result.reshape(-1), strict=True)
    apart = [
        f"at {place} exact {ours!s}, came {theirs!s}"
        for place, (ours, theirs) in enumerate(pairs)
        if not _is_near(np.asarray(ours), np.asarray(theirs))
    ]
    more = [f"{len(apart) - SHOWN} more"] if len(apart) > SHOWN else []
    return f"{types[0]}: " + "; ".join([*apart[:SHOWN], *more])


def _is_near(exact: Array, result: Array) -> bool:
    if exact.shape != result.shape or exact.dtype != result.dtype:
        return False
    if same_bits(exact, result):
        return True
    if exact.dtype.kind == "c":
        return all(map(_is_near, (exact.real, exact.imag), (result.real, result.imag)))
    if exact.dtype.kind in "biu" or "int" in exact.dtype.name:
        return False
    smallest, unit = (float(each) for each in _limits(exact.dtype))
    # A NaN of the narrowest elements is widened with a warning, which ends a tool that heeds it.
    with np.errstate(invalid="ignore"):
        ours, theirs = (_flushed(each.astype(np.float64), smallest) for each in (exact, result))
    return relative_difference(ours, theirs) <= NEAR_UNITS * unit


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    limits = ml_dtypes.finfo(dtype)
    return limits.smallest_normal, limits.eps


def _flushed(array: Array, smallest: float) -> Array:
    return np.where(np.abs(array) < 2 * smallest, 0.0, array)


def _arguments(case: Case, types: Iterable[ArrayType]) -> list[Array] | None:
    """Returns arguments of `types`, or `None` where memory has no room for them."""
    wanted = [*types]
    given = case.arguments
    if given is not None and [(each.shape, each.dtype) for each in given] == wanted:
        return given
    generator = np.random.default_rng(0)
    try:
        return [random_array(generator, type) for type in wanted]
    except MemoryError:
        return None
