"""Certificates: what was measured of a runtime, operation by operation, beside the oracle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from topos.errors import ArgumentError

# The operation, which form of it, and the element.
Key = tuple[str, str, str]
# Classes of inputs of a magnitude around 1.
ORDINARY: Final = ("positive", "signed")
# Those of one sign, of which no two cancel.
POSITIVE: Final = ("positive",)


class Outcome(StrEnum):
    """What a runtime made of one operation, element and class of inputs, from good to bad.

    `ROUNDED`: it differs by rounding. `RANGED`: it keeps or loses what the format's range ends.
    `UNSPECIFIED`: it depends on what the specification leaves open. `IMPRECISE`: it is farther off
    than the operation's rounding allows, and within a thousandth. `WRONG`: farther. `DIED`: it
    failed or ended its process with these numbers.
    """

    BITS = "bits"
    ROUNDED = "rounded"
    RANGED = "ranged"
    UNSPECIFIED = "unspecified"
    IMPRECISE = "imprecise"
    WRONG = "wrong"
    DIED = "died"


class Cell(NamedTuple):
    """The outcome, the largest distance in units in the last place, and which subnormals are zero.

    `flushed` is "in", "out" or "in and out", of operands and results; they count as zero then.
    """

    outcome: Outcome
    units: float = 0.0
    flushed: str = ""

    def __str__(self) -> str:
        word = "" if self.outcome is Outcome.ROUNDED else str(self.outcome)
        units = "" if word and math.isinf(self.units) else f"{self.units:.4g}"
        flushed = f"flushed {self.flushed}" if self.flushed else ""
        return " ".join(filter(None, (word, units, flushed)))


class Fault(NamedTuple):
    """A wrong result: of which operation, elements and inputs, and a module that shows it.

    `is_reproduced` tells whether the runtime is wrong again for that module, which has no
    arguments.
    """

    operation: str
    variant: str
    elements: str
    inputs: str
    got: str
    oracle: str
    module: str
    is_reproduced: bool = True


class Envelope(NamedTuple):
    """How far a runtime is from the oracle on one operation and element, for the inputs asked.

    `units` in the last place is 0 where the bits are the oracle's, and `None` where the runtime
    refuses, for `reason`; `is_wrong` where it is off by more than rounding. `flushes` tells whether
    subnormal numbers count as zero.
    """

    units: float | None
    flushes: bool = False
    is_wrong: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Certificate:
    """What was measured of a runtime of some versions, on one processor.

    `cells` has the classes of inputs by the operation, the form and the element; those whose bits
    are the oracle's are left out. `refusals` has why others did not run. `probes` are properties
    of the runtime as a whole, `left_out` the operations that no form runs, each with the reason.
    """

    runtime: str
    numerics: str
    versions: str
    processor: str
    seed: int
    cells: Mapping[Key, Mapping[str, Cell]]
    refusals: Mapping[Key, str] = field(default_factory=dict)
    probes: Mapping[str, str] = field(default_factory=dict)
    faults: Sequence[Fault] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    def operations(self) -> tuple[str, ...]:
        """Returns the name of every operation that the certificate says something of, sorted."""
        keys = {key[0] for key in (*self.cells, *self.refusals)}
        return tuple(sorted(keys | self.left_out.keys()))

    def envelope(
        self,
        operation: str,
        element: str,
        *,
        variant: str | None = None,
        inputs: Sequence[str] = ORDINARY,
    ) -> Envelope:
        """Returns the widest envelope of an operation's forms, or that of one, for some inputs.

        Raises `ArgumentError` where the certificate has no such operation, form or element.
        """
        wanted = [
            key
            for key in (*self.cells, *self.refusals)
            if key[0] == operation and key[2] == element and variant in (None, key[1])
        ]
        if not wanted:
            form = f" in the form {variant!r}" if variant else ""
            raise ArgumentError(
                f"the certificate of {self.runtime} has no {operation} of {element}{form}"
            )
        refused = [self.refusals[key] for key in wanted if key in self.refusals]
        if refused:
            return Envelope(None, reason=refused[0])
        found = [cell for key in wanted for name, cell in self.cells[key].items() if name in inputs]
        bad = any(cell.outcome in (Outcome.WRONG, Outcome.DIED) for cell in found)
        units = max((cell.units for cell in found), default=0.0)
        return Envelope(units, self.flushes(operation, element), bad)

    def flushes(self, operation: str | None = None, element: str | None = None) -> bool:
        """Returns whether subnormal numbers are zero for an operation and element, or for any."""
        return any(
            cell.flushed != ""
            for key, classes in self.cells.items()
            if operation in (None, key[0]) and element in (None, key[2])
            for cell in classes.values()
        )

    def counts(self) -> dict[str, int]:
        """Returns how many operations in a form and an element have which worst outcome."""
        counts = dict.fromkeys([*map(str, Outcome), "refused"], 0)
        order = list(Outcome)
        for classes in self.cells.values():
            worst = max((order.index(cell.outcome) for cell in classes.values()), default=0)
            counts[str(order[worst])] += 1
        counts["refused"] = len(self.refusals)
        return counts


def rounded_units(distance: float) -> float:
    """Returns a distance as a certificate has it: a whole number, of four digits."""
    return float(f"{math.ceil(distance):.4g}") if math.isfinite(distance) else math.inf
