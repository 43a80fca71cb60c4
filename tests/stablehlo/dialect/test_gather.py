"""The rules of gather, dynamic_gather and torch_index_select."""

from __future__ import annotations

import pytest

from tests.stablehlo.rule_texts import (
    Broken,
    accept,
    broken,
    demand_refused,
    mlir_accepts,
)
from topos.errors import ParseError, VerifyError

GATHER = """
func.func @f(%a: tensor<5x7x4xf32>, %i: tensor<5x6x1xi32>) {
  %r = "stablehlo.gather"(%a, %i) <{
    dimension_numbers = #stablehlo.gather<
      offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0],
      start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 3>
  }> : (tensor<5x7x4xf32>, tensor<5x6x1xi32>) -> tensor<5x6x3xf32>
  return
}"""
# The same with sizes that an operand states.
DYNAMIC = (
    GATHER.replace('"stablehlo.gather"(%a, %i)', '"stablehlo.dynamic_gather"(%a, %i, %s)')
    .replace("slice_sizes = array<i64: 1, 1, 3>", "indices_are_sorted = true")
    .replace("xi32>) ->", "xi32>, tensor<3xi64>) ->")
    .replace("  %r =", "  %s = stablehlo.constant dense<[1, 1, 3]> : tensor<3xi64>\n  %r =")
)
BROKEN = [
    *broken(
        GATHER,
        ("xi32>", "xf32>", "takes no elements of f32 as start_indices"),
        ("offset_dims = [2]", "offset_dims = [1, 2]", "needs 3 axes in offset_dims, "),
        ("offset_dims = [2]", "offset_dims = [3]", "needs offset_dims from 0 to below 3, got 3"),
        ("vector_dim = 2", "vector_dim = 4", "needs an index_vector_dim from 0 to 3, got 4"),
        ("map = [1]", "map = [1, 2]", "needs 1 axes in start_index_map, got [1, 2]"),
        ("map = [1]", "map = [3]", "needs start_index_map from 0 to below 3, got 3"),
        ("map = [1]", "map = [0]", "needs distinct start_index_map and operand_batching_dims"),
        ("slice_dims = [1]", "slice_dims = [0]", "needs distinct collapsed_slice_dims and operand"),
        ("slice_dims = [1]", "slice_dims = [3]", "needs collapsed_slice_dims from 0 to below 3"),
        ("indices_batching_dims = [0]", "indices_batching_dims = [3]", "needs start_indices_batch"),
        ("indices_batching_dims = [0]", "indices_batching_dims = [1]", "needs the same extents of"),
        (
            "indices_batching_dims = [0]",
            "indices_batching_dims = [2]",
            "needs start_indices_batching_dims without the index_vector_dim 2",
        ),
        (
            "indices_batching_dims = [0]",
            "indices_batching_dims = []",
            "needs as many start_indices_batching_dims as operand_batching_dims, 1, got 0",
        ),
        ("1, 1, 3", "1, 1", "needs 3 slice_sizes, got 2"),
        ("1, 1, 3", "1, 2, 3", "needs a slice size of 1 or less for the dropped axis 1, got 2"),
        ("1, 1, 3", "1, 1, 5", "needs slice_sizes within tensor<5x7x4xf32>, got [1, 1, 5]"),
        ("1, 1, 3", "1, -1, 3", "needs slice_sizes within tensor<5x7x4xf32>, got [1, -1, 3]"),
        ("array<i64: 1, 1, 3>", "dense<1> : tensor<3xi64>", "needs an array<i64: ...> as slice_s"),
        ("-> tensor<5x6x3xf32>", "-> tensor<5x6x4xf32>", "results in tensor<5x6x3xf32>, got "),
        ("-> tensor<5x6x3xf32>", "-> tensor<5x6x3xf64>", "results in tensor<5x6x3xf32>, got "),
    ),
]
BROKEN_DYNAMIC = broken(
    DYNAMIC,
    ("[1, 1, 3]", "[1, 1, 5]", "needs slice_sizes within tensor<5x7x4xf32>, got [1, 1, 5]"),
    ("[1, 1, 3]", "[2, 1, 3]", "needs a slice size of 1 or less for the dropped axis 0, got 2"),
    ("-> tensor<5x6x3xf32>", "-> tensor<5x6x2xf32>", "results in tensor<5x6x3xf32>, got "),
)


def test_a_gather_is_accepted_with_known_and_dynamic_extents() -> None:
    accept(GATHER)
    accept(GATHER.replace("tensor<5x6x1xi32>", "tensor<?x?x?xi32>"))
    accept(GATHER.replace("tensor<5x7x4xf32>", "tensor<?x7x?xf32>"))
    accept(GATHER.replace("1, 1, 3", "1, 1, 4").replace("5x6x3xf32", "5x6x4xf32"))
    accept(GATHER.replace("1, 1, 3", "0, 0, 0").replace("5x6x3xf32", "5x6x0xf32"))
    # Without the axis of coordinates, each index is one number.
    accept(GATHER.replace("tensor<5x6x1xi32>", "tensor<5x6xi32>"))


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.reason)
def test_a_broken_gather_is_refused(case: Broken) -> None:
    demand_refused(case, "stablehlo.gather")
    assert not mlir_accepts(case.text)


@pytest.mark.parametrize("case", BROKEN_DYNAMIC, ids=lambda case: case.reason)
def test_sizes_that_are_a_constant_operand_are_checked(case: Broken) -> None:
    accept(DYNAMIC)
    demand_refused(case, "stablehlo.dynamic_gather")
    assert not mlir_accepts(case.text)


