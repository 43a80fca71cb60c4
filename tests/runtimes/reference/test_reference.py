"""The reference interpreter's adapter: its results, and what happens when its worker dies."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.texts import SUM
from tests.runtimes.workers import process_of
from topos.errors import (
    ArgumentError,
    CompileError,
    ParseError,
    UnavailableError,
    UnsupportedError,
    VerifyError,
)
from topos.runtimes.reference import Reference

pytest.importorskip("jax")

Array = npt.NDArray[Any]

# Batch normalization is held against numpy's formula, whose sums run in another order.
SUM_ORDER = 1e-12

NORMALIZATION = """
func.func @main(%x: tensor<4x3x5xf64>, %scale: tensor<3xf64>, %offset: tensor<3xf64>,
                %dy: tensor<4x3x5xf64>) -> (tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>,
                tensor<4x3x5xf64>, tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>) {
  %y, %mean, %variance = "stablehlo.batch_norm_training"(%x, %scale, %offset)
      <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}>
      : (tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>)
      -> (tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>)
  %again = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance)
      <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}>
      : (tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
      -> tensor<4x3x5xf64>
  %dx, %dscale, %doffset = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %dy)
      <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}>
      : (tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<4x3x5xf64>)
      -> (tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>)
  return %y, %mean, %variance, %again, %dx, %dscale, %doffset : tensor<4x3x5xf64>, tensor<3xf64>,
    tensor<3xf64>, tensor<4x3x5xf64>, tensor<4x3x5xf64>, tensor<3xf64>, tensor<3xf64>
}
"""
UNARY = """
func.func @main(%a: tensor<2x2xf64>) -> tensor<2x2xf64> {
  %0 = OPERATION : (tensor<2x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}
"""
ONES = np.ones(4, np.float32)


@pytest.fixture(scope="module")
def runtime() -> Reference:
    return Reference()


def worker_of(runtime: Reference) -> int:
    return process_of(runtime).pid


def test_subnormal_numbers_are_kept(runtime: Reference) -> None:
    tiny = np.full(4, 1e-40, np.float32)
    (result,) = runtime.compile(SUM)(tiny, tiny)
    assert result.tobytes() == (tiny + tiny).tobytes()
    assert (result > 0).all()


def test_results_are_the_callers_own(runtime: Reference) -> None:
    argument = ONES.copy()
    (first,) = runtime.compile(SUM)(argument, argument)
    argument[:] = 7.0
    assert first.tolist() == [2.0] * 4
    first[:] = 3.0


def test_chlo_runs_decomposed(runtime: Reference) -> None:
    values = np.array([[-3.0, -0.5], [0.25, 2.0]])
    (result,) = runtime.compile(UNARY.replace("OPERATION", '"chlo.erf"(%a)'))(values)
    expected = np.vectorize(math.erf)(values)
    assert np.abs(result - expected).max() <= 4 * np.finfo(np.float64).eps


def test_batch_normalization_runs_written_out(runtime: Reference) -> None:
    random = np.random.default_rng(0)
    x, dy = random.normal(size=(2, 4, 3, 5))
    scale, offset = random.normal(size=(2, 3))
    epsilon = float(np.float32(1e-3))

    def spread(vector: Array) -> Array:
        return vector[None, :, None]

    mean, variance = x.mean(axis=(0, 2)), x.var(axis=(0, 2))
    centered, deviation = x - spread(mean), spread(np.sqrt(variance + epsilon))
    y = spread(scale) * centered / deviation + spread(offset)
    normalized = centered / deviation
    dscale, doffset = (dy * normalized).sum(axis=(0, 2)), dy.sum(axis=(0, 2))
    dx = spread(scale) / deviation * (dy - spread(doffset) / 20 - normalized * spread(dscale) / 20)
    results = runtime.compile(NORMALIZATION)(x, scale, offset, dy)
    expected = (y, mean, variance, y, dx, dscale, doffset)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=SUM_ORDER, atol=SUM_ORDER)


def test_a_function_without_a_body_is_refused(runtime: Reference) -> None:
    with pytest.raises(VerifyError, match=r"^a function needs a body to run, and @main has none$"):
        runtime.compile("func.func private @main(tensor<f32>) -> tensor<f32>")


def test_a_function_called_from_main_runs(runtime: Reference) -> None:
    text = UNARY.replace("OPERATION", "func.call @twice(%a)") + (
        "func.func private @twice(%a: tensor<2x2xf64>) -> tensor<2x2xf64> {\n"
        "  %0 = stablehlo.add %a, %a : tensor<2x2xf64>\n  return %0 : tensor<2x2xf64>\n}\n"
    )
    assert runtime.compile(text)(np.eye(2))[0].tolist() == [[2.0, 0.0], [0.0, 2.0]]


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        ('"stablehlo.cholesky"(%a) {lower = true}', "stablehlo.cholesky"),
        ("stablehlo.custom_call @x(%a)", "stablehlo.custom_call"),
        (
            '"stablehlo.collective_permute"(%a) {source_target_pairs = dense<0> : tensor<1x2xi64>}',
            "stablehlo.collective_permute",
        ),
    ],
)
def test_what_the_interpreter_lacks_is_refused_before_it_runs(
    runtime: Reference, operation: str, name: str
) -> None:
    runtime.compile(SUM)
    before = worker_of(runtime)
    with pytest.raises(UnsupportedError, match=name):
        runtime.compile(UNARY.replace("OPERATION", operation))
    # The same worker still answers.
    assert runtime.compile(SUM)(ONES, ONES)[0].tolist() == [2.0] * 4
    assert worker_of(runtime) == before


def test_complex_arguments_are_refused(runtime: Reference) -> None:
    text = "func.func @main(%a: tensor<complex<f32>>) { return }"
    with pytest.raises(UnsupportedError, match=r"complex64\[\]"):
        runtime.compile(text)


def test_text_that_is_refused_is_told_with_its_place(runtime: Reference) -> None:
    with pytest.raises(ParseError) as caught:
        runtime.compile(SUM.replace("%a, %b :", "%a, %missing :"))
    assert (caught.value.line, caught.value.column) == (3, 26)
    assert caught.value.source_line == "  %0 = stablehlo.add %a, %missing : tensor<4xf32>"
    with pytest.raises(VerifyError, match="line 4, column 3"):
        runtime.compile(SUM.replace("-> tensor<4xf32> {", "-> tensor<5xf32> {"))


def test_arguments_that_do_not_fit_are_refused(runtime: Reference) -> None:
    with pytest.raises(ArgumentError, match=r"argument 0 must be float32\[4\], got float32\[3\]"):
        runtime.compile(SUM)(ONES[:3], ONES)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": "1"}, {"limit": 3}])
def test_options_that_mean_nothing_are_refused(runtime: Reference, options: Any) -> None:
    with pytest.raises(CompileError, match="timeout"):
        runtime.compile(SUM, options=options)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jaxlib", None)
    text = "the reference runtime needs jaxlib: pip install 'topos-compiler[xla]'"
    assert Reference().status() == (False, text)
    with pytest.raises(UnavailableError) as caught:
        Reference().compile(SUM)
    assert str(caught.value) == text
