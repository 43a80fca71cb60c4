"""The accelerate backend, with vForce played by numpy: what it calls, and where it declines."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from topos import TensorType, f32, f64
from topos.backend import (
    Backend,
    Declined,
    Formula,
    GemmTask,
    Kernel,
    MapTask,
    accelerate,
    serve,
)
from topos.payload import Element

NAMES: dict[str, Callable[[Any], Any]] = {
    "vvexp": np.exp,
    "vvexpm1": np.expm1,
    "vvlog": np.log,
    "vvlog1p": np.log1p,
    "vvsqrt": np.sqrt,
    "vvrsqrt": lambda x: 1 / np.sqrt(x),
    "vvtanh": np.tanh,
    "vvsin": np.sin,
    "vvcos": np.cos,
}
SQUARE = GemmTask(TensorType((4, 4), f32), TensorType((4, 4), f32))


class Function:
    """One function of the library, over arrays of `kind` by their addresses."""

    def __init__(self, function: Callable[[Any], Any], kind: Any) -> None:
        self.function, self.kind = function, kind
        self.argtypes: list[Any] = []
        self.restype: Any = int

    def __call__(self, result: int, operand: int, count: Any) -> None:
        assert self.argtypes == [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        assert self.restype is None
        whole = self.kind * count._obj.value
        source = np.frombuffer(whole.from_address(operand), self.kind)
        np.frombuffer(whole.from_address(result), self.kind)[:] = self.function(source)


class Force:
    """A library of the functions by their C names: `f(result, operand, &count)`."""

    def __getattr__(self, name: str) -> Any:
        kind = ctypes.c_float if name.endswith("f") else ctypes.c_double

        return Function(NAMES[name.removesuffix("f")], kind)


@pytest.fixture
def macos(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A system with Accelerate, and a numpy that was built on it."""
    monkeypatch.setattr(accelerate, "absence", lambda: None)
    monkeypatch.setattr(accelerate, "_library", Force)
    monkeypatch.setattr(accelerate, "_blas", lambda: "accelerate")
    accelerate._library_refusal.cache_clear()
    yield
    accelerate._library_refusal.cache_clear()


@pytest.mark.usefixtures("macos")
@pytest.mark.parametrize("element", [f64, f32], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_large_map_calls_the_function_of_its_name(name: str, element: Element) -> None:
    formula = next(key for key, value in accelerate._FUNCTIONS.items() if value == name)
    size = (2, accelerate.FEWEST)
    values = np.random.default_rng(0).uniform(0.1, 3.0, size).astype(element.dtype)
    kernel, backend, _ = serve(formula, MapTask(TensorType(size, element)), False)
    assert backend is Backend.ACCELERATE
    expected = NAMES[name](values)
    assert kernel(values).tobytes() == expected.tobytes()
    out = np.empty_like(values)
    assert kernel(values, out=out) is out
    assert out.tobytes() == expected.tobytes()
    turned = np.empty(size[::-1], element.dtype).T
    assert kernel(values[::-1], out=turned) is turned
    assert turned.tobytes() == expected[::-1].tobytes()


@pytest.mark.usefixtures("macos")
def test_few_elements_and_other_formulas_are_declined() -> None:
    few = MapTask(TensorType((5, 5), f64))
    reason = f"a map needs {accelerate.FEWEST} elements or more, got 25"
    assert Backend.ACCELERATE.offer(Formula.EXP, few) == Declined(reason)
    assert Backend.ACCELERATE.offer(Formula.ERF, few) == Declined("it has no kernel for erf of f64")


@pytest.mark.usefixtures("macos")
def test_products_are_its_own_where_numpy_was_built_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve(Formula.GEMM, SQUARE, False)
    assert served == (Kernel(np.matmul, writes=True), Backend.ACCELERATE, False)
    assert Backend.ACCELERATE.status() == (True, "products and maps")
    monkeypatch.setattr(accelerate, "_blas", lambda: "openblas")
    declined = Backend.ACCELERATE.offer(Formula.GEMM, SQUARE)
    assert declined == Declined("numpy was built on openblas, not on Accelerate")
    assert serve(Formula.GEMM, SQUARE, False).backend is Backend.SIMD
    assert Backend.ACCELERATE.status() == (True, "maps; products by openblas")


@pytest.mark.usefixtures("macos")
def test_a_library_that_does_not_load_declines_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent() -> Any:
        raise OSError("no such image")

    monkeypatch.setattr(accelerate, "_library", absent)
    reason = "vForce cannot be loaded: no such image"
    task = MapTask(TensorType((accelerate.FEWEST,), f64))
    assert Backend.ACCELERATE.offer(Formula.EXP, task) == Declined(reason)
    assert Backend.ACCELERATE.status() == (False, reason)


def test_another_system_is_told_that_it_needs_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert not Backend.ACCELERATE.compiled()
    assert Backend.ACCELERATE.status() == (False, "it needs macOS, got linux")
