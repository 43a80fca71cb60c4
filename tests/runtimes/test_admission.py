"""Modules that would end the process of XLA or IREE, and are refused instead."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from topos.errors import CompileError, ParseError, UnsupportedError, VerifyError
from topos.runtimes import load

pytest.importorskip("jax")

SUM = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
CALLED = """
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = func.call @f(%a) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
"""
ROUND = (
    CALLED
    + CALLED.replace("@f(", "@g(").replace("@main", "@f")
    + (CALLED.replace("@f(", "@f(").replace("@main", "@g"))
)


@pytest.mark.parametrize("text", [CALLED, SUM])
def test_a_function_without_a_body_is_refused_called_or_not(text: str) -> None:
    with pytest.raises(VerifyError, match=r"^a function needs a body to run, and @f has none"):
        load("xla").compile(text + "func.func private @f(tensor<f32>) -> tensor<f32>")


@pytest.mark.parametrize("runtime", ["xla", "iree", "reference"])
@pytest.mark.parametrize(
    ("text", "path"),
    [(CALLED.replace("@f", "@main"), "@main calls @main"), (ROUND, "@f calls @g calls @f")],
)
def test_a_function_that_reaches_itself_is_refused(runtime: str, text: str, path: str) -> None:
    pytest.importorskip("iree.compiler" if runtime == "iree" else "jax")
    with pytest.raises(UnsupportedError, match="a function must not reach itself") as caught:
        load(runtime).compile(text)
    assert str(caught.value).endswith((path, "@g calls @f calls @g"))


@pytest.mark.parametrize("runtime", ["xla", "iree"])
def test_a_tensor_beyond_every_memory_is_refused(runtime: str) -> None:
    pytest.importorskip("iree.compiler" if runtime == "iree" else "jax")
    text = """
    func.func @main() -> tensor<4611686018427387904xf32> {
      %0 = stablehlo.constant dense<1.0> : tensor<4611686018427387904xf32>
      return %0 : tensor<4611686018427387904xf32>
    }
    """
    message = r"at most 2\*\*48 bytes, got tensor<4611686018427387904xf32>$"
    with pytest.raises(UnsupportedError, match=message):
        load(runtime).compile(text)


@pytest.mark.parametrize("runtime", ["xla", "iree", "reference"])
def test_half_a_character_is_told_with_its_place(runtime: str) -> None:
    pytest.importorskip("iree.compiler" if runtime == "iree" else "jax")
    with pytest.raises(ParseError) as caught:
        load(runtime).compile(SUM + "// é\ud800\n")
    assert (caught.value.line, caught.value.column) == (6, 5)
    assert caught.value.source_line == "// é?"
    assert caught.value.reason == "a module needs Unicode text, got a lone surrogate '\\ud800'"


# Every name that MLIR writes in quotes; the bindings end their process at a byte that is no UTF-8.
NAMED = (
    'func.func @main(%a: tensor<f32> {"x.NAME" = 5}) -> tensor<f32> { return %a : tensor<f32> }',
    'func.func @main(%a: tensor<f32>) { func.call @"NAME"() : () -> () return }',
    'func.func @main() { stablehlo.custom_call @"NAME"() : () -> () return }',
    """func.func @main() {
      "stablehlo.custom_call"() {call_target_name = "NAME"} : () -> () return }""",
)


@pytest.mark.parametrize("runtime", ["xla", "iree", "reference"])
@pytest.mark.parametrize("text", NAMED)
def test_a_name_that_is_no_text_is_refused_before_the_bindings_see_it(
    runtime: str, text: str
) -> None:
    pytest.importorskip("iree.compiler" if runtime == "iree" else "jax")
    with pytest.raises(ParseError, match="a name needs UTF-8, got ") as caught:
        load(runtime).compile(text.replace("NAME", r"n\C3"))
    assert caught.value.source_line
    plain = text.replace("NAME", r"n\C3\A9 é")
    with suppress(UnsupportedError, VerifyError, CompileError):
        load(runtime).compile(plain)


@pytest.mark.parametrize("runtime", ["xla", "iree", "reference"])
def test_what_is_no_name_may_hold_any_bytes(runtime: str) -> None:
    pytest.importorskip("iree.compiler" if runtime == "iree" else "jax")
    # As a backend's configuration does.
    value = SUM.replace("{", r'attributes {x.y = "\C3"} {', 1)
    assert load(runtime).compile(value).signature.results


@pytest.mark.parametrize("runtime", ["xla", "iree", "reference"])
def test_a_main_that_is_no_function_is_refused(runtime: str) -> None:
    pytest.importorskip("iree.compiler" if runtime == "iree" else "jax")
    with pytest.raises(VerifyError, match=r"needs @main to be a function, got builtin\.module$"):
        load(runtime).compile("module { module @main {} }")


def test_attributes_of_the_frontend_that_are_no_dictionary_are_left_alone() -> None:
    text = SUM.replace("%a: tensor<4xf32>", "%a: tensor<4xf32> {mhlo.frontend_attributes = 5}")
    ones = np.ones(4, np.float32)
    assert load("xla").compile(text)(ones, ones)[0].tolist() == [2.0] * 4


DIVISION = """
func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.constant dense<CONSTANT> : tensor<i32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<2xi32>
  %2 = stablehlo.constant dense<[7, -7]> : tensor<2xi32>
  %3 = stablehlo.add %2, %2 : tensor<2xi32>
  %4 = stablehlo.OPERATION DIVIDEND, %1 : tensor<2xi32>
  return %4 : tensor<2xi32>
}
"""


@pytest.mark.parametrize(
    ("operation", "quotient", "by_zero"),
    [("divide", [2, -2], [-1, -1]), ("remainder", [1, -1], [7, -7])],
)
def test_an_integer_division_that_xla_would_fold_by_zero_is_refused(
    operation: str, quotient: list[int], by_zero: list[int]
) -> None:
    text = DIVISION.replace("OPERATION", operation)
    message = f"^xla ends its process at stablehlo.{operation} of constant integers by zero$"
    argument = np.array([7, -7], np.int32)
    for constant in ("%2", "%3"):
        with pytest.raises(UnsupportedError, match=message):
            load("xla").compile(text.replace("CONSTANT", "0").replace("DIVIDEND", constant))
    for divisor, expected in (("3", quotient), ("0", by_zero)):
        (result,) = load("xla").compile(
            text.replace("CONSTANT", divisor).replace("DIVIDEND", "%a")
        )(argument)
        assert result.tolist() == expected


@pytest.mark.parametrize("text", ["dense<(2.0, 4.0)>", "dense<[(2.0, 4.0), (2.0, 4.0)]>"])
def test_a_division_of_complex_constants_runs(text: str) -> None:
    divided = f"""func.func @main() -> tensor<2xcomplex<f32>> {{
      %a = stablehlo.constant {text} : tensor<2xcomplex<f32>>
      %b = stablehlo.constant dense<(0.0, 2.0)> : tensor<2xcomplex<f32>>
      %0 = stablehlo.divide %a, %b : tensor<2xcomplex<f32>>
      return %0 : tensor<2xcomplex<f32>>
    }}"""
    (result,) = load("xla").compile(divided)()
    assert result.tolist() == [2 - 1j, 2 - 1j]


def test_a_computation_that_is_absent_is_refused_beside_one_that_is_there() -> None:
    text = CALLED.replace("func.call @f(%a)", "stablehlo.custom_call @f(%a) {CALLS}")
    text = text.replace("CALLS", "called_computations = [@main, @other]")
    with pytest.raises(VerifyError, match=r"^custom_call needs a function, got @other among its"):
        load("xla").compile(text)
