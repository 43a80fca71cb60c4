"""Fields: the kinds of numbers that a formula runs on, float64 arrays and wide numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Final

import numpy as np

from topos.payload.kernels import maps
from topos.payload.kernels.canonical import Array
from topos.payload.kernels.double_double import Constant
from topos.runtimes.interpreter.special import wide
from topos.runtimes.interpreter.special.wide import Wide

# A float64 array in the plain field, a wide number in the other; both have the same operators.
Number = Any
Piece = tuple[Array, Callable[..., Array]]


@dataclass(frozen=True, slots=True)
class Field:
    """Numbers and their maps; `of` takes an array in, `value` rounds a number to one."""

    of: Callable[[Array], Number]
    constant: Callable[[Constant], Number]
    logarithm: Callable[[Number], Number]
    log1p: Callable[[Number], Number]
    exponential: Callable[[Number], Number]
    root: Callable[[Number], Number]
    sine_cosine: Callable[[Number], tuple[Number, Number]]
    where: Callable[[Array, Number, Number], Number]
    value: Callable[[Number], Array]


PLAIN: Final = Field(
    of=np.asarray,
    constant=itemgetter(0),
    logarithm=np.log,
    log1p=np.log1p,
    exponential=np.exp,
    root=np.sqrt,
    sine_cosine=lambda array: (np.sin(array), np.cos(array)),
    where=np.where,
    value=np.asarray,
)
# The same with maps that have one result on every machine.
ROUNDED: Final = replace(
    PLAIN,
    logarithm=maps.ln,
    log1p=maps.log1p,
    exponential=maps.exp,
    sine_cosine=lambda array: (maps.sin(array), maps.cos(array)),
)
WIDE: Final = Field(
    of=Wide,
    constant=wide.constant,
    logarithm=wide.logarithm,
    log1p=wide.log1p,
    exponential=wide.exponential,
    root=wide.root,
    sine_cosine=wide.sine_cosine,
    where=wide.where,
    value=Wide.value,
)


def filled(value: float) -> Callable[..., Array]:
    """Returns the piece that is `value` all over."""
    return lambda *values: np.full(values[0].shape, value)


def piecewise(pieces: Sequence[Piece], *values: Array) -> Array:
    """Returns each element by the first piece whose mask holds there, NaN where none does.

    A piece is called with the elements of `values`, flat arrays of one length, in its mask.
    """
    result = np.full(values[0].shape, np.nan)
    free = np.ones(values[0].shape, np.bool_)
    for mask, function in pieces:
        lanes = np.flatnonzero(free & mask)
        if lanes.size:
            result[lanes] = function(*(array[lanes] for array in values))
            free[lanes] = False
    return result
