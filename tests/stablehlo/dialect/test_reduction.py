"""The rules of reduce and map."""

from __future__ import annotations

import pytest

from tests.stablehlo.rule_texts import (
    Broken,
    accept,
    broken,
    demand_refused,
    mlir_accepts,
)

REDUCE = """
func.func @f(%a: tensor<2x3x4xf32>, %z: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0, 2>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}"""
MAP = """
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xi32>) {
  %r = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<i32>):
      %s = stablehlo.negate %x : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  return
}"""
BROKEN = broken(
    REDUCE,
    ("<i64: 0, 2>", "<i64: 0, 3>", "needs dimensions from 0 to below 3, got 3"),
    ("<i64: 0, 2>", "<i64: 0, 0>", "needs distinct dimensions, got [0, 0]"),
    ("<i64: 0, 2>", "<i32: 0, 2>", "needs an array<i64: ...> as dimensions, got (0, 2)"),
    ("dimensions = array<i64: 0, 2>", "", "needs an array<i64: ...> as dimensions, got None"),
    ("-> tensor<3xf32>", "-> tensor<4xf32>", "results in tensor<3xf32>, got tensor<4xf32>"),
    ("-> tensor<3xf32>", "-> tensor<3xf64>", "results in tensor<3xf32>, got tensor<3xf64>"),
    ("tensor<2x3x4xf32>", "tensor<2x3x4xi32>", "needs a body that takes what tensor<2x3x4xi32>"),
    ("tensor<2x3x4xf32>", "tensor<*xf32>", "needs a ranked tensor as an input, got "),
    ("%z: tensor<f32>", "%z: tensor<3xf32>", "needs a body that returns the shape of tensor<3x"),
    ("%y: tensor<f32>", "%y: tensor<f32>, %v: tensor<f32>", "needs a body of 2 arguments, got 3"),
    (
        "%y: tensor<f32>):\n      %s = stablehlo.add %x, %y",
        "%y: tensor<i32>):\n      %s = stablehlo.add %x, %x",
        "needs a body that takes what it returns, tensor<f32>, got tensor<i32>",
    ),
    ("return %s : tensor<f32>", "return", "needs a body that returns 1 tensors, got 0"),
)
BROKEN_MAP = broken(
    MAP,
    ("<i64: 0, 1>", "<i64: 1, 0>", "needs every one of 2 axes in order as dimensions, got [1, 0]"),
    ("<i64: 0, 1>", "<i64: 0>", "needs every one of 2 axes in order as dimensions, got [0]"),
    ("%y: tensor<i32>", "%y: tensor<i64>", "needs a body that takes tensor<i32>, got tensor<i64>"),
    ("%y: tensor<i32>", "%y: tensor<2xi32>", "needs a body that takes tensor<i32>, got tensor<2x"),
    (", %y: tensor<i32>", "", "needs a body of 2 arguments, got 1"),
    ("return %s : tensor<f32>", "return %s, %s : tensor<f32>, tensor<f32>", "needs a body that re"),
    ("tensor<2x3xi32>", "tensor<2x4xi32>", "needs operands of one shape, got tensor<2x3xf32> and"),
    ("-> tensor<2x3xf32>", "-> tensor<2x3xi32>", "results in tensor<2x3xf32>, got "),
)


def _consistent(text: str) -> str:
    """Returns `text` with the types after the colon as the function's arguments have them."""
    return text.replace(
        "tensor<2x3x4xf32>, tensor<f32>) ->", "tensor<2x3x4xf32>, tensor<3xf32>) ->"
    )


def test_a_reduction_is_accepted_with_known_and_dynamic_extents() -> None:
    accept(REDUCE)
    accept(REDUCE.replace("tensor<2x3x4xf32>", "tensor<?x?x4xf32>"))
    accept(REDUCE.replace("-> tensor<3xf32>", "-> tensor<?xf32>"))
    accept(REDUCE.replace("tensor<2x3x4xf32>", "tensor<2x?x?xf32, #stablehlo.bounds<?, 3, 4>>"))


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.reason)
def test_a_broken_reduction_is_refused(case: Broken) -> None:
    text = _consistent(case.text) if "%z: tensor<3xf32>" in case.text else case.text
    demand_refused(case._replace(text=text), "stablehlo.reduce")
    assert not mlir_accepts(text)


def test_a_bound_of_the_input_passes_to_the_result() -> None:
    text = REDUCE.replace("tensor<2x3x4xf32>", "tensor<2x?x?xf32, #stablehlo.bounds<?, 3, 4>>")
    text = text.replace("-> tensor<3xf32>", "-> tensor<4xf32>")
    case = Broken(text, "results in tensor<?xf32, #stablehlo.bounds<3>>, got tensor<4xf32>")
    demand_refused(case, "stablehlo.reduce")
    assert not mlir_accepts(text)


