"""The rules of the CHLO operations that work element by element."""

from __future__ import annotations

import pytest

from tests.stablehlo.rule_texts import (
    Broken,
    accept,
    broken,
    demand_refused,
    mlir_accepts,
)
from topos.errors import ParseError, VerifyError

ELEMENTS = ("f32", "bf16", "f8E5M2", "i32", "ui8", "i1", "complex<f32>")
# The operations with one operand, or two of one type, and the elements that they refuse.
UNARY = {
    **dict.fromkeys(
        [
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "bessel_i1e",
            "conj",
            "cosh",
            "sinh",
            "square",
            "tan",
        ],
        ("i32", "ui8", "i1"),
    ),
    **dict.fromkeys(
        ["digamma", "erf", "erf_inv", "erfc", "lgamma"], ("i32", "ui8", "i1", "complex<f32>")
    ),
    "_asin_acos_kernel": tuple(element for element in ELEMENTS if element != "complex<f32>"),
}
BINARY = {
    **dict.fromkeys(["next_after", "polygamma", "zeta"], ("i32", "ui8", "i1", "complex<f32>")),
    "mulhi": ("f32", "bf16", "f8E5M2", "i1", "complex<f32>"),
}
BROADCAST = {
    **dict.fromkeys(
        [
            "add",
            "atan2",
            "divide",
            "maximum",
            "minimum",
            "multiply",
            "next_after",
            "polygamma",
            "power",
            "remainder",
            "shift_left",
            "shift_right_arithmetic",
            "shift_right_logical",
            "subtract",
        ],
        (),
    ),
    **dict.fromkeys(["and", "or", "xor"], ("f32", "bf16", "f8E5M2", "complex<f32>")),
    "zeta": ("i32", "ui8", "i1", "complex<f32>"),
}


def unary(name: str, operand: str, result: str) -> str:
    return f"""
func.func @f(%a: tensor<{operand}>) {{
  %r = chlo.{name} %a : tensor<{operand}> -> tensor<{result}>
  return
}}"""


def binary(name: str, left: str, right: str, result: str) -> str:
    return f"""
func.func @f(%a: tensor<{left}>, %b: tensor<{right}>) {{
  %r = chlo.{name} %a, %b : tensor<{left}>, tensor<{right}> -> tensor<{result}>
  return
}}"""


def broadcast(name: str, left: str, right: str, result: str, fields: str = "") -> str:
    return f"""
func.func @f(%a: tensor<{left}>, %b: tensor<{right}>) {{
  %r = "chlo.{name}"(%a, %b) <{{{fields}}}>
    : (tensor<{left}>, tensor<{right}>) -> tensor<{result}>
  return
}}"""


def judge(text: str, operation: str, reason: str) -> None:
    """Asserts that `text` is refused for `reason`, or accepted where that is empty."""
    assert mlir_accepts(text) == (not reason)
    if reason:
        demand_refused(Broken(text, reason), operation)
    else:
        accept(text)


@pytest.mark.parametrize("name", UNARY)
def test_an_operation_of_one_operand_takes_its_elements(name: str) -> None:
    for element in ELEMENTS:
        reason = f"takes no elements of {element} as operand" if element in UNARY[name] else ""
        judge(unary(name, f"2x?x{element}", f"2x3x{element}"), f"chlo.{name}", reason)
    taken = next(element for element in ELEMENTS if element not in UNARY[name])
    text = unary(name, f"2x3x{taken}", f"2x4x{taken}")
    judge(text, f"chlo.{name}", f"results in tensor<2x3x{taken}>, got tensor<2x4x{taken}>")
    accept(unary(name, f"*x{taken}", f"2x4x{taken}"))


@pytest.mark.parametrize("name", BINARY)
def test_an_operation_of_two_operands_takes_its_elements(name: str) -> None:
    for element in ELEMENTS:
        reason = f"takes no elements of {element} as operand" if element in BINARY[name] else ""
        operand = f"2x{element}"
        judge(binary(name, operand, f"?x{element}", operand), f"chlo.{name}", reason)
    one, other = [element for element in ELEMENTS if element not in BINARY[name]][:2]
    text = binary(name, f"2x{one}", f"2x{other}", f"2x{one}")
    judge(text, f"chlo.{name}", "needs operands of one element, got ")
    text = binary(name, f"2x{one}", f"3x{one}", f"2x{one}")
    judge(text, f"chlo.{name}", "needs operands of one shape, got ")


