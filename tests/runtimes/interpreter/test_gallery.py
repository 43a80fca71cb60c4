"""The gallery: a module for every operation, verified, printed, run, and held against XLA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.stablehlo.gallery import GALLERY, operations, text_of
from topos import runtimes
from topos.errors import ToposError, UnsupportedError
from topos.runtimes import _mlir, verify
from topos.runtimes._inputs import random_array
from topos.runtimes.interpreter import RUNTIME
from topos.runtimes.interpreter.kernels import builder_of
from topos.stablehlo.dialect import definitions
from topos.stablehlo.equality import same
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.printer import printed
from topos.stablehlo.read import read
from topos.stablehlo.verifier import verified_names

Array = npt.NDArray[Any]

# No text that verifies holds these: their elements are quantized, and the rules refuse them.
NOWHERE = {"stablehlo.uniform_dequantize", "stablehlo.uniform_quantize"}
# What verifies and does not run.
REFUSED = {
    "collective_reduce": "stablehlo.collective_reduce is not supported",
    "shardy_divided": "sdy.manual_computation is a computation of several devices",
    "transfer": "stablehlo.infeed exchanges values with another process",
}
# What jaxlib's own parser does not know yet.
NEWER = {"collective_reduce"}
WITHOUT_XLA = {
    "chlo_ragged_dot": "HLO opcode `ragged-dot` is not supported",
    "collective_broadcast": "HLO opcode `collective-broadcast` is not supported",
    "constant": "needs elements that numpy can hold",
    "dynamic_conv": "'stablehlo.dynamic_conv' op can't be translated",
    "resharded": "op unknown mesh",
    "shardy_placed": "collective on operand without sharding",
    "small_elements": "needs elements that numpy can hold",
    "unary_einsum": "'stablehlo.unary_einsum' op can't be translated",
}
# Every run draws other numbers.
DRAWING = {"rng"}
# Of each number; XLA's own polynomials are the less precise part.
RELATIVE = 1e-5
# Of the largest among the results, for what is left where larger numbers cancel.
CANCELLED = 1e-6


def named(path: Path) -> str:
    return path.stem


RUNNING = [path for path in GALLERY if path.stem not in REFUSED]
REPEATABLE = [path for path in RUNNING if path.stem not in DRAWING]


def test_the_gallery_has_every_operation_and_no_other() -> None:
    shown = {name for path in GALLERY for name in operations(path)}
    assert shown == verified_names() - NOWHERE


@pytest.mark.parametrize("name", sorted(NOWHERE))
def test_an_operation_that_no_text_holds_is_refused_by_name(name: str) -> None:
    text = f"""func.func @main(%a: tensor<f32>) -> tensor<f32> {{
      %0 = {name} %a : tensor<f32>
      return %0 : tensor<f32>
    }}"""
    with pytest.raises(UnsupportedError, match=f"{name} works on quantized elements"):
        verify(text)


def test_a_quantized_element_is_refused_by_name() -> None:
    type = "tensor<2x!quant.uniform<i8:f32, 0.5:3>>"
    text = f"func.func @main(%a: {type}) -> {type} {{ return %a : {type} }}"
    with pytest.raises(UnsupportedError) as caught:
        verify(text)
    assert caught.value.reason == f"type {type} is not supported"


@pytest.mark.parametrize("path", GALLERY, ids=named)
def test_a_module_verifies_and_its_print_says_the_same(path: Path) -> None:
    module = read(path.read_text())
    text = printed(module)
    again = read(text)
    assert same(again, module)
    assert printed(again) == text


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_run_is_refused_in_words(name: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        RUNTIME.compile(text_of(name))
    assert caught.value.line
    assert caught.value.reason.startswith(REFUSED[name])


def test_what_has_no_kernel_is_known_to_be_refused() -> None:
    shown = {name for path in GALLERY if path.stem in REFUSED for name in operations(path)}
    running = {name for name, each in definitions().items() if builder_of(each)}
    assert verified_names() - running <= shown | NOWHERE


def arguments(text: str) -> list[Array]:
    generator = np.random.default_rng(20)
    return [random_array(generator, type) for type in RUNTIME.compile(text).signature.arguments]


def ran(text: str, numerics: str) -> tuple[Array, ...]:
    return RUNTIME.compile(text, numerics=numerics)(*arguments(text))


def demand_near(path: Path, results: tuple[Array, ...], expected: tuple[Array, ...]) -> None:
    for place, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        assert result.dtype == wanted.dtype
        assert result.shape == wanted.shape
        if wanted.dtype.kind in "biu":
            assert result.tobytes() == wanted.tobytes(), f"{path.stem}, result {place}"
        got, due = result.astype(np.complex128), wanted.astype(np.complex128)
        parts = zip((got.real, got.imag), (due.real, due.imag), strict=True)
        assert all(near(*pair) for pair in parts), f"{path.stem}, result {place}"


def near(got: Array, due: Array) -> bool:
    """Returns whether each number is near its own, an infinity the same and NaN any NaN."""
    finite = np.isfinite(due)
    alike = (got == due) | (np.isnan(got) & np.isnan(due))
    distance = np.abs(np.where(finite, got, 0) - np.where(finite, due, 0))
    allowed = RELATIVE * np.abs(due) + CANCELLED * np.abs(due[finite]).max(initial=0.0)
    return bool(np.where(finite, distance <= allowed, alike).all())


def test_near_is_near() -> None:
    due = np.array([1.0, 1e-9, np.inf, -np.inf, np.nan, 0.0])
    assert near(due * (1 + 1e-6), due)
    for place, wrong in ((0, 1.0001), (1, 1e-4), (2, -np.inf), (3, np.nan), (4, np.inf), (5, 1e-4)):
        got = due.copy()
        got[place] = wrong
        assert not near(got, due)


@pytest.mark.parametrize("path", REPEATABLE, ids=named)
def test_both_postures_agree(path: Path) -> None:
    text = path.read_text()
    demand_near(path, ran(text, "fast"), ran(text, "exact"))


@pytest.mark.parametrize("path", [path for path in GALLERY if path.stem not in NEWER], ids=named)
def test_the_parser_of_jaxlib_takes_the_print(path: Path) -> None:
    ir = pytest.importorskip("jax.extend.mlir.ir")
    mlir = pytest.importorskip("jax.interpreters.mlir")
    with mlir.make_ir_context():
        module = _mlir.read(ir, printed(parse(path.read_text())))
    assert not isinstance(module, _mlir.Fault), module


def executed_by_xla(text: str) -> tuple[Array, ...]:
    pytest.importorskip("jax")
    return runtimes.load("xla").compile(text, options={"isolated": True})(*arguments(text))


@pytest.mark.parametrize(
    "path",
    [path for path in REPEATABLE if path.stem not in WITHOUT_XLA],
    ids=named,
)
def test_xla_has_the_same_results(path: Path) -> None:
    text = path.read_text()
    demand_near(path, ran(text, "exact"), executed_by_xla(text))


@pytest.mark.parametrize("name", sorted(WITHOUT_XLA))
def test_what_xla_does_not_run_it_refuses(name: str) -> None:
    with pytest.raises(ToposError) as caught:
        executed_by_xla(text_of(name))
    assert WITHOUT_XLA[name] in str(caught.value)
