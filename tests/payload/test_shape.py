"""Shapes and axes: counting from either end, and messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.exact import exactly
from topos.errors import ShapeError
from topos.payload import axes_of, axis_of, shape_of, size, without


def test_a_shape_is_a_tuple_of_python_integers() -> None:
    shape = shape_of([np.int64(2), 3, True])
    assert shape == (2, 3, 1)
    assert {type(extent) for extent in shape} == {int}
    assert shape_of(4) == (4,)
    assert shape_of(()) == ()


@pytest.mark.parametrize(
    ("extents", "message"),
    [
        ((2, -1), "a shape needs extents of zero or more, none inferred, got (2, -1)"),
        ((2.0,), "a shape needs integers, got (2.0,)"),
        ("22", "a shape needs integers, got '22'"),
        (None, "a shape needs integers, got None"),
        ((None, 2), "a shape needs integers, got (None, 2)"),
    ],
)
def test_a_shape_of_anything_else_is_refused(extents: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=exactly(message)):
        shape_of(extents)


def test_size_is_the_product_and_one_for_rank_zero() -> None:
    assert [size(shape) for shape in [(), (0,), (3,), (2, 3, 4), (2, 0)]] == [1, 0, 3, 24, 0]


def test_an_axis_counts_from_either_end() -> None:
    assert [axis_of("sum", axis, 3) for axis in (0, 2, -1, -3)] == [0, 2, 2, 0]
    for axis in (3, -4):
        message = f"sum needs an axis of a rank-3 value, got axis {axis}"
        with pytest.raises(ShapeError, match=exactly(message)):
            axis_of("sum", axis, 3)


def test_axes_come_ascending_and_none_means_all() -> None:
    assert axes_of("sum", (-1, 0), 3) == (0, 2)
    assert axes_of("sum", None, 3) == (0, 1, 2)
    assert axes_of("sum", 1, 3) == (1,)
    assert axes_of("sum", (), 3) == ()
    with pytest.raises(ShapeError, match=exactly("sum needs distinct axes, got (1, -2)")):
        axes_of("sum", (1, -2), 3)


def test_without_leaves_out_the_named_axes() -> None:
    assert without((2, 3, 4), (0, 2)) == (3,)
    assert without((2, 3), ()) == (2, 3)