ROWS = """
func.func @f(%a: tensor<4x5x6xf32>, %i: tensor<2x1xi32>) {
  %r = "stablehlo.gather"(%a, %i) <{
    dimension_numbers = #stablehlo.gather<
      offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0],
      index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 5, 6>
  }> : (tensor<4x5x6xf32>, tensor<2x1xi32>) -> tensor<2x5x6xf32>
  return
}"""


def test_axes_of_a_slice_keep_their_order() -> None:
    accept(ROWS)
    for case in broken(
        ROWS,
        ("[1, 2]", "[2, 1]", "needs ascending offset_dims, got [2, 1]"),
        ("[1, 2]", "[1, 1]", "needs distinct offset_dims, got [1, 1]"),
    ):
        demand_refused(case, "stablehlo.gather")
        assert not mlir_accepts(case.text)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "#stablehlo.gather<",
            "#stablehlo.scatter<",
            "#stablehlo.gather<...> as dimension_numbers",
        ),
        ("offset_dims", "offset_axes", "knows no offset_axes in dimension_numbers"),
        ("dim = 1", "dim = [1]", "needs an integer as index_vector_dim, got "),
        ("dimension_numbers =", "numbers =", "#stablehlo.gather<...> as dimension_numbers, got "),
    ],
)
def test_dimension_numbers_have_the_fields_of_a_gather(old: str, new: str, reason: str) -> None:
    # The parser may know already that there are no such fields.
    text = ROWS.replace(old, new)
    with pytest.raises((ParseError, VerifyError)) as caught:
        accept(text)
    assert isinstance(caught.value, ParseError) or reason in str(caught.value)
    assert not mlir_accepts(text)


def test_sizes_of_a_dynamic_gather_are_one_list() -> None:
    text = DYNAMIC.replace("dense<[1, 1, 3]>", "dense<1>").replace(
        "tensor<3xi64>", "tensor<3x1xi64>"
    )
    case = Broken(text, "needs slice_sizes of one known extent, got tensor<3x1xi64>")
    demand_refused(case, "stablehlo.dynamic_gather")
    assert not mlir_accepts(text)


def test_sizes_that_only_a_run_knows_leave_the_result_open() -> None:
    text = DYNAMIC.replace("%i: tensor<5x6x1xi32>", "%i: tensor<5x6x1xi32>, %t: tensor<3xi64>")
    text = text.replace("(%a, %i, %s)", "(%a, %i, %t)")
    accept(text.replace("-> tensor<5x6x3xf32>", "-> tensor<5x6x2xf32>"))
    case = Broken(text.replace("-> tensor<5x6x3xf32>", "-> tensor<5x7x2xf32>"), "results in ")
    demand_refused(case, "stablehlo.dynamic_gather")


def test_a_bound_of_the_indices_passes_to_the_result() -> None:
    text = GATHER.replace("tensor<5x6x1xi32>", "tensor<5x?x1xi32, #stablehlo.bounds<?, 6, ?>>")
    accept(text)
    case = Broken(text.replace("5x6x3", "5x7x3"), "results in tensor<5x?x3xf32, #stablehlo.bounds")
    demand_refused(case, "stablehlo.gather")
    assert not mlir_accepts(case.text)


def test_torch_index_select_needs_its_axes() -> None:
    text = """
    func.func @f(%a: tensor<5x7xf32>, %i: tensor<2xi32>) {
      %r = "stablehlo.torch_index_select"(%a, %i) <{dim = 0 : i64, batch_dims = 0 : i64}>
        : (tensor<5x7xf32>, tensor<2xi32>) -> tensor<2x7xf32>
      return
    }"""
    accept(text)
    for case in broken(
        text,
        ("dim = 0 : i64", "dim = 0 : i32", "needs dim as a number of i64, got i32"),
        (", batch_dims = 0 : i64", "", "needs the attribute batch_dims"),
    ):
        demand_refused(case, "stablehlo.torch_index_select")
        assert not mlir_accepts(case.text)


# jaxlib's verifier leaves these to whatever runs the text.
@pytest.mark.parametrize(
    "case",
    broken(
        """
    func.func @f(%a: tensor<5x7xf32>, %i: tensor<5x2xi32>) {
      %r = "stablehlo.torch_index_select"(%a, %i) <{dim = 1 : i64, batch_dims = 1 : i64}>
        : (tensor<5x7xf32>, tensor<5x2xi32>) -> tensor<5x2xf32>
      return
    }""",
        ("dim = 1 : i64, b", "dim = 2 : i64, b", "needs a dim from -2 to below 2, got 2"),
        ("dim = 1 : i64, b", "dim = -3 : i64, b", "needs a dim from -2 to below 2, got -3"),
        ("dim = 1 : i64, b", "dim = -2 : i64, b", "needs batch_dims of at most the dim 0, got 1"),
        ("dims = 1", "dims = 2", "needs batch_dims of at most the dim 1, got 2"),
        ("dims = 1", "dims = 3", "needs batch_dims from -2 to 2, got 3"),
        ("dims = 1", "dims = -3", "needs batch_dims from -2 to 2, got -3"),
        ("dims = 1", "dims = 0", "results in tensor<5x5x2xf32>, got tensor<5x2xf32>"),
        ("<5x2xi32", "<4x2xi32", "needs 1 axes of one batch, got tensor<5x7xf32> and "),
        ("x2xi32", "x2xf32", "takes no elements of f32 as index"),
        ("-> tensor<5x2xf32>", "-> tensor<5x2xf64>", "results in tensor<5x2xf32>, got "),
    ),
)
def test_torch_index_select_takes_what_has_a_meaning(case: Broken) -> None:
    demand_refused(case, "stablehlo.torch_index_select")