@pytest.mark.parametrize("name", BROADCAST)
def test_a_broadcasting_operation_takes_its_elements(name: str) -> None:
    for element in ELEMENTS:
        reason = f"takes no elements of {element} as operand" if element in BROADCAST[name] else ""
        text = broadcast(f"broadcast_{name}", f"2x1x{element}", f"3x{element}", f"2x3x{element}")
        judge(text, f"chlo.broadcast_{name}", reason)
    one, other = [element for element in ELEMENTS if element not in BROADCAST[name]][:2]
    text = broadcast(f"broadcast_{name}", f"2x{one}", f"2x{other}", f"2x{one}")
    judge(text, f"chlo.broadcast_{name}", "needs operands of one element, got ")


@pytest.mark.parametrize(
    ("left", "right", "result", "reason"),
    [
        ("2x3xf32", "3xf32", "2x3xf32", ""),
        ("2x1xf32", "4x1x3xf32", "4x2x3xf32", ""),
        ("f32", "f32", "f32", ""),
        ("2x?xf32", "1xf32", "2x5xf32", ""),
        ("2x?xf32", "3xf32", "2x3xf32", ""),
        ("0xf32", "1xf32", "0xf32", ""),
        ("*xf32", "3xf32", "2x3xf32", ""),
        ("?x2xf32, #stablehlo.bounds<5, ?>", "2xf32", "4x2xf32", ""),
        ("?xf32, #stablehlo.bounds<5>", "7xf32", "7xf32", ""),
        ("?xf32, #stablehlo.bounds<5>", "1xf32", "7xf32", "results in tensor<?xf32, #stablehlo"),
        ("2x?xf32", "3xf32", "2x4xf32", "results in tensor<2x3xf32>, got tensor<2x4xf32>"),
        ("2x3xf32", "3xf32", "3xf32", "results in tensor<2x3xf32>, got tensor<3xf32>"),
        ("2x3xf32", "3xf32", "2x3xf64", "results in tensor<2x3xf32>, got tensor<2x3xf64>"),
    ],
)
def test_operands_are_broadcast_from_their_last_axis(
    left: str, right: str, result: str, reason: str
) -> None:
    text = broadcast("broadcast_add", left, right, result)
    judge(text, "chlo.broadcast_add", reason)


@pytest.mark.parametrize(
    ("small", "axes", "reason"),
    [
        ("2xf32", "0", ""),
        ("3xf32", "1", ""),
        ("1xf32", "0", ""),
        ("2x4xf32", "0, 2", ""),
        ("2xf32", "1", "cannot broadcast tensor<2xf32>, tensor<2x3x4xf32> together"),
        ("2xf32", "0, 1", "needs an axis for each of tensor<2xf32> in broadcast_dimensions, got "),
        ("2xf32", "3", "needs broadcast_dimensions from 0 to below 3, got 3"),
        ("2x2xf32", "0, 0", "needs distinct broadcast_dimensions, got [0, 0]"),
    ],
)
def test_operands_are_broadcast_along_the_axes_that_are_named(
    small: str, axes: str, reason: str
) -> None:
    fields = f"broadcast_dimensions = array<i64: {axes}>"
    text = broadcast("broadcast_add", small, "2x3x4xf32", "2x3x4xf32", fields)
    if reason:
        demand_refused(Broken(text, reason), "chlo.broadcast_add")
    else:
        judge(text, "chlo.broadcast_add", "")


def test_extents_that_no_run_could_broadcast_are_refused() -> None:
    text = broadcast("broadcast_add", "2xf32", "3xf32", "3xf32")
    reason = "cannot broadcast tensor<2xf32>, tensor<3xf32> together"
    demand_refused(Broken(text, reason), "chlo.broadcast_add")


