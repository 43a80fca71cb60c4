"""The metal backend's code on mlx: its device, or the processor where mlx has no device."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from topos import TensorType, f32
from topos.backend import (
    Backend,
    Declined,
    Formula,
    GemmTask,
    MapTask,
    Precision,
    metal,
    serve,
)
from topos.backend.device import _refusal
from topos.payload import kernels


@pytest.fixture
def mlx(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Takes this machine for Apple silicon, where mlx is installed."""
    pytest.importorskip("mlx.core")
    monkeypatch.setattr(metal, "absence", lambda: None)
    _refusal.cache_clear()
    Backend.use({Backend.METAL: True})
    yield
    Backend.use(None)
    _refusal.cache_clear()


def covered() -> list[Formula]:
    return [formula for formula in metal.TABLE if formula is not Formula.GEMM]


@pytest.mark.usefixtures("mlx")
def test_the_trial_succeeds_and_says_the_version() -> None:
    status = Backend.METAL.status()
    assert status.ready
    assert status.detail.startswith("mlx ")


@pytest.mark.usefixtures("mlx")
@pytest.mark.parametrize("formula", covered(), ids=lambda formula: formula.value)
def test_a_large_map_is_near_the_oracle(formula: Formula) -> None:
    values = np.random.default_rng(0).uniform(0.1, 3.0, metal.DEVICE.fewest).astype(np.float32)
    served = serve(formula, MapTask(TensorType(values.shape, f32)), False)
    assert served.backend is Backend.METAL
    result = served.kernel(values)
    oracle = getattr(kernels.maps, formula.value)(values)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, oracle, rtol=1e-5, atol=1e-6)
    out = np.empty_like(values)
    assert served.kernel(values, out=out) is out
    assert out.tobytes() == result.tobytes()


@pytest.mark.usefixtures("mlx")
def test_a_product_of_turned_operands_is_near_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metal.DEVICE, "fewest_flops", 1)
    random = np.random.default_rng(0)
    left = random.standard_normal((3, 40, 30)).astype(np.float32).swapaxes(1, 2)
    right = random.standard_normal((3, 40, 20)).astype(np.float32)
    task = GemmTask(TensorType(left.shape, f32), TensorType(right.shape, f32))
    kernel = Backend.METAL.offer(Formula.GEMM, task)
    assert not isinstance(kernel, Declined)
    np.testing.assert_allclose(kernel(left, right), left @ right, rtol=1e-5, atol=1e-5)
    # The BLAS of the host goes first, so a chain asks the device only where that declines.
    assert Formula.GEMM.chain(Precision.F32).index(Backend.METAL) == 1


@pytest.mark.usefixtures("mlx")
def test_small_tasks_stay_with_the_host() -> None:
    operand = TensorType((1000, 1000), f32)
    task = GemmTask(operand, operand)
    reason = f"a product needs {metal.DEVICE.fewest_flops} flops or more, got 2000000000"
    assert Backend.METAL.offer(Formula.GEMM, task) == Declined(reason)
    few = MapTask(TensorType((metal.DEVICE.fewest - 1,), f32))
    reason = f"a map needs {metal.DEVICE.fewest} elements or more, got {metal.DEVICE.fewest - 1}"
    assert Backend.METAL.offer(Formula.EXP, few) == Declined(reason)


def test_another_machine_is_told_which_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    reason = f"it needs Apple silicon, got {sys.platform} on x86_64"
    assert metal.absence.__wrapped__() == reason


def test_apple_silicon_without_mlx_is_told_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(metal, "find_spec", lambda name: None)
    assert metal.absence.__wrapped__() == "it needs mlx: pip install mlx"
