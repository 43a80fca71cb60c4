"""The rules of sort and top_k."""

from __future__ import annotations

import pytest

from tests.stablehlo.rule_texts import (
    Broken,
    accept,
    broken,
    demand_refused,
    mlir_accepts,
)

SORT = """
func.func @f(%a: tensor<4x6xf32>, %b: tensor<4x6xi32>) {
  %r:2 = "stablehlo.sort"(%a, %b) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %v: tensor<i32>, %w: tensor<i32>):
      %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }) : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
  return
}"""
TOP_K = """
func.func @f(%a: tensor<4x6xbf16>) {
  %r:2 = chlo.top_k(%a, k = 2) : tensor<4x6xbf16> -> (tensor<4x2xbf16>, tensor<4x2xi32>)
  return
}"""
BROKEN_SORT = broken(
    SORT,
    ("dimension = 1", "dimension = 2", "needs a dimension from -2 to below 2, got 2"),
    ("dimension = 1", "dimension = -3", "needs a dimension from -2 to below 2, got -3"),
    ("dimension = 1 : i64", "dimension = 1 : i32", "needs dimension as a number of i64, got i32"),
    ("tensor<4x6xi32>", "tensor<4x5xi32>", "needs inputs of one shape, got "),
    ("%w: tensor<i32>", "%w: tensor<i64>", "needs a comparator that takes tensor<i32>, got tenso"),
    ("%w: tensor<i32>", "%w: tensor<1xi32>", "needs a comparator that takes tensor<i32>, got ten"),
    (", %w: tensor<i32>", "", "needs a comparator of 4 arguments, got 3"),
    ("return %c : tensor<i1>", "return %x : tensor<f32>", "takes no elements of f32 as the compar"),
    ("return %c : tensor<i1>", "return", "needs a comparator that returns 1 value, got 0"),
    ("-> (tensor<4x6xf32>", "-> (tensor<4x5xf32>", "results in tensor<4x6xf32>, got tensor<4x5xf"),
    ("-> (tensor<4x6xf32>", "-> (tensor<4x6xi32>", "results in tensor<4x6xf32>, got tensor<4x6xi"),
)
BROKEN_TOP_K = broken(
    TOP_K,
    ("k = 2", "k = 7", "needs a last axis of 7 elements or more, got tensor<4x6xbf16>"),
    ("k = 2", "k = 3", "results in tensor<4x3xbf16>, got tensor<4x2xbf16>"),
    ("4x6xbf16", "bf16", "needs an operand of rank 1 or more, got tensor<bf16>"),
    ("4x2xi32", "4x2xi64", "results in tensor<4x2xi32>, got tensor<4x2xi64>"),
)


def test_a_sort_is_accepted_with_known_and_dynamic_extents() -> None:
    accept(SORT)
    accept(SORT.replace("dimension = 1", "dimension = -2"))
    accept(SORT.replace("dimension = 1 : i64, ", ""))
    accept(SORT.replace("tensor<4x6xi32>", "tensor<?x6xi32>"))


@pytest.mark.parametrize("case", BROKEN_SORT, ids=lambda case: case.reason)
def test_a_broken_sort_is_refused(case: Broken) -> None:
    demand_refused(case, "stablehlo.sort")
    assert not mlir_accepts(case.text)


def test_an_extent_that_one_input_knows_holds_for_all_results() -> None:
    text = SORT.replace("tensor<4x6xf32>", "tensor<?x6xf32>")
    text = text.replace("-> (tensor<?x6xf32>", "-> (tensor<5x6xf32>")
    demand_refused(Broken(text, "results in tensor<4x6xf32>, got "), "stablehlo.sort")
    assert not mlir_accepts(text)


def test_top_k_is_accepted_with_known_and_dynamic_extents() -> None:
    accept(TOP_K)
    accept(TOP_K.replace("4x6xbf16", "?x?xbf16"))
    accept(TOP_K.replace("k = 2", "k = 6").replace("4x2x", "4x6x"))
    accept(TOP_K.replace("k = 2", "k = 0").replace("4x2x", "4x0x"))
    accept(TOP_K.replace("4x6xbf16", "*xbf16"))


@pytest.mark.parametrize("case", BROKEN_TOP_K, ids=lambda case: case.reason)
def test_a_broken_top_k_is_refused(case: Broken) -> None:
    demand_refused(case, "chlo.top_k")
    assert not mlir_accepts(case.text)


def test_a_sort_has_inputs_and_returns_a_scalar() -> None:
    none = """
    func.func @f() {
      "stablehlo.sort"() ({
          %c = stablehlo.constant dense<true> : tensor<i1>
          stablehlo.return %c : tensor<i1>
      }) : () -> ()
      return
    }"""
    demand_refused(Broken(none, "needs 1 operand or more, got 0"), "stablehlo.sort")
    assert not mlir_accepts(none)
    compare = "stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>"
    wide = SORT.replace(compare, "stablehlo.constant dense<true> : tensor<1xi1>")
    wide = wide.replace("return %c : tensor<i1>", "return %c : tensor<1xi1>")
    case = Broken(wide, "needs a comparator that returns a scalar, got tensor<1xi1>")
    demand_refused(case, "stablehlo.sort")
    assert not mlir_accepts(wide)


def test_top_k_has_one_operand() -> None:
    text = """
    func.func @f(%a: tensor<3xf32>) {
      %r:2 = "chlo.top_k"(%a, %a) <{k = 2 : i64}>
        : (tensor<3xf32>, tensor<3xf32>) -> (tensor<2xf32>, tensor<2xi32>)
      return
    }"""
    case = Broken(text, "needs 1 operand, got 2")
    demand_refused(case, "chlo.top_k")
    assert not mlir_accepts(text)