def test_a_broadcasting_comparison_has_a_direction() -> None:
    fields = "comparison_direction = #chlo<comparison_direction LT>"
    text = broadcast("broadcast_compare", "2x1xf32", "3xf32", "2x3xi1", fields)
    judge(text, "chlo.broadcast_compare", "")
    judge(text.replace(fields, ""), "chlo.broadcast_compare", "needs the attribute comparison_dir")
    judge(text.replace("xi1", "xf32"), "chlo.broadcast_compare", "results in tensor<2x3xi1>, got ")


def test_broadcasting_complex_joins_two_real_operands() -> None:
    text = broadcast("broadcast_complex", "2x1xf64", "3xf64", "2x3xcomplex<f64>")
    judge(text, "chlo.broadcast_complex", "")
    other = text.replace("xcomplex<f64>", "xcomplex<f32>")
    judge(other, "chlo.broadcast_complex", "results in tensor<2x3xcomplex<f64>>, got ")


def test_broadcasting_select_joins_mask_and_values() -> None:
    text = """
    func.func @f(%p: tensor<3xi1>, %a: tensor<2x1xf32>, %b: tensor<f32>) {
      %r = "chlo.broadcast_select"(%p, %a, %b)
        : (tensor<3xi1>, tensor<2x1xf32>, tensor<f32>) -> tensor<2x3xf32>
      return
    }"""
    judge(text, "chlo.broadcast_select", "")
    for case in broken(
        text,
        ("tensor<3xi1>", "tensor<3xi32>", "takes no elements of i32 as mask"),
        ("tensor<f32>", "tensor<f64>", "needs operands of one element, got "),
        ("-> tensor<2x3xf32>", "-> tensor<2x4xf32>", "results in tensor<2x3xf32>, got "),
    ):
        judge(case.text, "chlo.broadcast_select", case.reason)


@pytest.mark.parametrize("name", ["is_inf", "is_neg_inf", "is_pos_inf"])
def test_a_question_has_truth_values_as_answer(name: str) -> None:
    judge(unary(name, "2x3xf32", "2x3xi1"), f"chlo.{name}", "")
    judge(unary(name, "2x3xi32", "2x3xi1"), f"chlo.{name}", "takes no elements of i32 as operand")
    judge(unary(name, "2x3xf32", "2x3xf32"), f"chlo.{name}", "results in tensor<2x3xi1>, got ")


def test_a_constant_has_the_type_that_it_states() -> None:
    text = "func.func @f() {\n  %r = chlo.constant dense<1.0> : tensor<2xf32>\n  return\n}"
    judge(text, "chlo.constant", "")
    generic = """
    func.func @f() {
      %r = "chlo.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
      return
    }"""
    judge(generic, "chlo.constant", "results in tensor<2xf32>, got tensor<3xf32>")
    for value, reason in (
        ("1.0 : f32", "needs a dense constant, got "),
        ("dense<1.0> : tensor<?xf32>", "needs a constant of known extents, got tensor<?xf32>"),
    ):
        broken_one = generic.replace("dense<1.0> : tensor<2xf32>", value)
        with pytest.raises((ParseError, VerifyError)) as caught:
            accept(broken_one)
        assert isinstance(caught.value, ParseError) or reason in str(caught.value)
        assert not mlir_accepts(broken_one)


def test_a_constant_alike_has_the_element_of_its_value() -> None:
    text = """
    func.func @f(%a: tensor<2x?xi32>) {
      %r = "chlo.constant_like"(%a) <{value = 1.5 : f32}> : (tensor<2x?xi32>) -> tensor<2x3xf32>
      return
    }"""
    judge(text, "chlo.constant_like", "")
    for case in broken(
        text,
        ("1.5 : f32", "1.5 : f64", "results in tensor<2x?xf64>, got "),
        ("1.5 : f32", "1 : i64", "results in tensor<2x?xi64>, got tensor<2x3xf32>"),
        ("tensor<2x3xf32>", "tensor<3x3xf32>", "results in tensor<2x?xf32>, got tensor<3x3xf32>"),
        ("value = 1.5 : f32", "", "needs the attribute value"),
    ):
        judge(case.text, "chlo.constant_like", case.reason)
