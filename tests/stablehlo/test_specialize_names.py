"""Names of specialized modules: what is made anew takes no name that the text has."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stablehlo.test_specialize import everything, static
from topos.runtimes.interpreter import run_text
from topos.stablehlo.fresh_names import FreshNames
from topos.stablehlo.printer import printed

TWO = """
func.func private @two(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %0 = stablehlo.add %n, %n : tensor<i32>
  return %n, %0 : tensor<i32>, tensor<i32>
}
"""


def test_a_fresh_name_is_one_that_nothing_has() -> None:
    fresh = FreshNames(["%x", "%half", "%half_1", "%0", "@f"])
    assert [fresh("%half"), fresh("%half"), fresh("%free")] == ["%half_2", "%half_3", "%free"]
    # What begins with a digit is a number in MLIR, and a mark tells one of several results.
    assert [fresh("%1"), fresh("%0"), fresh("%3#1"), fresh("%x#1")] == [
        "%1",
        "%v0",
        "%v3_1",
        "%x_1",
    ]
    assert fresh.results(("%x#0", "%x#1")) == ("%x_2#0", "%x_2#1")
    assert fresh.results(("",)) == ("",)


@pytest.mark.parametrize("taken", ["%c_1", "%result1_of_c"])
def test_the_constants_of_a_call_take_no_name_of_the_text(taken: str) -> None:
    text = f"""func.func @main(%x: tensor<?xf32>) -> (tensor<i32>, tensor<i32>, tensor<i32>) {{
      {taken} = stablehlo.constant dense<7> : tensor<i32>
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %c:2 = call @two(%n) : (tensor<i32>) -> (tensor<i32>, tensor<i32>)
      return %c#0, %c#1, {taken} : tensor<i32>, tensor<i32>, tensor<i32>
    }}{TWO}"""
    made = static(text, (3,))
    assert [int(each) for each in run_text(printed(made), [np.zeros(3, np.float32)])] == [3, 6, 7]


SLICED = """func.func @main(%x: tensor<?xf32>, %s: tensor<1xi64>, {0}: tensor<f32>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<f32>) {{
  %two = stablehlo.constant dense<2> : tensor<1xi64>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %t = stablehlo.add %s, %two : tensor<1xi64>
  %r:1 = stablehlo.real_dynamic_slice %x, %s, %t, %one
      : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>
  %q = stablehlo.real_dynamic_slice %x, %s, %t, %one
      : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>
  stablehlo.real_dynamic_slice %x, %s, %t, %one
      : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>
  stablehlo.real_dynamic_slice %x, %s, %t, %one
      : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>
  return %r, %q, {0} : tensor<2xf32>, tensor<2xf32>, tensor<f32>
}}"""


@pytest.mark.parametrize("taken", ["%start0_of_r", "%part", "%start_1"])
def test_the_starts_of_a_slice_take_no_name_of_the_text(taken: str) -> None:
    made = static(SLICED.format(taken), (5,), (1,), (), elements=["f32", "i64", "f32"])
    one, two, kept = run_text(
        printed(made), [np.arange(5, dtype=np.float32), np.array([2]), np.float32(9)]
    )
    assert one.tolist() == two.tolist() == [2, 3]
    assert kept == 9


def window(result: str, body: str) -> str:
    return f"""{result}"stablehlo.custom_call"(%v, %i, %one, %one, %one, %one, %pad)
      {{call_target_name = "stablehlo.dynamic_reduce_window", called_computations = [@{body}]}}
      : (tensor<?xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>,
         tensor<1x2xi64>) -> tensor<?xf32>"""


SIZES = """%one = stablehlo.constant dense<1> : tensor<1xi64>
  %pad = stablehlo.constant dense<0> : tensor<1x2xi64>
"""
SUM = """
func.func private @sum(%a: tensor<f32>, %in_r_a: tensor<f32>) -> tensor<f32> {
  %one = stablehlo.add %a, %in_r_a : tensor<f32>
  return %one : tensor<f32>
}
"""


def test_the_body_of_a_window_takes_no_name_of_its_caller() -> None:
    text = f"""func.func @main(%v: tensor<?xf32>, %in_r_a: tensor<f32>) -> tensor<?xf32> {{
      {SIZES} %i = stablehlo.add %in_r_a, %in_r_a : tensor<f32>
      {window("", "sum")}
      {window("", "sum")}
      {window("%r = ", "sum")}
      return %r : tensor<?xf32>
    }}{SUM}"""
    made = static(text, (3,), ())
    (got,) = run_text(printed(made), [np.arange(3, dtype=np.float32), np.float32(1)])
    np.testing.assert_array_equal(got, [2, 3, 4])
    windows = [each for each in everything(made.functions[0].body) if "reduce_w" in each.name]
    # A runtime knows a sum by the operation itself.
    assert [len(each.regions[0].blocks[0].operations) for each in windows] == [2, 2, 2]


def nested(levels: int) -> str:
    """Returns windows whose bodies have two windows each, a level deeper."""
    texts = [
        f"""func.func @main(%v: tensor<?xf32>, %i: tensor<f32>) -> tensor<?xf32> {{
          {SIZES} {window("%r = ", "f0")}
          return %r : tensor<?xf32>
        }}"""
    ]
    for level in range(levels):
        head = f"@f{level}(%i: tensor<f32>, %b: tensor<f32>) -> tensor<f32>"
        texts.append(f"""func.func private {head} {{
          {SIZES} %w = stablehlo.reshape %b : (tensor<f32>) -> tensor<1xf32>
          %v = tensor.cast %w : tensor<1xf32> to tensor<?xf32>
          {window("%r = ", f"f{level + 1}")}
          {window("%q = ", f"f{level + 1}")}
          %s = stablehlo.add %r, %q : tensor<?xf32>
          %t = stablehlo.reduce(%s init: %i) applies stablehlo.add across dimensions = [0]
              : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
          return %t : tensor<f32>
        }}""")
    return "\n".join([*texts, SUM.replace("@sum", f"@f{levels}")])


def test_windows_in_the_bodies_of_windows_grow_with_their_number() -> None:
    sizes = [len(printed(static(nested(levels), (3,), ()))) for levels in (3, 6)]
    assert sizes[1] < 3 * sizes[0]
    made = static(nested(2), (3,), ())
    (got,) = run_text(printed(made), [np.arange(3, dtype=np.float32), np.float32(0)])
    np.testing.assert_array_equal(got, [0, 4, 8])
