"""Layout, slices and pads, by hand-computed values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import Run

M = np.arange(6, dtype=np.int32).reshape(2, 3)
T = "tensor<2x3xi32>"
CASES: tuple[Any, ...] = (
    (f"reshape %a : ({T}) -> tensor<3x2xi32>", "3x2", [[0, 1], [2, 3], [4, 5]]),
    (f"transpose %a, dims = [1, 0] : ({T}) -> tensor<3x2xi32>", "3x2", [[0, 3], [1, 4], [2, 5]]),
    (f"reverse %a, dims = [1] : {T}", "2x3", [[2, 1, 0], [5, 4, 3]]),
    (f"reverse %a, dims = [] : {T}", "2x3", [[0, 1, 2], [3, 4, 5]]),
    (f"slice %a [1:2, 0:3:2] : ({T}) -> tensor<1x2xi32>", "1x2", [[3, 5]]),
    (f"slice %a [0:0, 0:3] : ({T}) -> tensor<0x3xi32>", "0x3", []),
    (
        f"concatenate %a, %a, dim = 0 : ({T}, {T}) -> tensor<4x3xi32>",
        "4x3",
        [[0, 1, 2], [3, 4, 5]] * 2,
    ),
    (
        f"broadcast_in_dim %a, dims = [0, 2] : ({T}) -> tensor<2x2x3xi32>",
        "2x2x3",
        [[[0, 1, 2]] * 2, [[3, 4, 5]] * 2],
    ),
    (
        f"broadcast_in_dim %a, dims = [1, 0] : ({T}) -> tensor<3x2xi32>",
        "3x2",
        [[0, 3], [1, 4], [2, 5]],
    ),
)


@pytest.mark.parametrize(("line", "shape", "wanted"), CASES, ids=[case[0][:24] for case in CASES])
def test_a_layout(run: Run, line: str, shape: str, wanted: Any) -> None:
    result = run(f"%r = stablehlo.{line}", f"tensor<{shape}xi32>", M)
    assert result.shape == tuple(map(int, shape.split("x")))
    assert result.tolist() == wanted


def test_an_extent_of_one_is_repeated(run: Run) -> None:
    body = "%r = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<1x2xi8>) -> tensor<3x2xi8>"
    assert run(body, "tensor<3x2xi8>", np.array([[4, 5]], np.int8)).tolist() == [[4, 5]] * 3


PADS: tuple[Any, ...] = (
    ((1, 2, 0), 6, [9, 1, 2, 3, 9, 9]),
    ((0, 0, 1), 5, [1, 9, 2, 9, 3]),
    ((-1, 0, 0), 2, [2, 3]),
    ((-1, -1, 1), 3, [9, 2, 9]),
    ((-2, 1, 1), 4, [2, 9, 3, 9]),
    ((2, -4, 1), 3, [9, 9, 1]),
    ((-3, 3, 0), 3, [9, 9, 9]),
    ((-4, 4, 0), 3, [9, 9, 9]),
    ((-2, -1, 0), 0, []),
)


@pytest.mark.parametrize(("padding", "extent", "wanted"), PADS)
def test_a_pad_spreads_and_cuts(run: Run, padding: Any, extent: int, wanted: Any) -> None:
    low, high, interior = padding
    body = (
        f"%r = stablehlo.pad %a, %b, low = [{low}], high = [{high}], interior = [{interior}]"
        f" : (tensor<3xi32>, tensor<i32>) -> tensor<{extent}xi32>"
    )
    result = run(body, f"tensor<{extent}xi32>", np.array([1, 2, 3], np.int32), np.int32(9))
    assert result.tolist() == wanted


def test_a_pad_of_nothing_is_filled(run: Run) -> None:
    body = (
        "%r = stablehlo.pad %a, %b, low = [1], high = [1], interior = [3]"
        " : (tensor<0xi32>, tensor<i32>) -> tensor<2xi32>"
    )
    assert run(body, "tensor<2xi32>", np.zeros(0, np.int32), np.int32(9)).tolist() == [9, 9]


def test_layout_keeps_the_bits_of_a_nan(run: Run) -> None:
    array = np.array([0xFF800001, 0x7FC00001], np.uint32).view(np.float32)
    body = "%r = stablehlo.reverse %a, dims = [0] : tensor<2xf32>"
    assert run(body, "tensor<2xf32>", array).view(np.uint32).tolist() == [0x7FC00001, 0xFF800001]


@pytest.mark.parametrize(
    ("index", "wanted"), [(-5, [0, 1]), (0, [0, 1]), (2, [2, 3]), (3, [3, 4]), (9, [3, 4])]
)
def test_a_dynamic_slice_moves_inside(run: Run, index: int, wanted: list[int]) -> None:
    body = (
        "%r = stablehlo.dynamic_slice %a, %b, sizes = [2] : (tensor<5xi8>, tensor<i32>)"
        " -> tensor<2xi8>"
    )
    result = run(body, "tensor<2xi8>", np.arange(5, dtype=np.int8), np.int32(index))
    assert result.tolist() == wanted


@pytest.mark.parametrize(("index", "wanted"), [(-1, [7, 8, 2]), (1, [0, 7, 8]), (2, [0, 7, 8])])
def test_a_dynamic_update_writes_inside(run: Run, index: int, wanted: list[int]) -> None:
    body = (
        "%r = stablehlo.dynamic_update_slice %a, %b, %c"
        " : (tensor<3xi8>, tensor<2xi8>, tensor<i64>) -> tensor<3xi8>"
    )
    array = np.arange(3, dtype=np.int8)
    result = run(body, "tensor<3xi8>", array, np.array([7, 8], np.int8), np.int64(index))
    assert result.tolist() == wanted
    assert array.tolist() == [0, 1, 2]


SCALAR = (
    ("reverse", "dimensions"),
    ("transpose", "permutation"),
    ("broadcast_in_dim", "broadcast_dimensions"),
)


@pytest.mark.parametrize(("name", "key"), SCALAR)
def test_a_scalar_has_a_layout_too(run: Run, name: str, key: str) -> None:
    body = f'%r = "stablehlo.{name}"(%a) {{{key} = array<i64>}} : (tensor<i8>) -> tensor<i8>'
    result = run(body, "tensor<i8>", np.int8(-3))
    assert result.shape == ()
    assert result == -3


def test_a_slice_and_a_pad_of_a_scalar(run: Run) -> None:
    body = """
      %s = "stablehlo.slice"(%a) {start_indices = array<i64>, limit_indices = array<i64>,
        strides = array<i64>} : (tensor<i8>) -> tensor<i8>
      %r = "stablehlo.pad"(%s, %s) {edge_padding_low = array<i64>, edge_padding_high = array<i64>,
        interior_padding = array<i64>} : (tensor<i8>, tensor<i8>) -> tensor<i8>"""
    assert run(body, "tensor<i8>", np.int8(-3)) == -3
