"""The envelope: how far a runtime's result may be from the oracle's, measured and not guessed.

A runtime may round each operation otherwise, add in another order and keep or drop bits between
operations. So the oracle's walk is repeated with every value that an operation rounds, and every
argument, moved by one unit in the last place, up or down at random (Monte Carlo arithmetic:
Parker, 1997). The largest movement that reaches a result tells how the program hands rounding on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from topos.bundle.subject import Subject
from topos.emit.lowering.elementwise import ARITHMETIC, MAPS
from topos.errors import BundleError
from topos.payload import DIFFERENTIABLE, Element
from topos.reading import Tensor
from topos.runtimes._certificate import POSITIVE
from topos.runtimes._certificate_files import certificates
from topos.runtimes.distance import relative_difference

Array = npt.NDArray[Any]

DRAWS: Final = 3
# A few draws do not meet the worst case.
MARGIN: Final = 2.0
# In units of the last place of a result's largest magnitude, where nothing moves it.
FLOOR: Final = 4.0
# Half of a result's largest magnitude says nothing any more, and the whole of it admits zeros.
MOST: Final = 0.5


def envelopes(
    subject: Subject, calls: Sequence[Mapping[str, Tensor]], oracle: Sequence[Mapping[str, Tensor]]
) -> dict[str, float]:
    """Returns the envelope of each result: a share of the largest magnitude in the same call.

    It is `factor` times the largest movement of `DRAWS` draws of each call, `FLOOR` at least. A
    result of integers or truth values has to be equal, unless the draws move it.
    """
    moved = dict.fromkeys((slot.name for slot in subject.results), 0.0)
    for place, (inputs, answered) in enumerate(zip(calls, oracle, strict=True)):
        for draw in range(DRAWS):
            again = subject.moved(inputs, (place, draw))
            for name, before in answered.items():
                share = deviation(before.numpy(), again[name].numpy())
                moved[name] = max(moved[name], share)
    return {slot.name: _envelope(slot.type.element, moved[slot.name]) for slot in subject.results}


@cache
def factor(element: str) -> float:
    """Returns how many times the movement by one unit a result of `element` may be off.

    It is `MARGIN` times the largest distance that a certificate has of what topos emits element by
    element, for arguments around 1, in units in the last place; 1 at least.
    """
    found = [
        each.envelope(operation, element, inputs=POSITIVE).units or 0.0
        for each in certificates().values()
        for operation in (*MAPS.values(), *ARITHMETIC.values())
    ]
    return MARGIN * max(1.0, *found)


def demand_telling(found: Mapping[str, float]) -> None:
    """Raises `BundleError` where an envelope is so wide that other programs would be inside."""
    for name, envelope in found.items():
        if not envelope < MOST:
            raise BundleError(
                f"the sample says nothing of {name!r}: its envelope would be {envelope:.3g} of its"
                f" largest magnitude, where only less than {MOST} tells programs apart; give"
                " samples at which rounding moves it less"
            )


def deviation(oracle: Array, other: Array) -> float:
    """Returns the largest difference as a share of the largest finite magnitude of the oracle's.

    Infinity where types differ, or where one is finite and the other is not; NaN equals NaN.
    """
    share = relative_difference(oracle, other)
    if oracle.dtype.kind in "iub" and not share and not np.array_equal(oracle, other):
        # Beyond what f64 tells apart, integers are unequal all the same.
        return float(np.finfo(np.float64).eps)
    return share


def _envelope(element: Element, moved: float) -> float:
    if element not in DIFFERENTIABLE:
        return moved
    limits: Any = ml_dtypes.finfo  # It has no types of its own.
    return max(factor(element.name) * moved, FLOOR * float(limits(element.dtype).eps))