def part(extents: str, argument: str, accumulated: str) -> str:
    """Returns a reduction of the last axis in parts of `extents`, summed as elements."""
    text = REDUCE.replace("<i64: 0, 2>", "<i64: 2>").replace(
        "-> tensor<3xf32>", "-> tensor<2x3xf32>"
    )
    text = text.replace("%x, %y", "%x, %x").replace("%y: tensor<f32>", "%y: " + argument)
    text = text.replace("%x: tensor<f32>", f"%x: {accumulated}")
    return text.replace("tensor<f32>", f"tensor<{extents}f32>")


def test_an_argument_may_keep_axes_that_the_result_has() -> None:
    for extents in ("", "2x", "3x", "2x3x"):
        text = part(extents, "tensor<f32>", "tensor<f32>")
        accept(text)
        assert mlir_accepts(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (part("4x", "tensor<f32>", "tensor<f32>"), "needs a body whose arguments are parts of "),
        (part("3x2x", "tensor<f32>", "tensor<f32>"), "needs a body whose arguments are parts of "),
        (part("2x3x1x", "tensor<f32>", "tensor<f32>"), "needs a body whose arguments have rank 2 "),
        (part("", "tensor<?xf32>", "tensor<f32>"), "needs a body that takes what it returns, "),
        (
            REDUCE.replace("%x: tensor<f32>", "%x: tensor<f64>").replace("%x, %y", "%y, %y"),
            "needs a body that takes what it returns, tensor<f32>, got tensor<f64>",
        ),
        (
            REDUCE.replace(
                "stablehlo.add %x, %y : tensor<f32>", "stablehlo.tuple %x : tuple<tensor<f32>>"
            ).replace("return %s : tensor<f32>", "return %s : tuple<tensor<f32>>"),
            "needs a body that returns tensors, got tuple<tensor<f32>>",
        ),
    ],
)
def test_arguments_of_a_body_are_parts_of_the_result(text: str, reason: str) -> None:
    demand_refused(Broken(text, reason), "stablehlo.reduce")
    assert not mlir_accepts(text)


def test_a_body_has_a_block() -> None:
    start, end = REDUCE.index("({"), REDUCE.index("})")
    text = REDUCE[: start + 2] + REDUCE[end:]
    demand_refused(Broken(text, "needs a region that is not empty"), "stablehlo.reduce")
    assert not mlir_accepts(text)


@pytest.mark.parametrize(
    ("taken", "accumulated", "accepted"),
    [
        ("i8", "i32", True),
        ("i32", "i8", False),
        ("f32", "f16", True),
        ("f16", "f64", True),
        ("i1", "ui8", True),
        ("f32", "i32", False),
        ("i32", "f32", False),
        ("complex<f32>", "complex<f64>", True),
        ("complex<f64>", "complex<f32>", False),
        ("f32", "complex<f32>", False),
    ],
)
def test_a_body_accumulates_in_an_element_that_the_inputs_promote_to(
    taken: str, accumulated: str, accepted: bool
) -> None:
    text = REDUCE.replace("f32", taken)
    body = text.replace(f"tensor<{taken}>", f"tensor<{accumulated}>")
    text = body.replace(f"%z: tensor<{accumulated}>", f"%z: tensor<{taken}>")
    text = text.replace(f", tensor<{accumulated}>) ->", f", tensor<{taken}>) ->")
    text = text.replace(f"-> tensor<3x{taken}>", f"-> tensor<3x{accumulated}>")
    assert mlir_accepts(text) == accepted
    if accepted:
        accept(text)
    else:
        case = Broken(text, "needs a body that returns what ")
        demand_refused(case, "stablehlo.reduce")


def test_a_reduction_has_an_initial_value_for_each_input() -> None:
    text = REDUCE.replace("(%a, %z)", "(%a)").replace(
        "tensor<2x3x4xf32>, tensor<f32>) ->", "tensor<2x3x4xf32>) ->"
    )
    case = Broken(text, "needs as many initial values as inputs, got 1 operands")
    demand_refused(case, "stablehlo.reduce")


def test_a_map_has_operands_and_a_scalar_of_them() -> None:
    none = """
    func.func @f() {
      %r = "stablehlo.map"() <{dimensions = array<i64>}> ({
          %c = stablehlo.constant dense<true> : tensor<i1>
          stablehlo.return %c : tensor<i1>
      }) : () -> tensor<i1>
      return
    }"""
    demand_refused(Broken(none, "needs 1 operand or more, got 0"), "stablehlo.map")
    assert not mlir_accepts(none)
    wide = MAP.replace(
        "stablehlo.negate %x : tensor<f32>", "stablehlo.constant dense<1.0> : tensor<1xf32>"
    )
    wide = wide.replace("return %s : tensor<f32>", "return %s : tensor<1xf32>")
    case = Broken(wide, "needs a body that returns a scalar, got tensor<1xf32>")
    demand_refused(case, "stablehlo.map")
    assert not mlir_accepts(wide)


@pytest.mark.parametrize("case", BROKEN_MAP, ids=lambda case: case.reason)
def test_a_broken_map_is_refused(case: Broken) -> None:
    accept(MAP)
    demand_refused(case, "stablehlo.map")
    assert not mlir_accepts(case.text)
