"""Runs jax's linear algebra on XLA, in its worker, and on the interpreter, and compares the two.

Each function is exported by jax.export and run on drawn, well conditioned matrices. Deviations are
shares of the largest magnitude of a result, in units of the element's precision.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import jax  # noqa: E402  # The folders must be on the path first.
from linear_algebra_cases import CASES, Case  # noqa: E402

from topos.errors import ToposError  # noqa: E402
from topos.runtimes import load  # noqa: E402
from topos.runtimes.distance import relative_difference  # noqa: E402

Array = npt.NDArray[Any]

ENVELOPE: Final = 512.0
"""How far the two may lie apart, in units of the precision beside the largest magnitude."""


def exported(case: Case, element: str) -> tuple[str, Sequence[Array]]:
    """Returns the module of a case for CPUs, and its arguments, the same each time."""
    arguments = case.draw(np.random.default_rng(7), np.dtype(element))
    with jax.enable_x64(True):
        # Some targets are no part of what jax promises to keep between its versions.
        checks = [jax.export.DisabledSafetyCheck.custom_call("ALL")]
        made = jax.export.export(jax.jit(case.function), platforms=["cpu"], disabled_checks=checks)(
            *arguments
        )
        return made.mlir_module(), arguments


def deviation(case: Case, element: str) -> float:
    """Returns how far XLA's results lie from the interpreter's; raises what either raises."""
    text, arguments = exported(case, element)
    theirs = load("xla").compile(text, options={"isolated": True})(*arguments)
    ours = load("interpreter").compile(text, numerics="exact")(*arguments)
    return max(_deviation(*pair) for pair in zip(ours, theirs, strict=True))


def _deviation(ours: Array, theirs: Array) -> float:
    if ours.dtype.kind not in "fc":
        return 0.0 if np.array_equal(ours, theirs) else np.inf
    parts = [(ours, theirs)]
    if ours.dtype.kind == "c":
        parts = [(np.stack([ours.real, ours.imag]), np.stack([theirs.real, theirs.imag]))]
    return max(relative_difference(*part) for part in parts) / float(np.finfo(ours.dtype).eps)


def _rows(names: Iterable[str]) -> Iterator[tuple[str, str, float | None, str]]:
    for name in names:
        case = CASES[name]
        for element in case.elements:
            try:
                found = deviation(case, element)
                told = f"{found:.1f}" if found <= ENVELOPE else f"{found:.3g} BEYOND"
                yield name, element, found, told
            except ToposError as error:
                yield name, element, None, f"{type(error).__name__}: {str(error).splitlines()[0]}"


def main(arguments: list[str] | None = None) -> int:
    """Prints the table, and returns 1 where a row is outside the envelope or raised."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"There are {len(CASES)} functions, which together take two to four minutes.",
    )
    parser.add_argument(
        "--only", default="", metavar="NAME", help="only functions with NAME in theirs, as cholesky"
    )
    only = parser.parse_args(arguments).only
    names = [name for name in CASES if only in name]
    if not names:
        parser.error(f"no function has {only!r} in its name; there are {'; '.join(CASES)}")
    status = 0
    print(f"{'function':<34}{'element':<12}units of precision (at most {ENVELOPE:g})")
    for name, element, found, told in _rows(names):
        print(f"{name:<34}{element:<12}{told}", flush=True)
        if found is None or found > ENVELOPE:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
