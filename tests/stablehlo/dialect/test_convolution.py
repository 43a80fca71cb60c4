"""The rules of convolution and dynamic_conv."""

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

CONVOLUTION = """
func.func @f(%a: tensor<4x9x8x6xf32>, %k: tensor<3x2x3x10xf32>) {
  %r = "stablehlo.convolution"(%a, %k) <{
    window_strides = array<i64: 2, 1>, lhs_dilation = array<i64: 1, 2>,
    rhs_dilation = array<i64: 1, 3>, window_reversal = array<i1: false, true>,
    padding = dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>,
    dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>,
    feature_group_count = 2 : i64, batch_group_count = 1 : i64,
    precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]
  }> : (tensor<4x9x8x6xf32>, tensor<3x2x3x10xf32>) -> tensor<4x4x14x10xf32>
  return
}"""
RAW = CONVOLUTION.replace(
    "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>",
    """#stablehlo.conv<raw
      input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2],
      kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3,
      kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0,
      output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>""",
)
DYNAMIC = (
    CONVOLUTION.replace('"stablehlo.convolution"(%a, %k)', '"stablehlo.dynamic_conv"(%a, %k, %p)')
    .replace("    padding = dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>,\n", "")
    .replace("x10xf32>) ->", "x10xf32>, tensor<2x2xi64>) ->")
    .replace(
        "  %r =", "  %p = stablehlo.constant dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>\n  %r ="
    )
)
BROKEN = [
    *broken(
        CONVOLUTION,
        ("strides = array<i64: 2, 1>", "strides = array<i64: 2>", "needs window_strides for 2 ax"),
        ("lhs_dilation = array<i64: 1, 2>", "lhs_dilation = array<i64: 0, 2>", "needs positive l"),
        ("rhs_dilation = array<i64: 1, 3>", "rhs_dilation = array<i64: 1, 0>", "needs positive r"),
        ("<i1: false, true>", "<i1: false>", "needs window_reversal for 2 axes of the window"),
        ("<i1: false, true>", "<i64: 0, 1>", "needs an array<i1: ...> as window_reversal, got "),
        ("[[1, 0], [0, 2]]> : tensor<2x2xi64>", "1> : tensor<2x3xi64>", "needs a padding of sha"),
        ("count = 2", "count = 4", "cannot part 6 input features in 4 groups"),
        ("count = 2", "count = 3", "needs a kernel of 2 input features in its 3 groups, got 3"),
        ("count = 2", "count = 0", "needs feature_group_count above 0, got 0"),
        (
            "count = 2 : i64",
            "count = 2 : i32",
            "needs feature_group_count as a number of i64, got i32",
        ),
        ("batch_group_count = 1", "batch_group_count = 2", "needs 1 for one of feature_group_cou"),
        ("3x10xf32", "3x9xf32", "cannot part 9 output features in 2 groups"),
        ("tensor<3x2x3x10xf32>", "tensor<0x2x3x10xf32>", "needs a positive window, got [0, 2]"),
        ("tensor<3x2x3x10xf32>", "tensor<3x2x3x10xf64>", "needs an input and a kernel of one ele"),
        ("tensor<3x2x3x10xf32>", "tensor<3x3x10xf32>", "needs an input and a kernel of one rank"),
        ("-> tensor<4x4x14x10xf32>", "-> tensor<4x4x13x10xf32>", "results in tensor<4x4x14x10x"),
        (
            "HIGH>,",
            "HIGH>, #stablehlo<precision HIGH>,",
            "needs up to two of DEFAULT, HIGH, HIGH",
        ),
    ),
    *broken(
        RAW,
        ("batch_dimension = 0, input", "batch_dimension = 3, input", "needs distinct axes below 4"),
        ("output_batch_dimension = 0", "output_batch_dimension = 4", "needs distinct axes below 4"),
        ("kernel_spatial_dimensions = [0, 1]", "kernel_spatial_dimensions = [0]", "needs 2 spati"),
    ),
]
BROKEN_DYNAMIC = broken(
    DYNAMIC,
    ("tensor<2x2xi64>", "tensor<2x2xf64>", "takes no elements of f64 as padding"),
    ("strides = array<i64: 2, 1>", "strides = array<i64: 0, 1>", "needs positive window_strides"),
    ("3x10xf32", "3x9xf32", "cannot part 9 output features in 2 groups"),
)


