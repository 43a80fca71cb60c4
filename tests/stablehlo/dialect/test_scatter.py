"""The rule of scatter."""

from __future__ import annotations

import pytest

from tests.stablehlo.rule_texts import (
    Broken,
    accept,
    broken,
    demand_refused,
    mlir_accepts,
)

SCATTER = """
func.func @f(%a: tensor<5x7x4xf32>, %i: tensor<5x6x1xi32>, %u: tensor<5x6x3xf32>) {
  %r = "stablehlo.scatter"(%a, %i, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0],
      scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1],
      index_vector_dim = 2>, unique_indices = true
  }> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
  }) : (tensor<5x7x4xf32>, tensor<5x6x1xi32>, tensor<5x6x3xf32>) -> tensor<5x7x4xf32>
  return
}"""
BROKEN = broken(
    SCATTER,
    ("6x1xi32", "6x1xf32", "takes no elements of f32 as scatter_indices"),
    ("tensor<5x6x3xf32>", "tensor<5x6x5xf32>", "needs windows of 4 or less in axis 2 of "),
    ("tensor<5x6x3xf32>", "tensor<5x5x3xf32>", "needs updates with the axes [5, 6] of the "),
    ("tensor<5x6x3xf32>", "tensor<5x6xf32>", "needs updates of rank 3, got tensor<5x6xf32>"),
    ("tensor<5x6x3xf32>", "tensor<5x6x3xi32>", "needs a body that returns what tensor<i32> "),
    ("window_dims = [2]", "window_dims = [3]", "needs update_window_dims from 0 to below 3"),
    ("window_dims = [2]", "window_dims = []", "needs 3 axes in update_window_dims, "),
    ("window_dims = [1]", "window_dims = [3]", "needs inserted_window_dims from 0 to below 3"),
    ("window_dims = [1]", "window_dims = [0]", "needs distinct inserted_window_dims and input_"),
    ("input_batching_dims = [0]", "input_batching_dims = [2]", "needs the same extents of input"),
    ("indices_batching_dims = [0]", "indices_batching_dims = [2]", "needs scatter_indices_batchi"),
    ("indices_batching_dims = [0]", "indices_batching_dims = []", "needs as many scatter_indices"),
    ("operand_dims = [1]", "operand_dims = [1, 2]", "needs 1 axes in scatter_dims_to_operand_dims"),
    ("operand_dims = [1]", "operand_dims = [0]", "needs distinct scatter_dims_to_operand_dims"),
    ("operand_dims = [1]", "operand_dims = [3]", "needs scatter_dims_to_operand_dims from 0 to"),
    ("vector_dim = 2", "vector_dim = -1", "needs an index_vector_dim from 0 to 3, got -1"),
    (", %y: tensor<f32>", ", %y: tensor<f32>, %v: tensor<f32>", "needs a body of 2 arguments"),
    ("return %z : tensor<f32>", "return", "needs a body that returns 1 tensors, got 0"),
    ("-> tensor<5x7x4xf32>", "-> tensor<5x7x3xf32>", "results in tensor<5x7x4xf32>, got "),
    ("(%a, %i, %u)", "(%a, %i)", "needs inputs, indices and as many updates as inputs, got 2"),
)


def test_a_scatter_is_accepted_with_known_and_dynamic_extents() -> None:
    accept(SCATTER)
    accept(SCATTER.replace("tensor<5x6x3xf32>", "tensor<?x?x?xf32>"))
    accept(SCATTER.replace("tensor<5x6x1xi32>", "tensor<?x6x?xi32>"))
    accept(SCATTER.replace("tensor<5x6x1xi32>", "tensor<5x6xi32>"))


def test_the_body_may_accumulate_in_another_precision() -> None:
    text = SCATTER.replace("tensor<f32>", "tensor<f64>")
    accept(text.replace("-> tensor<5x7x4xf32>", "-> tensor<5x7x4xf64>"))
    demand_refused(Broken(text, "results in tensor<5x7x4xf64>"), "stablehlo.scatter")


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.reason)
def test_a_broken_scatter_is_refused(case: Broken) -> None:
    # The operand types after the colon say how many operands there are.
    text = (
        case.text if "%u) <" in case.text else case.text.replace(", tensor<5x6x3xf32>) ->", ") ->")
    )
    demand_refused(case._replace(text=text), "stablehlo.scatter")
    assert not mlir_accepts(text)


def test_inputs_and_updates_come_in_pairs_of_one_shape() -> None:
    text = (
        SCATTER.replace("(%a, %i, %u)", "(%a, %a, %i, %u, %w)")
        .replace("%u: tensor<5x6x3xf32>", "%u: tensor<5x6x3xf32>, %w: tensor<5x6x3xf32>")
        .replace("%r =", "%r:2 =")
        .replace("%x: tensor<f32>, %y", "%x: tensor<f32>, %p: tensor<f32>, %q: tensor<f32>, %y")
        .replace("return %z : tensor<f32>", "return %z, %z : tensor<f32>, tensor<f32>")
        .replace(": (tensor<5x7x4xf32>,", ": (tensor<5x7x4xf32>, tensor<5x7x4xf32>,")
        .replace(
            "tensor<5x6x3xf32>) -> tensor<5x7x4xf32>",
            "tensor<5x6x3xf32>, tensor<5x6x3xf32>) -> (tensor<5x7x4xf32>, tensor<5x7x4xf32>)",
        )
    )
    accept(text)
    assert mlir_accepts(text)
    other = text.replace("%w: tensor<5x6x3xf32>", "%w: tensor<5x6x2xf32>").replace(
        "tensor<5x6x3xf32>) ->", "tensor<5x6x2xf32>) ->"
    )
    demand_refused(Broken(other, "needs updates of one shape, got "), "stablehlo.scatter")
    assert not mlir_accepts(other)
