"""Copies of functions: as many as the sets of types and sizes that they are called with."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stablehlo.dynamic_texts import CALLED_WITH_NUMBERS
from tests.stablehlo.test_specialize import static
from topos.errors import UnsupportedError
from topos.runtimes.interpreter import run_text
from topos.stablehlo.printer import printed

LEVEL = """
func.func private @f{0}(%x: tensor<?xf32>, %i: tensor<i32>) -> (tensor<?xf32>, tensor<i32>) {{
  %one = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.add %i, %i : tensor<i32>
  %k = stablehlo.add %j, %one : tensor<i32>
  %0:2 = call @f{1}(%x, %j) : (tensor<?xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<i32>)
  %1:2 = call @f{1}(%0#0, %k) : (tensor<?xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<i32>)
  %2 = stablehlo.maximum %0#1, %1#1 : tensor<i32>
  return %1#0, %2 : tensor<?xf32>, tensor<i32>
}}
"""


def doubling(levels: int) -> str:
    """Returns functions that call one another twice with different numbers, which they return."""
    main = """func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<i32>) {
      %i = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = call @f0(%x, %i) : (tensor<?xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<i32>)
      return %0#0, %0#1 : tensor<?xf32>, tensor<i32>
    }"""
    last = LEVEL.format(levels, levels).partition("  %0:2")[0].replace("%i, %i", "%i, %one")
    last += """  %0 = stablehlo.add %x, %x : tensor<?xf32>
      return %0, %j : tensor<?xf32>, tensor<i32>
    }"""
    return "\n".join([main, *[LEVEL.format(each, each + 1) for each in range(levels)], last])


def test_functions_that_call_one_another_twice_have_one_copy_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = static(doubling(4), (2,))
    assert len(made.functions) == 6
    got = run_text(printed(made), [np.ones(2, np.float32)])
    assert got[0].tolist() == [2.0**16] * 2
    assert got[1] == 16
    # More numbers than are followed are left to the run.
    monkeypatch.setattr("topos.stablehlo.specialize.module.MOST_FOLLOWED", 8)
    long = static(doubling(12), (2,))
    assert len(long.functions) == 14
    assert run_text(printed(static(doubling(4), (2,))), [np.ones(2, np.float32)])[1] == 16
    # Sizes are still followed.
    monkeypatch.setattr("topos.stablehlo.specialize.module.MOST_FOLLOWED", 0)
    assert len(static(CALLED_WITH_NUMBERS, (3,)).functions) == 4


def test_a_function_that_calls_itself_with_other_shapes_is_refused() -> None:
    text = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }
    func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      %1 = call @f(%0) : (tensor<?xf32>) -> tensor<?xf32>
      return %1 : tensor<?xf32>
    }"""
    with pytest.raises(UnsupportedError, match="line 7, column 12: @f calls itself"):
        static(text, (2,))
