"""Narrow, pad and concatenate: boxes, bits, empty extents and messages."""

from __future__ import annotations

import numpy as np
import pytest

from tests.exact import exactly, holds
from topos import Element, Tape, Tensor, concat, f32, i64
from topos.compiler import DIFFERENTIABLE, ELEMENTS
from topos.errors import ElementError, ShapeError


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=str)
def test_a_box_is_taken_and_zeros_are_put_around(element: Element) -> None:
    value = Tensor([[1, 0, 1], [0, 1, 1]], element)
    assert holds(value.narrow(1, 1, 2), [[0, 1], [1, 1]], element)
    assert holds(value.box((1, 0), (1, 2)), [[0, 1]], element)
    assert holds(value.pad((1, 0), (0, 2)), [[0] * 5, [1, 0, 1, 0, 0], [0, 1, 1, 0, 0]], element)
    assert holds(
        concat([value, value.narrow(0, 1, 1)], 0), [[1, 0, 1], [0, 1, 1], [0, 1, 1]], element
    )


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
def test_slicing_keeps_the_payload_of_a_nan(element: Element) -> None:
    nans = np.full(2, -1, f"i{element.dtype.itemsize}").view(element.dtype)
    value = Tensor(nans)
    around = value.pad((1,), (1,)).concatenate([value], 0).numpy()
    assert around[1:3].tobytes() == nans.tobytes()
    assert around[4:].tobytes() == nans.tobytes()


def test_empty_boxes_and_rank_zero_are_legal() -> None:
    value = Tensor([1.0, 2.0])
    assert holds(value.narrow(0, 2, 0), [], f32)
    assert holds(value.narrow(0, 2, 0).pad((1,), (1,)), [0, 0], f32)
    assert holds(value.narrow(0, 0, 0).concatenate([value], 0), [1, 2], f32)
    assert holds(Tensor(5.0).pad((), ()), 5.0, f32)
    assert holds(Tensor(5.0).box((), ()), 5.0, f32)
    assert holds(Tensor([7], i64).concatenate([], 0), [7], i64)


@pytest.mark.parametrize(
    ("axis", "start", "extent", "message"),
    [
        (0, 3, 2, "narrow needs a box inside (4, 2), got (2, 2) from (3, 0)"),
        (0, -1, 2, "narrow needs a box inside (4, 2), got (2, 2) from (-1, 0)"),
        (1, 0, -1, "narrow needs a box inside (4, 2), got (4, -1) from (0, 0)"),
        (2, 0, 1, "narrow needs an axis of a rank-2 value, got axis 2"),
    ],
)
def test_a_box_outside_is_refused(axis: int, start: int, extent: int, message: str) -> None:
    with pytest.raises(ShapeError, match=exactly(message)):
        Tape().input(shape=(4, 2)).narrow(axis, start, extent)


def test_a_box_has_a_start_and_an_extent_for_every_axis() -> None:
    x = Tape().input(shape=(4, 2))
    message = "narrow needs a box inside (4, 2), got (1,) from (0,)"
    with pytest.raises(ShapeError, match=exactly(message)):
        x.box((0,), (1,))


@pytest.mark.parametrize(("low", "high"), [((-1, 0), (0, 0)), ((0,), (0,)), ((0, 0), (0,))])
def test_padding_is_not_negative_and_covers_every_axis(
    low: tuple[int, ...], high: tuple[int, ...]
) -> None:
    message = (
        "pad needs zero or more zeros on each side of every axis of (4, 2),"
        f" got low {low} and high {high}"
    )
    with pytest.raises(ShapeError, match=exactly(message)):
        Tape().input(shape=(4, 2)).pad(low, high)


def test_joined_values_agree_but_for_the_axis() -> None:
    tape = Tape()
    x, y = tape.input(shape=(2, 3)), tape.input(shape=(2, 4))
    assert x.concatenate([y, x], -1).shape == (2, 10)
    message = "concatenate needs equal shapes but for axis 0, got (2, 3) and (2, 4)"
    with pytest.raises(ShapeError, match=exactly(message)):
        x.concatenate([y], 0)
    message = "concatenate needs equal shapes but for axis 0, got (2, 3) and (2,)"
    with pytest.raises(ShapeError, match=exactly(message)):
        x.concatenate([tape.input(shape=(2,))], 0)
    with pytest.raises(
        ElementError, match=exactly("concatenate needs equal elements, got f32 and i64")
    ):
        x.concatenate([tape.input(shape=(2, 3), element=i64)], 0)


def test_lines_of_describe_show_the_box_the_zeros_and_the_axis() -> None:
    tape = Tape()
    x = tape.input(shape=(4, 2))
    concat([x.narrow(0, 1, 2).pad((0, 0), (2, 0)), x], 1)
    assert tape.into_network().describe().splitlines()[2:] == [
        "%1 = narrow(starts=(1, 0), extents=(2, 2)) %0 : f32[2, 2]",
        "%2 = pad(low=(0, 0), high=(2, 0)) %1 : f32[4, 2]",
        "%3 = concatenate(axis=1) %2 %0 : f32[4, 4]",
    ]
