"""Branches of specialized modules: a known one stands for all, and the others are never run."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stablehlo.test_specialize import names, static
from topos.errors import ArgumentError, VerifyError
from topos.runtimes.interpreter import run_text
from topos.stablehlo.printer import printed

# The rows of a batch are halved where they are more than three, which two must then divide.
GUARDED = """
func.func @main(%x: tensor<?xf32>, %k: tensor<i32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %p = stablehlo.compare GT, %n, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %r:2 = "stablehlo.if"(%p) ({
    %0 = call @checked(%n) : (tensor<i32>) -> tensor<i32>
    stablehlo.return %0, %n : tensor<i32>, tensor<i32>
  }, {
    %0 = stablehlo.add %n, %n : tensor<i32>
    stablehlo.return %0, %0 : tensor<i32>, tensor<i32>
  }) : (tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %0 = stablehlo.reshape %r : (tensor<i32>) -> tensor<1xi32>
  %1 = stablehlo.dynamic_iota %0, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
func.func private @checked(%n: tensor<i32>) -> tensor<i32> {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %rest = stablehlo.remainder %n, %two : tensor<i32>
  %even = stablehlo.compare EQ, %rest, %0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%even, %n) {error_message = "{0} rows are odd",
      has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %half = stablehlo.divide %n, %two : tensor<i32>
  return %half : tensor<i32>
}
"""


@pytest.mark.parametrize(("rows", "results"), [(1, 2), (3, 6), (4, 2), (6, 3)])
def test_an_assertion_holds_where_it_is_run(rows: int, results: int) -> None:
    made = static(GUARDED, (rows,), (), elements=["f32", "i32"])
    (got,) = run_text(printed(made), [np.zeros(rows, np.float32), np.int32(0)])
    np.testing.assert_array_equal(got, np.arange(results))
    # Nothing is left of the branches, which only computed a size.
    assert names(made) == ["stablehlo.iota", "func.return"]


def test_an_assertion_of_a_branch_that_may_be_taken_is_checked() -> None:
    with pytest.raises(ArgumentError, match=r"^5 rows are odd$"):
        static(GUARDED, (5,), (), elements=["f32", "i32"])
    # As jax does, wherever only the run tells which branch is taken.
    open_text = GUARDED.replace("GT, %n, %three", "GT, %k, %three").replace(
        "reshape %r :", "reshape %n :"
    )
    with pytest.raises(ArgumentError, match=r"^3 rows are odd$"):
        static(open_text, (3,), (), elements=["f32", "i32"])
    assert "stablehlo.if" in names(static(open_text, (4,), (), elements=["f32", "i32"]))


def test_a_branch_that_is_not_taken_may_not_fit_the_shapes() -> None:
    text = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %0 = stablehlo.constant dense<1> : tensor<i32>
      %i = stablehlo.subtract %n, %0 : tensor<i32>
      %r = "stablehlo.case"(%i) ({
        %1 = stablehlo.add %x, %x : tensor<?xf32>
        stablehlo.return %1 : tensor<?xf32>
      }, {
        %two = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
        %1 = stablehlo.add %x, %two : (tensor<?xf32>, tensor<2xf32>) -> tensor<?xf32>
        stablehlo.return %1 : tensor<?xf32>
      }, {
        stablehlo.return %x : tensor<?xf32>
      }) : (tensor<i32>) -> tensor<?xf32>
      %1 = stablehlo.negate %r : tensor<?xf32>
      return %1 : tensor<?xf32>
    }"""
    for rows, wanted in ((1, [-2]), (2, [-2, -3]), (3, [-1, -1, -1]), (0, [])):
        made = static(text, (rows,))
        (got,) = run_text(printed(made), [np.ones(rows, np.float32)])
        np.testing.assert_array_equal(got, wanted)
    # Both hold a %1, and so the one that stood in a branch has another name.
    assert "%v1 = stablehlo.add" in printed(static(text, (1,)))


def test_a_branch_returns_what_is_stated() -> None:
    text = """func.func @main(%x: tensor<?xf32>, %p: tensor<i1>) -> tensor<3xf32> {
      %r = "stablehlo.if"(%p) ({
        stablehlo.return %x : tensor<?xf32>
      }, {
        stablehlo.return %x : tensor<?xf32>
      }) : (tensor<i1>) -> tensor<3xf32>
      return %r : tensor<3xf32>
    }"""
    assert "stablehlo.if" in names(static(text, (3,), (), elements=["f32", "i1"]))
    with pytest.raises(
        VerifyError, match=r"line 2, .*if results in tensor<5xf32>, got tensor<3xf32>"
    ):
        static(text, (5,), (), elements=["f32", "i1"])
