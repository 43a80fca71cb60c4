"""The rules of chlo.scan and chlo.ragged_dot."""

from __future__ import annotations

import pytest

from tests.stablehlo.rule_texts import (
    Broken,
    accept,
    broken,
    demand_refused,
    mlir_accepts,
)

SCAN = """
func.func @f(%a: tensor<2x5xf32>, %z: tensor<2xf32>) {
  %r:2 = "chlo.scan"(%a, %z) <{
    dimension = 1 : i64, is_reverse = false,
    operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>
  }> ({
    ^bb0(%x: tensor<2xf32>, %y: tensor<2xf32>):
      %s = stablehlo.add %x, %y : tensor<2xf32>
      stablehlo.return %s, %s : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<2x5xf32>, tensor<2xf32>) -> (tensor<2x5xf32>, tensor<2xf32>)
  return
}"""
ROWS = """
func.func @f(%a: tensor<6x11x5xf32>, %b: tensor<3x6x5x7xf32>, %g: tensor<6x3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %g) <{
    ragged_dot_dimension_numbers = #chlo.ragged_dot<
      lhs_batching_dimensions = [0], rhs_batching_dimensions = [1],
      lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2],
      lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>
  }> : (tensor<6x11x5xf32>, tensor<3x6x5x7xf32>, tensor<6x3xi64>) -> tensor<6x11x7xf32>
  return
}"""
# The ragged axis is contracted, so that each group has a product of its own.
COLUMNS = (
    ROWS.replace("lhs_ragged_dimensions = [1]", "lhs_ragged_dimensions = [2]")
    .replace("rhs_group_dimensions = [0]", "rhs_group_dimensions = []")
    .replace("rhs_batching_dimensions = [1]", "rhs_batching_dimensions = [0]")
    .replace("rhs_contracting_dimensions = [2]", "rhs_contracting_dimensions = [1]")
    .replace("tensor<3x6x5x7xf32>", "tensor<6x5x7xf32>")
    .replace("-> tensor<6x11x7xf32>", "-> tensor<3x6x11x7xf32>")
)
BATCHES = (
    COLUMNS.replace("lhs_ragged_dimensions = [2]", "lhs_ragged_dimensions = [0]")
    .replace("tensor<6x3xi64>", "tensor<3xi64>")
    .replace("-> tensor<3x6x11x7xf32>", "-> tensor<6x11x7xf32>")
)
BROKEN_SCAN = broken(
    SCAN,
    ("dimension = 1", "dimension = 2", "needs inputs with an axis 2, got tensor<2x5xf32>"),
    ("dimension = 1 : i64,", "dimension = 1 : i64, scan_dim_size = 4 : i64,", "needs inputs of 4"),
    ("%y: tensor<2xf32>):", "%y: tensor<2xf32>, %q: tensor<2xf32>):", "needs a body of 2 argumen"),
    ("-> (tensor<2x5xf32>", "-> (tensor<2x4xf32>", "results in tensor<2x5xf32>, got tensor<2x4xf"),
    (
        "return %s, %s : tensor<2xf32>, tensor<2xf32>",
        "return %s : tensor<2xf32>",
        "needs a body that returns 2 values, got 1",
    ),
    (
        "%y: tensor<2xf32>):\n      %s = stablehlo.add %x, %y",
        "%y: tensor<3xf32>):\n      %s = stablehlo.add %x, %x",
        "needs a body that takes tensor<2xf32>, got tensor<3xf32>",
    ),
)
# What MLIR asks of the segments it asks before the rule; there are no texts that it judges alike.
SEGMENTS = broken(
    SCAN,
    (
        "operandSegmentSizes = array<i32: 1, 1>",
        "operandSegmentSizes = array<i32: 2, 1>",
        "needs two",
    ),
    (
        "operandSegmentSizes = array<i32: 1, 1>",
        "operandSegmentSizes = array<i32: 2, 0>",
        "needs as ",
    ),
    (
        "resultSegmentSizes = array<i32: 1, 1>",
        "resultSegmentSizes = array<i32: 3, -1>",
        "needs two ",
    ),
)
BROKEN_ROWS = broken(
    ROWS,
    ("ragged_dimensions = [1]", "ragged_dimensions = [0, 1]", "needs 1 axis in lhs_ragged_dimens"),
    ("ragged_dimensions = [1]", "ragged_dimensions = [3]", "needs lhs_ragged_dimensions from 0 to"),
    ("group_dimensions = [0]", "group_dimensions = []", "needs 1 axes in rhs_group_dimensions for"),
    ("group_dimensions = [0]", "group_dimensions = [1]", "needs distinct rhs_group_dimensions and"),
    ("group_dimensions = [0]", "group_dimensions = [4]", "needs rhs_group_dimensions from 0 to be"),
    ("tensor<6x3xi64>", "tensor<6x3xf32>", "takes no elements of f32 as group_sizes"),
    ("tensor<6x3xi64>", "tensor<5x3xi64>", "needs group_sizes of the shape [6, 3], got "),
    ("tensor<6x3xi64>", "tensor<1x6x3xi64>", "needs group_sizes of the shape [6, 3], got "),
    ("tensor<6x3xi64>", "tensor<6x4xi64>", "needs 4 groups in axis 0 of tensor<3x6x5x7xf32>"),
    ("3x6x5x7", "3x6x4x7", "needs contracting dimensions of the same extents, got [5] and [4]"),
    ("3x6x5x7", "3x5x5x7", "needs batching dimensions of the same extents, got [6] and [5]"),
    ("-> tensor<6x11x7xf32>", "-> tensor<6x11x8xf32>", "results in tensor<6x11x7xf32>, got "),
)
BROKEN_COLUMNS = broken(
    COLUMNS,
    ("group_dimensions = []", "group_dimensions = [2]", "needs 0 axes in rhs_group_dimensions for"),
    ("-> tensor<3x6x11x7xf32>", "-> tensor<6x11x7xf32>", "results in tensor<3x6x11x7xf32>, got "),
)


