"""Requests: what an export is asked for, refused by the name of the argument that does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from topos.bundle.manifest import demand_name
from topos.bundle.subject import OpView
from topos.engine import Plan
from topos.errors import ArgumentError, BundleError

__all__ = ["demand_names", "demand_options", "plans_of"]

# All names of a bundle stand in its manifest, which has to stay readable in a moment.
LONGEST: Final = 1000


def plans_of(plans: Plan | Sequence[Plan], batched: bool) -> tuple[Plan, ...]:
    """Returns the plans; raises `ArgumentError` for anything else, `BundleError` for too many."""
    if not isinstance(plans, Plan | Sequence):
        raise ArgumentError(f"an export needs plans, got {type(plans).__name__}")
    sequence = (plans,) if isinstance(plans, Plan) else tuple(plans)
    if not sequence:
        raise BundleError("a bundle needs one plan or more, got none")
    for plan in sequence:
        if not isinstance(plan, Plan):
            raise ArgumentError(f"an export needs plans, got {type(plan).__name__}")
    if len(sequence) > 1 and not batched:
        raise BundleError(
            f"a bundle of {len(sequence)} plans needs batched=True: one function at several"
            " numbers of rows that leave each other alone"
        )
    return sequence


def demand_options(samples: Any, batched: Any, name: Any) -> None:
    """Raises `ArgumentError` for an option of another kind, `BundleError` for no possible name.

    They come from outside, and may be anything.
    """
    if not isinstance(samples, Sequence) or isinstance(samples, str | bytes):
        raise ArgumentError(
            "samples need a sequence of mappings, one a call, such as [{'x': array}], "
            f"got {type(samples).__name__}"
        )
    for sample in samples:
        if not isinstance(sample, Mapping):
            raise ArgumentError(
                f"samples need mappings of names to values, got {type(sample).__name__}"
            )
    if not isinstance(batched, bool):
        raise ArgumentError(f"batched needs True or False, got {batched!r}")
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"a bundle's name needs a string, got {type(name).__name__}")
    demand_name(name)


def demand_names(subject: OpView) -> None:
    """Raises `BundleError` where an argument or a result has a name that no manifest can hold."""
    for slot in (*subject.arguments, *subject.results):
        if len(slot.name) > LONGEST:
            raise BundleError(
                f"a bundle needs names of {LONGEST} characters at most, got {len(slot.name)} of "
                f"{slot.name[:20]!r}..."
            )
        if not slot.name.isascii() and slot.name.encode(errors="replace").decode() != slot.name:
            raise BundleError(f"a bundle needs names of Unicode characters, got {slot.name!a}")
