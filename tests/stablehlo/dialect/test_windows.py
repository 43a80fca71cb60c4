"""The rules of reduce_window and select_and_scatter, and the arithmetic of windows."""

from __future__ import annotations

import pytest

from tests.stablehlo.rule_texts import (
    Broken,
    accept,
    broken,
    demand_refused,
    mlir_accepts,
)

REDUCE_WINDOW = """
func.func @f(%a: tensor<8x7xf32>, %z: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %z) <{
    window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 2, 1>,
    base_dilations = array<i64: 1, 2>, window_dilations = array<i64: 1, 3>,
    padding = dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>
  }> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<8x7xf32>, tensor<f32>) -> tensor<4x12xf32>
  return
}"""
SELECT = """
func.func @f(%a: tensor<8x6xf32>, %b: tensor<4x3xf32>, %z: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %z) <{
    window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 2, 2>,
    padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>
  }> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }, {
    ^bb0(%v: tensor<f32>, %w: tensor<f32>):
      %s = stablehlo.add %v, %w : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<8x6xf32>, tensor<4x3xf32>, tensor<f32>) -> tensor<8x6xf32>
  return
}"""
BROKEN = broken(
    REDUCE_WINDOW,
    ("ons = array<i64: 3, 2>", "ons = array<i64: 3>", "needs 2 numbers as window_dimensions, got "),
    ("ons = array<i64: 3, 2>", "ons = array<i64: 3, 0>", "needs a positive window, got [3, 0]"),
    ("strides = array<i64: 2, 1>", "strides = array<i64: 2>", "needs window_strides for 2 axes of"),
    ("strides = array<i64: 2, 1>", "strides = array<i64: 2, 0>", "needs positive window_strides"),
    ("base_dilations = array<i64: 1, 2>", "base_dilations = array<i64: 1, 2, 3>", "needs base_dil"),
    ("base_dilations = array<i64: 1, 2>", "base_dilations = array<i64: 0, 2>", "needs positive ba"),
    ("window_dilations = array<i64: 1, 3>", "window_dilations = array<i64: 1, -1>", "needs positi"),
    ("[[1, 0], [0, 2]]> : tensor<2x2xi64>", "[[1, 0]]> : tensor<1x2xi64>", "needs padding for 2 a"),
    ("[[1, 0], [0, 2]]> : tensor<2x2xi64>", "1> : tensor<4xi64>", "needs a padding of shape [N, 2"),
    ("[[1, 0], [0, 2]]> : tensor<2x2xi64>", "1> : tensor<2x2xi32>", "needs i64 elements in paddin"),
    ("-> tensor<4x12xf32>", "-> tensor<4x11xf32>", "results in tensor<4x12xf32>, got tensor<4x11x"),
    ("return %s : tensor<f32>", "return", "needs a body that returns 1 tensors, got 0"),
)
BROKEN_SELECT = broken(
    SELECT,
    ("window_dimensions = array<i64: 3, 2>, ", "", "needs 2 numbers as window_dimensions, got "),
    ("strides = array<i64: 2, 2>", "strides = array<i64: 2, -2>", "needs positive window_strides"),
    ("tensor<4x3xf32>", "tensor<4x2xf32>", "needs a source of tensor<4x3xf32>, got tensor<4x2xf3"),
    ("tensor<4x3xf32>", "tensor<4x3xi32>", "needs a body that takes what tensor<i32> promotes to"),
    ("-> tensor<8x6xf32>", "-> tensor<8x5xf32>", "results in tensor<8x6xf32>, got "),
    ("%y: tensor<f32>", "%y: tensor<f32>, %q: tensor<f32>", "needs a selection of 2 arguments, g"),
    ("return %c : tensor<i1>", "return %x : tensor<f32>", "takes no elements of f32 as the select"),
    ("return %c : tensor<i1>", "return %c, %c : tensor<i1>, tensor<i1>", "needs a selection that "),
    (
        "%w: tensor<f32>):\n      %s = stablehlo.add %v, %w",
        "%w: tensor<i32>):\n      %s = stablehlo.add %v, %v",
        "needs a body that takes what it returns, tensor<f32>, got tensor<i32>",
    ),
)


def test_a_window_is_counted_along_a_padded_and_dilated_axis() -> None:
    # (1 + 8 - 3) // 2 + 1 = 4, and ((7 - 1) * 2 + 1 + 2 - 4) // 1 + 1 = 12.
    accept(REDUCE_WINDOW)
    accept(REDUCE_WINDOW.replace("tensor<8x7xf32>", "tensor<?x7xf32>"))
    accept(REDUCE_WINDOW.replace("<4x12xf32>", "<?x12xf32>"))


def test_a_window_that_does_not_fit_has_no_place() -> None:
    text = REDUCE_WINDOW.replace("tensor<8x7xf32>", "tensor<1x7xf32>")
    accept(text.replace("<4x12xf32>", "<0x12xf32>"))
    accept(text.replace("8x7", "0x7").replace("<4x12xf32>", "<0x12xf32>"))
    demand_refused(Broken(text, "results in tensor<0x12xf32>, got "), "stablehlo.reduce_window")


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.reason)
def test_a_broken_window_is_refused(case: Broken) -> None:
    demand_refused(case, "stablehlo.reduce_window")
    assert not mlir_accepts(case.text)


def test_a_bound_slides_as_an_extent_does() -> None:
    text = REDUCE_WINDOW.replace("tensor<8x7xf32>", "tensor<?x7xf32, #stablehlo.bounds<8, ?>>")
    accept(text)
    wide = text.replace("<4x12xf32>", "<5x12xf32>")
    demand_refused(Broken(wide, "results in tensor<?x12xf32, "), "stablehlo.reduce_window")
    assert not mlir_accepts(wide)


def test_a_window_has_an_initial_value_for_each_input() -> None:
    text = REDUCE_WINDOW.replace("(%a, %z)", "(%a)").replace(
        "tensor<8x7xf32>, tensor<f32>) ->", "tensor<8x7xf32>) ->"
    )
    case = Broken(text, "needs as many initial values as inputs, got 1 operands")
    demand_refused(case, "stablehlo.reduce_window")


def test_a_selection_is_between_scalars_and_returns_one() -> None:
    text = SELECT.replace("%y: tensor<f32>", "%y: tensor<1xf32>")
    text = text.replace("GE, %x, %y", "GE, %x, %x")
    case = Broken(text, "needs a selection between tensor<f32>, got tensor<1xf32>")
    demand_refused(case, "stablehlo.select_and_scatter")
    assert not mlir_accepts(text)
    compare = "stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>"
    text = SELECT.replace(compare, "stablehlo.constant dense<true> : tensor<1xi1>")
    text = text.replace("return %c : tensor<i1>", "return %c : tensor<1xi1>")
    case = Broken(text, "needs a selection that returns tensor<i1>, got tensor<1xi1>")
    demand_refused(case, "stablehlo.select_and_scatter")
    assert not mlir_accepts(text)


@pytest.mark.parametrize("case", BROKEN_SELECT, ids=lambda case: case.reason)
def test_a_broken_selection_is_refused(case: Broken) -> None:
    accept(SELECT)
    demand_refused(case, "stablehlo.select_and_scatter")
    assert not mlir_accepts(case.text)
