"""Composites run what they decompose to."""

from __future__ import annotations

import numpy as np
import pytest

from topos.errors import ToposError
from topos.runtimes.interpreter import run_text

PARTS = """func.func private @parts(%a: tensor<2xi32>, %b: tensor<2xi32>)
    -> (tensor<2xi32>, tensor<2xi32>) {
  %q = stablehlo.divide %a, %b : tensor<2xi32>
  %m = stablehlo.remainder %a, %b : tensor<2xi32>
  return %q, %m : tensor<2xi32>, tensor<2xi32>
}"""


def test_a_composite_of_two_results() -> None:
    text = f"""module {{
      {PARTS}
      func.func @main(%a: tensor<2xi32>, %b: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {{
        %0:2 = stablehlo.composite "math.parts" %a, %b {{decomposition = @parts, version = 3 : i32}}
          : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
        return %0#1, %0#0 : tensor<2xi32>, tensor<2xi32>
      }}
    }}"""
    arrays = [np.array([17, -9], np.int32), np.array([5, 4], np.int32)]
    assert [array.tolist() for array in run_text(text, arrays)] == [[2, -1], [3, -2]]


def test_a_composite_within_a_composite() -> None:
    text = """module {
      func.func private @twice(%a: tensor<f32>) -> tensor<f32> {
        %0 = stablehlo.add %a, %a : tensor<f32>
        return %0 : tensor<f32>
      }
      func.func private @fourfold(%a: tensor<f32>) -> tensor<f32> {
        %0 = "stablehlo.composite"(%a) {name = "my.twice", decomposition = @twice}
          : (tensor<f32>) -> tensor<f32>
        %1 = func.call @twice(%0) : (tensor<f32>) -> tensor<f32>
        return %1 : tensor<f32>
      }
      func.func @main(%a: tensor<f32>) -> tensor<f32> {
        %0 = stablehlo.composite "my.fourfold" %a {composite_attributes = {n = 4 : i64},
          decomposition = @fourfold} : (tensor<f32>) -> tensor<f32>
        return %0 : tensor<f32>
      }
    }"""
    (result,) = run_text(text, [np.array(1.5, np.float32)])
    assert result == 6


def test_a_composite_of_nothing_known_is_refused() -> None:
    text = """func.func @main(%a: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.composite "my.other" %a {decomposition = @other}
        : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }"""
    with pytest.raises(ToposError, match="@other"):
        run_text(text, [np.array(1, np.float32)])
