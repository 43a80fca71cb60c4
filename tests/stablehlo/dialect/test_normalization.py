"""The rules of batch normalization."""

from __future__ import annotations

import pytest

from tests.stablehlo.rule_texts import (
    Broken,
    accept,
    broken,
    demand_refused,
    mlir_accepts,
)

WHOLE, SINGLE = "tensor<2x3x4xf32>", "tensor<3xf32>"


def text_of(name: str, operands: str, results: str) -> str:
    """Returns the operation `name` on `operands`, letters of whole values and of single axes."""
    types = [WHOLE if letter.isupper() else SINGLE for letter in operands]
    arguments = ", ".join(
        f"%{letter}: {type}" for letter, type in zip(operands, types, strict=True)
    )
    uses = ", ".join(f"%{letter}" for letter in operands)
    return f"""
func.func @f({arguments}) {{
  %r:{results.count("tensor")} = "stablehlo.{name}"({uses})
    <{{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}}> : ({", ".join(types)}) -> ({results})
  return
}}"""


TEXTS = {
    "batch_norm_inference": text_of("batch_norm_inference", "Asomv", WHOLE).replace("%r:1", "%r"),
    "batch_norm_training": text_of("batch_norm_training", "Aso", f"{WHOLE}, {SINGLE}, {SINGLE}"),
    "batch_norm_grad": text_of("batch_norm_grad", "AsmvG", f"{WHOLE}, {SINGLE}, {SINGLE}"),
}
EDITS = (
    ("epsilon = 1.0e-3 : f32", "epsilon = 1.0e-3 : f64", "needs an f32 as epsilon, got "),
    ("epsilon = 1.0e-3 : f32, ", "", "needs an f32 as epsilon, got None"),
    ("feature_index = 1", "feature_index = 3", "needs feature_index below 3, got 3"),
    ("feature_index = 1", "feature_index = -1", "needs feature_index of 0 or more, got -1"),
    ("feature_index = 1 : i64", "feature_index = 1 : i32", "needs feature_index as a number of i6"),
    ("feature_index = 1", "feature_index = 2", "needs tensor<4xf32> for the features, got tensor<"),
    ("f32>", "i32>", "takes no elements of i32 as an operand"),
    ("tensor<3xf32>", "tensor<3x1xf32>", "needs a value for each feature in one axis, got "),
    ("tensor<3xf32>", "tensor<3xf64>", "needs operands of one element, got "),
    ("-> (tensor<2x3x4xf32>", "-> (tensor<2x3x5xf32>", "results in tensor<2x3x4xf32>, got "),
)
CASES = [
    pytest.param(name, case, id=f"{name} {case.reason}")
    for name, text in TEXTS.items()
    for case in broken(text, *EDITS)
]


@pytest.mark.parametrize("name", TEXTS)
def test_a_normalization_is_accepted_with_known_and_dynamic_extents(name: str) -> None:
    accept(TEXTS[name])
    assert mlir_accepts(TEXTS[name])
    accept(TEXTS[name].replace(WHOLE, "tensor<2x?x4xf32>"))
    accept(TEXTS[name].replace(SINGLE, "tensor<?xf32>"))


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_broken_normalization_is_refused(name: str, case: Broken) -> None:
    demand_refused(case, f"stablehlo.{name}")
    assert not mlir_accepts(case.text)


def test_the_bound_of_the_features_passes_to_their_results() -> None:
    bounded = "tensor<2x?x4xf32, #stablehlo.bounds<?, 3, ?>>"
    text = TEXTS["batch_norm_training"].replace(WHOLE, bounded)
    accept(text)
    wide = text.replace(f"{SINGLE}, {SINGLE})\n", f"{SINGLE}, tensor<4xf32>)\n")
    demand_refused(
        Broken(wide, "results in tensor<?xf32, #stablehlo.bounds<3>>, got tensor<4xf32>"),
        "stablehlo.batch_norm_training",
    )
    assert not mlir_accepts(wide)


def test_a_normalization_has_an_operand_for_each_statistic() -> None:
    text = text_of("batch_norm_inference", "Asom", WHOLE).replace("%r:1", "%r")
    case = Broken(text, "needs 5 operands, got 4")
    demand_refused(case, "stablehlo.batch_norm_inference")
    assert not mlir_accepts(text)