def test_a_scan_is_accepted_with_known_and_dynamic_extents() -> None:
    accept(SCAN)
    assert mlir_accepts(SCAN)
    accept(SCAN.replace("tensor<2x5xf32>", "tensor<2x?xf32>"))


@pytest.mark.parametrize("case", BROKEN_SCAN, ids=lambda case: case.reason)
def test_a_broken_scan_is_refused(case: Broken) -> None:
    demand_refused(case, "chlo.scan")
    assert not mlir_accepts(case.text)


@pytest.mark.parametrize("case", SEGMENTS, ids=lambda case: case.text)
def test_the_segments_of_a_scan_cover_its_values(case: Broken) -> None:
    demand_refused(case, "chlo.scan")
    assert not mlir_accepts(case.text)


def test_a_scan_has_an_input_or_an_output_and_room_for_it() -> None:
    neither = """
    func.func @f(%z: tensor<2xf32>) {
      %r = "chlo.scan"(%z) <{
        dimension = 0 : i64,
        operandSegmentSizes = array<i32: 0, 1>, resultSegmentSizes = array<i32: 0, 1>
      }> ({
        ^bb0(%y: tensor<2xf32>):
          stablehlo.return %y : tensor<2xf32>
      }) : (tensor<2xf32>) -> tensor<2xf32>
      return
    }"""
    demand_refused(Broken(neither, "needs an input or an output, got neither"), "chlo.scan")
    assert not mlir_accepts(neither)
    scalars = SCAN.replace("return %s, %s : tensor<2xf32>,", "return %e, %s : tensor<f32>,")
    scalars = scalars.replace(
        "      %s =", "      %e = stablehlo.constant dense<1.0> : tensor<f32>\n      %s ="
    )
    case = Broken(scalars, "needs outputs that can have an axis 1, got tensor<f32>")
    demand_refused(case, "chlo.scan")


@pytest.mark.parametrize("text", [ROWS, COLUMNS, BATCHES], ids=["rows", "columns", "batches"])
def test_a_ragged_product_is_accepted_with_known_and_dynamic_extents(text: str) -> None:
    accept(text)
    assert mlir_accepts(text)
    accept(text.replace("6x11x5xf32", "6x?x?xf32"))
    # Group sizes without the leading axes hold for each of them.
    accept(text.replace("tensor<6x3xi64>", "tensor<3xi64>"))


@pytest.mark.parametrize("case", [*BROKEN_ROWS, *BROKEN_COLUMNS], ids=lambda case: case.reason)
def test_a_broken_ragged_product_is_refused(case: Broken) -> None:
    demand_refused(case, "chlo.ragged_dot")
    assert not mlir_accepts(case.text)
