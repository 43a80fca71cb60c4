"""Runs jax's symbolic exports on the runtimes, at three shapes each, and compares the results.

Each function is exported once with symbolic dimensions. On the interpreter, under Exact, its
results must have the bits of the same function exported at static shapes; on every runtime they
must be those of jax's own `Exported.call`, up to a share of the largest magnitude, counted in units
of the element's precision.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import jax  # noqa: E402  # The folders must be on the path first.
from dynamic_shape_cases import CASES, Case  # noqa: E402

from topos.runtimes import Executable, load  # noqa: E402
from topos.runtimes.distance import relative_difference, same_bits  # noqa: E402

Array = npt.NDArray[Any]

ENVELOPE: Final = 16.0
"""How far a result may lie from jax's, in units of the precision beside the largest magnitude."""


class Found(NamedTuple):
    """How far the results at one set of extents are from jax's; `bits` are None where not asked."""

    extents: Mapping[str, int]
    distance: float
    bits: bool | None


class Trial:
    """A case exported once with symbolic dimensions, by jax for the CPU."""

    def __init__(self, case: Case) -> None:
        self.case = case
        scope = jax.export.SymbolicScope(case.constraints)
        structures = [
            jax.ShapeDtypeStruct(
                jax.export.symbolic_shape(shape, scope=scope), case.element(position)
            )
            for position, shape in enumerate(case.shapes)
        ]
        self.exported = _export(case, structures)
        self._compiled: dict[str, Executable] = {}
        self._wanted: dict[int, list[Array]] = {}

    def found(self, position: int, runtime: str) -> Found:
        """Returns how far a runtime is from jax at the extents of that position."""
        extents = self.case.extents[position]
        arguments = self.case.drawn(extents)
        if runtime not in self._compiled:
            text = self.exported.mlir_module()
            self._compiled[runtime] = load(runtime).compile(text, numerics="exact")
        if position not in self._wanted:
            leaves = jax.tree_util.tree_leaves(self.exported.call(*arguments))
            self._wanted[position] = [np.asarray(leaf) for leaf in leaves]
        got = self._compiled[runtime](*arguments)
        distance = max(map(_distance, self._wanted[position], got))
        bits = None
        if runtime == "interpreter":
            text = _export(self.case, arguments).mlir_module()
            same = load(runtime).compile(text, numerics="exact")(*arguments)
            bits = all(map(same_bits, same, got))
        return Found(extents, distance, bits)


def _export(case: Case, arguments: Sequence[Any]) -> Any:
    return jax.export.export(jax.jit(case.function), platforms=["cpu"])(*arguments)


def _distance(ours: Array, theirs: Array) -> float:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if ours.dtype.kind != "f":
        return 0.0 if np.array_equal(ours, theirs) else float("inf")
    return relative_difference(ours, theirs) / float(np.finfo(ours.dtype).eps)


def _lines(name: str, runtimes: list[str]) -> Iterator[tuple[bool, str]]:
    trial = Trial(CASES[name])
    for position in range(len(trial.case.extents)):
        cells, good = [], True
        for runtime in runtimes:
            each = trial.found(position, runtime)
            good = good and each.distance <= ENVELOPE and each.bits is not False
            bits = {None: "", True: ", bits of static", False: ", OTHER BITS"}[each.bits]
            cells.append(f"{each.distance:.1f}{bits}")
        shown = ", ".join(f"{key}={value}" for key, value in each.extents.items())
        row = "".join(f"{cell:<24}" for cell in cells)
        yield good, f"{name:<18}{shown:<14}{row}".rstrip()


def main(arguments: list[str] | None = None) -> int:
    """Prints the table, and returns 1 where a result is outside the envelope."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--runtime", action="append", metavar="NAME", help="default: interpreter and xla"
    )
    parser.add_argument("--only", default="", metavar="NAME", help="only cases with NAME in theirs")
    chosen = parser.parse_args(arguments)
    runtimes = chosen.runtime or ["interpreter", "xla"]
    names = [name for name in CASES if chosen.only in name]
    print(f"{'export':<18}{'extents':<14}{''.join(f'{each:<24}' for each in runtimes)}")
    faults = total = 0
    for name in names:
        for good, line in _lines(name, runtimes):
            print(line, flush=True)
            total += 1
            faults += not good
    print(f"{total - faults} of {total} within {ENVELOPE:g} units of precision of jax")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
