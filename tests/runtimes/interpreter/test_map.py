"""Map, and with it every body over scalars: whole arrays give what each element alone gives."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import Run
from topos.runtimes.interpreter import run_text

F, N, T = "tensor<f32>", "tensor<i32>", "tensor<i1>"
AFTER = f"""
func.func private @scaled(%p: {F}, %q: {N}) -> {F} {{
  %0 = stablehlo.convert %q : ({N}) -> {F}
  %1 = stablehlo.multiply %0, %p : {F}
  return %1 : {F}
}}
"""
CALL = f"%r = func.call @scaled(%x, %y) : ({F}, {N}) -> {F}"
LESS = f"%p = stablehlo.compare LT, %y, %two, SIGNED : ({N}, {N}) -> {T}"
TWO = f"%two = stablehlo.constant dense<2> : {N}"
BRANCH = f"""
{TWO}
{LESS}
%r = "stablehlo.if"(%p) ({{
  %1 = stablehlo.sine %x : {F}
  stablehlo.return %1 : {F}
}}, {{
  %2 = func.call @scaled(%x, %two) : ({F}, {N}) -> {F}
  stablehlo.return %2 : {F}
}}) : ({T}) -> {F}
"""
CASE = f"""
%r = "stablehlo.case"(%y) ({{
  stablehlo.return %x : {F}
}}, {{
  %1 = stablehlo.negate %x : {F}
  stablehlo.return %1 : {F}
}}, {{
  %2 = stablehlo.constant dense<9.0> : {F}
  stablehlo.return %2 : {F}
}}) : ({N}) -> {F}
"""
LOOP = f"""
%end = stablehlo.constant dense<5> : {N}
%one = stablehlo.constant dense<1> : {N}
%0:2 = stablehlo.while(%i = %y, %v = %x) : {N}, {F}
 cond {{
  %c = stablehlo.compare LT, %i, %end, SIGNED : ({N}, {N}) -> {T}
  stablehlo.return %c : {T}
}} do {{
  %n = stablehlo.add %i, %one : {N}
  %w = func.call @scaled(%v, %n) : ({F}, {N}) -> {F}
  stablehlo.return %n, %w : {N}, {F}
}}
%r = stablehlo.negate %0#1 : {F}
"""
LAYOUTS = f"""
%1 = stablehlo.reshape %x : ({F}) -> {F}
%2 = stablehlo.broadcast_in_dim %1, dims = [] : ({F}) -> {F}
%3 = stablehlo.transpose %2, dims = [] : ({F}) -> {F}
%4 = stablehlo.optimization_barrier %3 : {F}
%r = stablehlo.add %4, %x : {F}
"""
TABLE = f"""
%t = stablehlo.constant dense<[3.0, 5.0, 7.0]> : tensor<3xf32>
%1 = stablehlo.dynamic_slice %t, %y, sizes = [1] : (tensor<3xf32>, {N}) -> tensor<1xf32>
%2 = stablehlo.reshape %1 : (tensor<1xf32>) -> {F}
%r = stablehlo.multiply %2, %x : {F}
"""
BODIES = {
    "a call": CALL,
    "a branch": BRANCH,
    "a case": CASE,
    "a loop": LOOP,
    "layouts of a scalar": LAYOUTS,
    "a constant alone": f"%r = stablehlo.constant dense<4.0> : {F}",
    "a table": TABLE,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_array_gives_what_its_elements_give(body: str) -> None:
    values = np.array([[1.5, -0.0, np.inf], [0.25, -7.0, np.nan]], np.float32)
    places = np.array([[0, 1, 2], [3, -1, 4]], np.int32)
    array, whole = "tensor<2x3xf32>", "tensor<2x3xi32>"
    text = f"""
    func.func @main(%a: {array}, %b: {whole}) -> {array} {{
      %0 = "stablehlo.map"(%a, %b) <{{dimensions = array<i64: 0, 1>}}> ({{
      ^bb0(%x: {F}, %y: {N}):
        {body}
        stablehlo.return %r : {F}
      }}) : ({array}, {whole}) -> {array}
      return %0 : {array}
    }} {AFTER}
    """
    alone = f"func.func @main(%x: {F}, %y: {N}) -> {F} {{\n{body}\nreturn %r : {F}\n}} {AFTER}"
    (result,) = run_text(text, [values, places])
    wanted = [run_text(alone, pair)[0] for pair in zip(values.flat, places.flat, strict=True)]
    assert result.tobytes() == np.array(wanted, np.float32).tobytes()


def test_a_body_sees_what_lies_outside(run: Run) -> None:
    body = f"""
    %r = "stablehlo.map"(%a) <{{dimensions = array<i64: 0>}}> ({{
    ^bb0(%x: {F}):
      %0 = stablehlo.subtract %x, %b : {F}
      stablehlo.return %0 : {F}
    }}) : (tensor<3xf32>) -> tensor<3xf32>
    """
    result = run(body, "tensor<3xf32>", np.array([1, 2, 3], np.float32), np.float32(5))
    assert result.tolist() == [-4.0, -3.0, -2.0]


def test_a_branch_that_no_element_takes_does_not_run(run: Run) -> None:
    """Were it run, its loop would never end."""
    body = f"""
    %r = "stablehlo.map"(%a) <{{dimensions = array<i64: 0>}}> ({{
    ^bb0(%x: {N}):
      %z = stablehlo.constant dense<0> : {N}
      %p = stablehlo.compare EQ, %x, %z, SIGNED : ({N}, {N}) -> {T}
      %0 = "stablehlo.if"(%p) ({{
        %1 = stablehlo.while(%i = %z) : {N}
         cond {{
          %c = stablehlo.compare EQ, %i, %z, SIGNED : ({N}, {N}) -> {T}
          stablehlo.return %c : {T}
        }} do {{
          %n = stablehlo.multiply %i, %x : {N}
          stablehlo.return %n : {N}
        }}
        stablehlo.return %1 : {N}
      }}, {{
        %2 = stablehlo.negate %x : {N}
        stablehlo.return %2 : {N}
      }}) : ({T}) -> {N}
      stablehlo.return %0 : {N}
    }}) : (tensor<2xi32>) -> tensor<2xi32>
    """
    assert run(body, "tensor<2xi32>", np.array([3, 4], np.int32)).tolist() == [-3, -4]


@pytest.mark.parametrize("body", [BODIES["a branch"], BODIES["a table"]], ids=["whole", "each"])
def test_an_empty_array_stays_empty(body: str) -> None:
    text = f"""
    func.func @main(%a: tensor<0x2xf32>, %b: tensor<0x2xi32>) -> tensor<0x2xf32> {{
      %0 = "stablehlo.map"(%a, %b) <{{dimensions = array<i64: 0, 1>}}> ({{
      ^bb0(%x: {F}, %y: {N}):
        {body}
        stablehlo.return %r : {F}
      }}) : (tensor<0x2xf32>, tensor<0x2xi32>) -> tensor<0x2xf32>
      return %0 : tensor<0x2xf32>
    }} {AFTER}
    """
    (result,) = run_text(text, [np.zeros((0, 2), np.float32), np.zeros((0, 2), np.int32)])
    assert result.shape == (0, 2)
    assert result.dtype == np.float32
