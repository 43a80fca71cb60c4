"""Specialization: every type static, for arguments of known shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tests.stablehlo.dynamic_texts import (
    BOUNDED,
    CALLED_TWICE,
    CALLED_WITH_NUMBERS,
    CARRIED,
    GROWING,
    TENSORFLOW,
)
from topos.errors import ArgumentError, TextError, UnsupportedError, VerifyError
from topos.runtimes.interpreter import run_text
from topos.stablehlo.ir import Dense, Module, Operation, Region, Tensor
from topos.stablehlo.printer import printed
from topos.stablehlo.read import parsed, read
from topos.stablehlo.specialize import specialized


def static(text: str, *shapes: tuple[int, ...], elements: Sequence[str] = ()) -> Module:
    """Returns a text specialized for arguments of `shapes`, verified once more.

    They have the elements `elements`, or all f32.
    """
    types = map(Tensor, shapes, elements or ["f32"] * len(shapes))
    made = specialized(read(text), [*types])
    assert "?" not in printed(made)
    return read(printed(made)) and made


def everything(region: Region | None) -> Iterator[Operation]:
    for block in region.blocks if region else ():
        for operation in block.operations:
            yield operation
            for inner in operation.regions:
                yield from everything(inner)


def names(module: Module) -> list[str]:
    return [each.name for function in module.functions for each in everything(function.body)]


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_a_batch_of_any_size_runs_through_a_layer_of_tensorflow(batch: int) -> None:
    module = static(TENSORFLOW, (batch, 2, 2))
    x = np.arange(batch * 4, dtype=np.float32).reshape(batch, 2, 2)
    (got,) = run_text(printed(module), [x])
    wanted = np.maximum(x.reshape(batch, 4) @ np.full((4, 3), 0.5) + [1, 2, -9], 0)
    np.testing.assert_array_equal(got, wanted.astype(np.float32))
    # What only computed sizes is gone.
    assert not {"stablehlo.divide", "stablehlo.get_dimension_size"} & {*names(module)}


def test_a_bounded_batch_has_as_many_rows_as_are_given() -> None:
    x = np.ones((3, 2), np.float32)
    (got,) = run_text(printed(static(BOUNDED, (3, 2))), [x])
    np.testing.assert_array_equal(got, [6, 6])
    with pytest.raises(ArgumentError, match=r"argument 0 must be .*bounds<8, .>>, got tensor<9x2x"):
        static(BOUNDED, (9, 2))


def test_a_function_has_a_copy_for_each_signature() -> None:
    module = static(CALLED_TWICE, (2,), (3,))
    types = {each.name: each.arguments[0].type for each in module.functions}
    two, three = Tensor((2,), "f32"), Tensor((3,), "f32")
    assert types == {"main": two, "twice": two, "twice_2": three}
    assert {each.location for each in everything(module.functions[1].body)} == {"", "sum"}


def test_a_function_has_a_copy_for_each_size_and_none_for_other_numbers() -> None:
    module = static(CALLED_WITH_NUMBERS, (3,))
    filled = [each.name for each in module.functions if each.name.startswith("filled")]
    assert filled == ["filled", "filled_1"]
    results = run_text(printed(module), [np.zeros(3, np.float32)])
    for result, wanted in zip(results, ([2, 2, 2], [4, 4, 4], [4, 4]), strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_a_size_is_known_beyond_a_loop_and_a_branch() -> None:
    for given, made in ((2, 3), (5, 3), (3, 4)):
        (got,) = run_text(printed(static(CARRIED, (given,))), [np.zeros(given, np.float32)])
        np.testing.assert_array_equal(got, np.arange(made))


def test_a_loop_whose_shapes_change_is_refused() -> None:
    types = [Tensor((), "i32"), Tensor((2,), "f32")]
    with pytest.raises(VerifyError, match="while") as caught:
        specialized(read(GROWING), types)
    assert caught.value.line == 3


def test_a_size_that_is_computed_in_the_run_is_named() -> None:
    text = """func.func @main(%n: tensor<1xi32>) -> tensor<?xf32> {
      %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    with pytest.raises(UnsupportedError) as caught:
        static(text, (1,), elements=["i32"])
    assert caught.value.reason == (
        "stablehlo.dynamic_iota takes its output_shape from %n, "
        "which the shapes of the arguments do not tell"
    )
    text = text.replace("stablehlo.dynamic_iota %n, dim = 0", "stablehlo.custom_call @made(%n)")
    with pytest.raises(UnsupportedError, match=r"custom_call results in tensor<.xf32>, which the"):
        static(text, (1,), elements=["i32"])


def test_shapes_that_break_a_rule_are_refused_at_its_place() -> None:
    text = """func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.add %a, %b : tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    with pytest.raises(VerifyError, match=r"line 2, column 12: stablehlo.add needs"):
        static(text, (2,), (3,))


# Sizes that are two less than there are rows, signed and unsigned.
LESS = """func.func @main(%x: tensor<?xf32>, %s: tensor<2xui64>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<1xi64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %most = stablehlo.constant dense<9223372036854775807> : tensor<1xi64>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %i = stablehlo.convert %n : (tensor<i32>) -> tensor<i64>
  %j = stablehlo.subtract %i, %two : tensor<i64>
  %less = stablehlo.reshape %j : (tensor<i64>) -> tensor<1xi64>
  %wide = stablehlo.convert %less : (tensor<1xi64>) -> tensor<1xui64>
  %all = stablehlo.dynamic_iota %most, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>
  {}
  return
}}"""
BITS = """%r:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%s, {})
      {{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}}
      : (tensor<2xui64>, tensor<1x{}>) -> (tensor<2xui64>, tensor<?xui32>)"""
SHAPED = """%r = stablehlo.custom_call @f(%s, {})
      {{indices_of_shape_operands = dense<1> : tensor<1xi64>}}
      : (tensor<2xui64>, tensor<1x{}>) -> tensor<?xf32>"""


@pytest.mark.parametrize(
    ("operation", "refusal"),
    [
        (BITS.format("%less", "i64"), "rng_bit_generator .*, whose extent -1 is not from 0"),
        (BITS.format("%wide", "ui64"), "whose extent 18446744073709551615 is not from 0 to 92"),
        (SHAPED.format("%less", "i64"), "custom_call results in .*, whose extent -1 is not"),
        (SHAPED.format("%wide", "ui64"), "whose extent 18446744073709551615 is not from 0 to 92"),
        (
            """%r = stablehlo.dynamic_iota %wide, dim = 0 : (tensor<1xui64>) -> tensor<?xf32>""",
            "iota results in .*, whose extent 18446744073709551615 is not from 0",
        ),
        (
            """%r = stablehlo.concatenate %all, %x, dim = 0
                : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>""",
            "concatenate results in .*, whose extent 9223372036854775808 is not from 0",
        ),
        (
            """%r = stablehlo.dynamic_pad %x, %zero, %most, %none, %none : (tensor<?xf32>,
                tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>""",
            "pad results in .*, whose extent 9223372036854775808 is not from 0",
        ),
        (
            """%r = stablehlo.get_dimension_size %all, dim = 0 : (tensor<?xf32>) -> tensor<i32>""",
            "get_dimension_size has no i32 for the extent 9223372036854775807",
        ),
    ],
)
def test_an_extent_that_no_type_has_is_refused(operation: str, refusal: str) -> None:
    with pytest.raises(TextError, match=rf"^line 12, .*{refusal}"):
        static(LESS.format(operation), (1,), (2,), elements=["f32", "ui64"])


def test_the_shape_of_a_custom_call_is_an_operand() -> None:
    text = """func.func @main(%a: tensor<?x2xf32>) -> tensor<?xf32> {
      %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
      %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %0 = stablehlo.custom_call @made(%a, %s)
          {indices_of_shape_operands = dense<1> : tensor<1xi64>}
          : (tensor<?x2xf32>, tensor<1xi32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    (main,) = static(text, (5, 2)).functions
    (call, _) = everything(main.body)
    assert call.operands == ("%a",)
    assert call.result_types == (Tensor((5,), "f32"),)
    assert [*call.attributes] == ["call_target_name"]


def test_arithmetic_on_sizes_wraps_and_rounds_towards_zero() -> None:
    # -7 / 2 is -3, its remainder -1, and 2^31 - 1 + 1 is -2^31.
    text = """func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
      %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %m = stablehlo.negate %n : tensor<i32>
      %two = stablehlo.constant dense<2> : tensor<i32>
      %most = stablehlo.constant dense<2147483647> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %q = stablehlo.divide %m, %two : tensor<i32>
      %r = stablehlo.remainder %m, %two : tensor<i32>
      %w = stablehlo.add %most, %one : tensor<i32>
      %neg = stablehlo.sign %w : tensor<i32>
      %p = stablehlo.multiply %q, %r : tensor<i32>
      %d = stablehlo.subtract %p, %neg : tensor<i32>
      %s = stablehlo.reshape %d : (tensor<i32>) -> tensor<1xi32>
      %0 = stablehlo.dynamic_reshape %a, %s : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    # 3 * 1 + 1 elements: of 7 there are too many.
    with pytest.raises(VerifyError, match=r"cannot turn tensor<7xf32> into tensor<4xf32>"):
        static(text, (7,))


def test_a_large_constant_is_not_decoded() -> None:
    text = """func.func @main(%a: tensor<?x5000xf32>) -> tensor<?x5000xf32> {
      %c = stablehlo.constant dense<1.5> : tensor<5000xf32>
      %i = stablehlo.constant dense<2> : tensor<5000xi32>
      %0 = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0]
          : (tensor<?x5000xf32>, tensor<5000xf32>) -> tensor<?xf32>
      %1 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x5000xf32>) -> tensor<i32>
      %2 = stablehlo.convert %i : (tensor<5000xi32>) -> tensor<5000xf32>
      %3 = stablehlo.add %2, %c : tensor<5000xf32>
      %4 = "stablehlo.custom_call"(%3) {call_target_name = "seen", has_side_effect = true}
          : (tensor<5000xf32>) -> tensor<f32>
      return %a : tensor<?x5000xf32>
    }"""
    # Verification decodes what it checks.
    made = specialized(parsed(text), [Tensor((2, 5000), "f32")])
    constants = [each for each in everything(made.functions[0].body) if "value" in each.attributes]
    values = [each.attributes["value"] for each in constants]
    assert len(values) == 2
    assert all(isinstance(value, Dense) and value.array is None for value in values)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ([], "the module takes 1 arguments, got 0"),
        ([Tensor((2, 3), "f32")], r"argument 0 must be tensor<\?x2x2xf32>, got tensor<2x3xf32>"),
        ([Tensor((None, 2, 2), "f32")], r"argument 0 must be .*, got tensor<\?x2x2xf32>"),
    ],
)
def test_other_arguments_are_refused(types: list[Tensor], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        specialized(read(TENSORFLOW), types)


def test_functions_that_call_one_another_too_deep_or_in_a_circle_are_refused() -> None:
    called = """func.func private @f{0}(%x: tensor<?xf32>) -> tensor<?xf32> {{
      %0 = call @f{1}(%x) : (tensor<?xf32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }}"""
    main = called.format("", 0).replace("private @f", "@main")
    with pytest.raises(UnsupportedError, match="@f0 calls itself, which is not supported"):
        specialized(parsed("\n".join([main, called.format(0, 0)])), [Tensor((2,), "f32")])
    chain = [called.format(i, i + 1) for i in range(150)]
    end = (
        "func.func private @f150(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"
    )
    reason = "func.call leads to 151 calls and regions in one another, at most 128 are supported"
    with pytest.raises(UnsupportedError, match=f"line 2, column 12: {reason}"):
        specialized(parsed("\n".join([main, *chain, end])), [Tensor((2,), "f32")])
