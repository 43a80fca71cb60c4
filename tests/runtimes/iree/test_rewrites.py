"""What IREE gets wrong and its adapter writes anew, beside the modules of tools/faults."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.errors import UnsupportedError
from topos.runtimes import load
from topos.runtimes._mlir import parse
from topos.runtimes.iree.writes import keep_values

pytest.importorskip("iree.compiler")
pytest.importorskip("iree.runtime")

IREE, INTERPRETER = load("iree"), load("interpreter")

Array = npt.NDArray[Any]


def bits(results: tuple[Array, ...]) -> list[bytes]:
    return [each.tobytes() for each in results]


# Wide and narrow elements, a NaN of each sign, zeros of both, ties, and more than one axis.
CHOOSING = """
func.func @main(%a: tensor<2x6xf64>, %b: tensor<2x6xi64>, %c: tensor<6xui64>, %d: tensor<6xi1>)
    -> (tensor<2x4xf64>, tensor<2x4xi32>, tensor<2x4xi64>, tensor<2x4xi32>, tensor<6xui64>,
    tensor<6xi32>, tensor<3xi1>, tensor<3xi32>) {
  %0, %1 = chlo.top_k(%a, k = 4) : tensor<2x6xf64> -> (tensor<2x4xf64>, tensor<2x4xi32>)
  %2, %3 = chlo.top_k(%b, k = 4) : tensor<2x6xi64> -> (tensor<2x4xi64>, tensor<2x4xi32>)
  %4, %5 = chlo.top_k(%c, k = 6) : tensor<6xui64> -> (tensor<6xui64>, tensor<6xi32>)
  %6, %7 = chlo.top_k(%d, k = 3) : tensor<6xi1> -> (tensor<3xi1>, tensor<3xi32>)
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2x4xf64>, tensor<2x4xi32>, tensor<2x4xi64>,
    tensor<2x4xi32>, tensor<6xui64>, tensor<6xi32>, tensor<3xi1>, tensor<3xi32>
}
"""
# An update in a loop and in a function, of a resident; the second result is the argument.
CARRIED = """
func.func private @step(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %u = stablehlo.slice %x [0:5] : (tensor<8xf32>) -> tensor<5xf32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i
    : (tensor<8xf32>, tensor<5xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> (tensor<8xf32>, tensor<2x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%k = %zero, %y = %x) : tensor<i32>, tensor<8xf32> cond {
    %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %k, %one : tensor<i32>
    %z = func.call @step(%y, %next) : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
    stablehlo.return %next, %z : tensor<i32>, tensor<8xf32>
  }
  %1 = stablehlo.reshape %x : (tensor<8xf32>) -> tensor<2x4xf32>
  return %0#1, %1 : tensor<8xf32>, tensor<2x4xf32>
}
"""
# A sort writes over an argument that a barrier hides from the loop; the loop exchanges its tensors.
EXCHANGED = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %hidden = stablehlo.optimization_barrier %x : tensor<8xf32>
  %s:2 = "stablehlo.sort"(%x, %x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %t = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %0:3 = stablehlo.while(%k = %zero, %y = %hidden, %z = %s#1)
    : tensor<i32>, tensor<8xf32>, tensor<8xf32> cond {
    %c = stablehlo.compare LT, %k, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %k, %one : tensor<i32>
    %u = stablehlo.slice %z [2:6] : (tensor<8xf32>) -> tensor<4xf32>
    %n = stablehlo.dynamic_update_slice %y, %u, %k
      : (tensor<8xf32>, tensor<4xf32>, tensor<i32>) -> tensor<8xf32>
    stablehlo.return %next, %n, %y : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  }
  return %0#1 : tensor<8xf32>
}
"""
# What a scan becomes: the stack is updated and returned in its own place, %r may be read after.
STACKED = """
func.func @main(%x: tensor<4xf32>) -> (tensor<9xf32>, tensor<f32>) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %nine = stablehlo.constant dense<9> : tensor<i32>
  %sum = stablehlo.constant dense<0.0> : tensor<f32>
  %empty = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<9xf32>
  %0:3 = stablehlo.while(%k = %zero, %y = %empty, %s = %sum)
    : tensor<i32>, tensor<9xf32>, tensor<f32> cond {{
    %c = stablehlo.compare LT, %k, %nine : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %k, %one : tensor<i32>
    %v = stablehlo.dynamic_slice %x, %k, sizes = [1]
      : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
    %w = stablehlo.dynamic_slice %y, %k, sizes = [1]
      : (tensor<9xf32>, tensor<i32>) -> tensor<1xf32>
    %u = stablehlo.add %v, %w : tensor<1xf32>
    %n = stablehlo.dynamic_update_slice %y, %u, %k
      : (tensor<9xf32>, tensor<1xf32>, tensor<i32>) -> tensor<9xf32>
    %part = stablehlo.slice {read} [0:1] : (tensor<9xf32>) -> tensor<1xf32>
    %r = stablehlo.reshape %part : (tensor<1xf32>) -> tensor<f32>
    stablehlo.return %next, %n, %r : tensor<i32>, tensor<9xf32>, tensor<f32>
  }}
  return %0#1, %0#2 : tensor<9xf32>, tensor<f32>
}}
"""
MAPS = """
func.func @main(%x: tensor<12xf32>, %y: tensor<12xf32>, %h: tensor<12xbf16>)
    -> (tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xbf16>) {
  %0 = stablehlo.power %x, %y : tensor<12xf32>
  %1 = stablehlo.cosine %x : tensor<12xf32>
  %2 = stablehlo.cbrt %x : tensor<12xf32>
  %3 = stablehlo.sine %y : tensor<12xf32>
  %4 = stablehlo.power %h, %h : tensor<12xbf16>
  return %0, %1, %2, %3, %4 : tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12xf32>,
    tensor<12xbf16>
}
"""


def test_the_first_of_an_order_are_those_of_the_interpreter() -> None:
    floats = np.array([[1, np.nan, 3, -np.nan, 3, -0.0], [0.0, -0.0, -1, np.inf, -np.inf, 0.0]])
    integers = np.array([[3, 1, 3, 2, -(2**63), 3], [2**63 - 1, 0, -1, 0, 2**62, 0]])
    unsigned = np.array([1, 2**64 - 1, 2**63, 5, 2**63, 0], np.uint64)
    arguments = (floats, integers, unsigned, np.array([0, 1, 0, 1, 0, 0], np.bool_))
    found = IREE.compile(CHOOSING)(*arguments)
    assert bits(found) == bits(INTERPRETER.compile(CHOOSING)(*arguments))


def test_a_resident_stays_as_it_is() -> None:
    x = np.arange(8, dtype=np.float32)
    held = IREE.compile(CARRIED).bind({0: x})
    wanted = bits(INTERPRETER.compile(CARRIED)(x, np.int32(2)))
    assert [bits(held(np.int32(2))) for _ in range(2)] == [wanted] * 2


def test_a_loop_that_exchanges_its_tensors_reads_them_as_they_were() -> None:
    array = np.array([13, 0, 39, 42, 49, 1, 5, 46], np.float32)
    got, want = (each.compile(EXCHANGED)(array) for each in (IREE, INTERPRETER))
    assert bits(got) == bits(want)


@pytest.mark.parametrize(("read", "copies"), [("%n", 0), ("%y", 1)])
def test_a_carried_tensor_is_copied_only_if_it_is_read_after_its_update(
    read: str, copies: int
) -> None:
    from iree.compiler import ir

    with ir.Context():
        module = parse(ir, STACKED.format(read=read))
        keep_values(ir, module)
        _, body = str(module).split("} do {")
        assert body.count("stablehlo.select") == copies


def test_the_sine_of_a_negative_zero_is_that_zero() -> None:
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.sine %x : tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    zeros = np.array([-0.0, 0.0], np.float32)
    assert bits(IREE.compile(text)(zeros)) == [zeros.tobytes()]


def test_maps_are_near_beyond_their_usual_arguments() -> None:
    x = np.array([-2, -0.5, -np.inf, 1, -1, -0.0, 0, 1e5, -3e38, 7e20, 2**24 + 2, -7], np.float32)
    y = np.array([3, -2, 0.5, np.nan, -np.inf, 3, 0, 2, 3, -0.1, 1.5, 0.25], np.float32)
    half = np.array([2, -2, 3, -3, 0, -1, 0.5, 1, 5, -5, np.inf, np.nan], np.float32)
    arguments = (x, y, half.astype("bfloat16"))
    found, wanted = IREE.compile(MAPS)(*arguments), INTERPRETER.compile(MAPS)(*arguments)
    for each, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(each.astype(float), right.astype(float), rtol=2.4e-7)
        known = ~np.isnan(right)
        assert (np.signbit(each) == np.signbit(right))[known].all()


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            "%0, %1 = stablehlo.rng_bit_generator %x, algorithm = PHILOX"
            " : (tensor<4xui32>) -> (tensor<4xui32>, tensor<4xui32>)",
            "iree takes Philox of 2 or 3 words of ui64 and elements of 8 bits or more,"
            " got tensor<4xui32> and ui32",
        ),
        (
            "%0, %1 = stablehlo.custom_call @ApproxTopK(%x, %x, %z, %z) {called_computations ="
            " [@before], mhlo.backend_config = {reduction_dim = 0 : i64}} : (tensor<4xui32>,"
            " tensor<4xui32>, tensor<ui32>, tensor<ui32>) -> (tensor<4xui32>, tensor<4xui32>)",
            "iree takes ApproxTopK of elements with their places alone",
        ),
    ],
)
def test_forms_without_a_rewriting_are_refused(operation: str, message: str) -> None:
    text = f"""
    func.func private @before(%a: tensor<ui32>, %b: tensor<ui32>, %c: tensor<ui32>,
        %d: tensor<ui32>) -> tensor<i1> {{
      %0 = stablehlo.compare LT, %a, %b : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      return %0 : tensor<i1>
    }}
    func.func @main(%x: tensor<4xui32>, %z: tensor<ui32>) -> tensor<4xui32> {{
      {operation}
      return %1 : tensor<4xui32>
    }}"""
    with pytest.raises(UnsupportedError, match=f"^{re.escape(message)}$"):
        IREE.compile(text)
