"""Plans that run elementwise operations in blocks, of arrays as small as a test likes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.engine.catalog.recordings import drawn
from topos import Element, Network, Numerics, Plan, Tape, Value, bf16, f64, i32
from topos.engine.catalog import elementwise
from topos.engine.catalog.kernels import elementwise as kernel

__all__ = ["FORMULAS", "MAPS", "Recording", "blocks_of", "fed", "lowered", "mixed"]

Array = npt.NDArray[Any]
Recording = Callable[..., Value]


@contextmanager
def blocks_of(block: int = 1 << 12, least: int = 1) -> Iterator[None]:
    """Lets arrays of `least` bytes match, in blocks of as few bytes as given."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elementwise, "_LEAST_BYTES", least)
        patch.setattr(elementwise, "_LEAST_ELEMENTS", 1)
        patch.setattr(kernel, "_BYTES", block)
        yield


def lowered(
    network: Network, *roots: Value, numerics: Numerics = Numerics.FAST, backward: bool = False
) -> Plan:
    """Returns the plan of `roots`, its schedule made."""
    symbols = [root.symbol for root in roots]
    plan = network.entry(symbols, numerics=numerics, backward=backward).lower()
    plan.schedule()
    return plan


def special(count: int, element: Element, seed: int) -> Array:
    """Returns numbers with zeros of both signs, ties, infinities and subnormals among them."""
    numbers = drawn(count, seed=seed, element=f64) * 3.0
    odd = [0.0, -0.0, np.inf, -np.inf, 1e-310, 1e-40, -1e-7, 88.0, 1e5, 1.0]
    numbers[seed::7] = np.resize(odd, len(numbers[seed::7]))
    with np.errstate(all="ignore"):
        return np.clip(numbers, -6e4, 6e4).astype(element.dtype)


def mixed(x: Value, y: Value, row: Value, column: Value, number: Value) -> Value:
    rows, width = x.shape
    wide = x * row.broadcast_along([0], [rows]) - column.broadcast_along([1], [width])
    return wide.maximum(y) * number.broadcast(x.shape)


def read_twice(x: Value, y: Value, *_: Value) -> Value:
    total = x + y
    return total.tanh() * total - total


def selected_from_the_first(x: Value, y: Value, *_: Value) -> Value:
    total = x + y
    return total.less(x).select(x, total)


FORMULAS: dict[str, Recording] = {
    "arithmetic": lambda x, y, *_: (x * 0.5 + y).maximum(x) / ((x - y) * (x - y) + 2.0),
    "negated": lambda x, y, *_: -(x - y),
    "extrema_of_zeros": lambda x, y, *_: (x * 0.0).maximum(y * 0.0).minimum(-(x * 0.0)),
    "extrema_with_a_number": lambda x, y, *_: x.maximum(0.0).minimum(y).maximum(-0.0),
    "selected": lambda x, y, *_: x.less(y).select(x * 2.0, y + 1.0),
    "selected_among_numbers": lambda x, y, *_: (x + y).greater(0.5).select(1.0 - x, 0.0),
    "selected_inside": lambda x, y, *_: x.less(y).select(x, y + 1.0) * x,
    "selected_over_numbers": lambda x, y, *_: x.less(y).select(y * 0.5, 1.0) * x,
    "a_product_after_a_mask": lambda x, y, *_: x.less(y).select(x, 1.0) * (x * y),
    "a_mask": lambda x, y, *_: (x * y).greater_equal(y + 0.25),
    "selected_from_the_first": selected_from_the_first,
    "stepped": lambda x, y, *_: (x * y).step(x) * y,
    "converted": lambda x, y, *_: (x.convert(i32).convert(f64) * 0.5).convert(y.element) + y,
    "narrowed": lambda x, y, *_: (x.convert(bf16) * y.convert(bf16) - 1.0).convert(x.element) * y,
    "integers": lambda x, y, *_: x.convert(i32) * 3 - y.convert(i32),
    "a_power": lambda x, y, *_: (x * x + 0.5) ** (y * 0.125),
    "a_square": lambda x, y, *_: (x - y) ** 2.0 * 0.5,
    "an_outer_sum": lambda x, y, r, c, n: (
        x / (r.broadcast_along([0], [x.shape[0]]) + c.broadcast_along([1], [x.shape[1]])) - y
    ),
    "an_outer_power": lambda x, y, r, c, n: (
        x
        * (
            r.broadcast_along([0], [x.shape[0]]).maximum(0.5)
            ** c.broadcast_along([1], [x.shape[1]]).minimum(2.0)
        )
    ),
    "a_row_of_one_number": lambda x, y, r, *_: (
        x * r.fill(2.0).broadcast_along([0], [x.shape[0]]) + y
    ),
    "a_column_of_powers": lambda x, y, r, c, n: (
        x.maximum(0.25).minimum(4.0) ** c.broadcast_along([1], [x.shape[1]])
    ),
    "mixed": mixed,
    "read_twice": read_twice,
    "read_late": lambda x, y, *_: ((x + y) * 0.5 - x) * (x + 1.0) / (x * x + 1.0) + x,
    "reshaped_operands": lambda x, y, *_: (
        x.reshape((x.shape[0] * x.shape[1],)) * 2.0 + y.reshape((x.shape[0] * x.shape[1],)) - 1.0
    ),
}
MAPS: dict[str, Recording] = {
    name: (lambda x, y, *_, name=name: getattr(x.minimum(3.0).maximum(-3.0) * 0.5, name)() * y)
    for name in ("exp", "expm1", "tanh", "logistic", "sin", "cos", "erf")
} | {
    name: (lambda x, y, *_, name=name: getattr(x * x + 0.5, name)() - y)
    for name in ("ln", "log1p", "sqrt", "rsqrt")
}


def fed(formula: Recording, element: Element, shape: tuple[int, int]) -> tuple[Network, Value]:
    """Records `formula` over inputs that have arrays."""
    rows, width = shape
    tape = Tape(element=element)
    x, y = (tape.input(special(rows * width, element, i).reshape(shape)) for i in (1, 2))
    row, column = tape.input(special(width, element, 3)), tape.input(special(rows, element, 4))
    result = formula(x, y, row, column, tape.input(np.array(0.75, element.dtype)))
    return tape.into_network(), result