def test_a_convolution_is_accepted_with_known_and_dynamic_extents() -> None:
    # (1 + 9 - 3) // 2 + 1 = 4, and (8 - 1) * 2 + 1 + 2 - (2 - 1) * 3 - 1 + 1 = 14.
    accept(CONVOLUTION)
    accept(RAW)
    accept(CONVOLUTION.replace("tensor<4x9x8x6xf32>", "tensor<?x?x8x?xf32>"))
    accept(CONVOLUTION.replace("tensor<3x2x3x10xf32>", "tensor<?x2x?x?xf32>"))
    # The result may be wider than the operands.
    accept(CONVOLUTION.replace("-> tensor<4x4x14x10xf32>", "-> tensor<4x4x14x10xf64>"))


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.reason)
def test_a_broken_convolution_is_refused(case: Broken) -> None:
    demand_refused(case, "stablehlo.convolution")
    assert not mlir_accepts(case.text)


@pytest.mark.parametrize("case", BROKEN_DYNAMIC, ids=lambda case: case.reason)
def test_a_broken_convolution_of_dynamic_padding_is_refused(case: Broken) -> None:
    accept(DYNAMIC)
    text = case.text.replace(
        "dense<[[1, 0], [0, 2]]> : tensor<2x2xf64>", "dense<1.0> : tensor<2x2xf64>"
    )
    demand_refused(case._replace(text=text), "stablehlo.dynamic_conv")
    assert not mlir_accepts(text)


LETTERS = "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>"


@pytest.mark.parametrize(
    ("letters", "reason"),
    [
        ("[b, 0, f]x[0, 1, i, o]->[b, 0, 1, f]", "needs 2 spatial axes of the input, got "),
        ("[b, 0, 2, f]x[0, 1, i, o]->[b, 0, 1, f]", "needs b, f and 0, 1, .. in the input, got "),
        ("[b, 0, 1, f]x[0, 1, i, i]->[b, 0, 1, f]", "needs i, o and 0, 1, .. in the kernel, got "),
        ("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, o]", "needs b, f and 0, 1, .. in the output, got "),
        ("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f, 1]", "needs each axis of the output once, got "),
    ],
)
def test_each_axis_of_a_layout_is_there_once(letters: str, reason: str) -> None:
    # The parser knows what stands between a layout's own brackets; bare lists come to the rule.
    bare = CONVOLUTION.replace(LETTERS, letters)
    demand_refused(Broken(bare, reason), "stablehlo.convolution")
    enclosed = CONVOLUTION.replace(LETTERS, f"#stablehlo.conv<{letters}>")
    with pytest.raises((ParseError, VerifyError)):
        accept(enclosed)
    assert not mlir_accepts(enclosed)


def test_a_layout_is_three_lists_of_letters() -> None:
    for layout, reason in (
        ("3 : i64", "needs [..]x[..]->[..] as dimension_numbers, got 3"),
        ("[b, [0], 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "needs letters and numbers for the input"),
    ):
        text = CONVOLUTION.replace(LETTERS, layout)
        demand_refused(Broken(text, reason), "stablehlo.convolution")
        assert not mlir_accepts(text)


def test_groups_of_batches_part_the_input() -> None:
    text = CONVOLUTION.replace("feature_group_count = 2", "feature_group_count = 1")
    text = text.replace("batch_group_count = 1", "batch_group_count = 2").replace(
        "x6xf32", "x3xf32"
    )
    accept(text.replace("-> tensor<4x", "-> tensor<2x"))
    odd = text.replace("tensor<4x9x8x3xf32>", "tensor<5x9x8x3xf32>")
    demand_refused(Broken(odd, "cannot part 5 batches in 2 groups"), "stablehlo.convolution")
    assert not mlir_accepts(odd)


def test_a_dynamic_padding_has_a_row_for_each_spatial_axis() -> None:
    text = DYNAMIC.replace("[[1, 0], [0, 2]]", "1").replace("tensor<2x2xi64>", "tensor<3x2xi64>")
    case = Broken(text, "needs a padding of shape [2, 2], got tensor<3x2xi64>")
    demand_refused(case, "stablehlo.dynamic_conv")
    assert not mlir_accepts(text)


def test_a_dynamic_padding_leaves_the_spatial_extents_open() -> None:
    accept(DYNAMIC.replace("-> tensor<4x4x14x10xf32>", "-> tensor<4x5x5x10xf32>"))
    text = DYNAMIC.replace("-> tensor<4x4x14x10xf32>", "-> tensor<4x4x14x9xf32>")
    case = Broken(text, "results in tensor<4x?x?x10xf32>, got tensor<4x4x14x9xf32>")
    demand_refused(case, "stablehlo.dynamic_conv")
