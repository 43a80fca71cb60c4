"""Serving: the first taker of a chain, exactness, and what happens when a device fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.backend.devices import Device, device
from tests.exact import exactly
from topos import TensorType, bf16, f32, f64, i32
from topos.backend import (
    Backend,
    Declined,
    Formula,
    GemmTask,
    MapTask,
    Precision,
    ReduceTask,
    Service,
    Task,
    cuda,
    numba,
    serve,
)
from topos.errors import ArgumentError
from topos.payload import Element, kernels

__all__ = ["device"]

Array = npt.NDArray[Any]
ELEMENTS = [f64, f32, bf16]


def drawn(shape: tuple[int, ...], element: Element, seed: int = 0) -> Array:
    """Returns normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(element.dtype)


def product(element: Element, rows: int = 9, depth: int = 20, columns: int = 7) -> GemmTask:
    """Returns the task of a product."""
    return GemmTask(TensorType((rows, depth), element), TensorType((depth, columns), element))


def without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the install lack numba."""
    monkeypatch.setattr(numba, "_installed", lambda: None)


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_a_fast_product_is_numpys_and_within_its_bound(element: Element) -> None:
    left, right = drawn((9, 20), element), drawn((20, 7), element, 1)
    kernel, backend, _ = serve(Formula.GEMM, product(element), False)
    assert backend is Backend.SIMD
    exact = left.astype(np.float64) @ right.astype(np.float64)
    scale = np.abs(left.astype(np.float64)) @ np.abs(right.astype(np.float64))
    unit = {8: 2.0**-52, 4: 2.0**-23, 2: 2.0**-7}[left.itemsize]
    result = kernel(left, right)
    assert result.dtype == left.dtype
    assert np.all(np.abs(result.astype(np.float64) - exact) <= 20 * unit * scale)


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
@pytest.mark.parametrize("numba_there", [True, False])
def test_an_exact_product_has_the_oracle_bits_in_every_install(
    element: Element, numba_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if numba_there:
        pytest.importorskip("numba")
    else:
        without_numba(monkeypatch)
    left, right = drawn((9, 20), element), drawn((20, 7), element, 1)
    kernel, backend, _ = serve(Formula.GEMM, product(element), True)
    assert backend is (Backend.NUMBA if numba_there and element is not bf16 else None)
    expected = kernels.product.matmul(left, right).tobytes()
    assert kernel(left, right).tobytes() == expected
    out = np.full((9, 7), 5, element.dtype)
    assert kernel(left, right, out=out) is out
    assert out.tobytes() == expected
    turned = np.full((7, 9), 5, element.dtype).T
    assert kernel(left, right, out=turned).tobytes() == expected


@pytest.mark.parametrize("formula", [Formula.SUM, Formula.MAX])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), (1, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("exact", [True, False])
def test_reductions_agree_with_the_oracle(
    formula: Formula, axes: tuple[int, ...], exact: bool
) -> None:
    array = drawn((3, 40, 5), f32)
    task = ReduceTask(TensorType(array.shape, f32), axes)
    expected = serve(formula, task._replace(operand=TensorType(array.shape, f32)), True).kernel
    oracle = kernels.reduction.sum if formula is Formula.SUM else kernels.reduction.maximum
    assert expected(array).tobytes() == oracle(array, axes).tobytes()
    result = serve(formula, task, exact).kernel(array)
    assert result.shape == oracle(array, axes).shape
    magnitudes = kernels.reduction.sum(np.abs(array), axes)
    assert np.all(np.abs(result - oracle(array, axes)) <= 600 * 2.0**-24 * magnitudes)


def test_exact_sums_of_rows_are_compiled_and_others_are_the_oracles() -> None:
    pytest.importorskip("numba")
    operand = TensorType((3, 4), f32)
    assert serve(Formula.SUM, ReduceTask(operand, (1,)), True).backend is Backend.NUMBA
    assert serve(Formula.SUM, ReduceTask(operand, (0,)), True).backend is None


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_compiled_map_takes_every_size(size: int) -> None:
    pytest.importorskip("numba")
    values = drawn((size,), f64)
    for formula in (Formula.EXP, Formula.LN, Formula.TANH):
        served = serve(formula, MapTask(TensorType((size,), f64)), True)
        assert served.backend is Backend.NUMBA
        expected = getattr(kernels.maps, formula.value)(values)
        assert served.kernel(values).tobytes() == expected.tobytes()


def test_what_no_backend_has_the_oracle_serves() -> None:
    integers = serve(Formula.GEMM, product(i32), False)
    assert integers.backend is None
    ones = np.ones((9, 20), np.int32)
    assert integers.kernel(ones, np.ones((20, 7), np.int32))[0, 0] == 20
    erf = serve(Formula.ERF, MapTask(TensorType((3,), bf16)), False)
    values = drawn((3,), bf16)
    assert erf.backend is None
    assert erf.kernel(values).tobytes() == kernels.maps.erf(values).tobytes()


def test_a_task_of_another_formula_is_a_mistake() -> None:
    tasks: list[Task] = [
        product(f32),
        MapTask(TensorType((3,), f32)),
        ReduceTask(TensorType((3,), f32), (0,)),
    ]
    for formula, task in zip([Formula.SUM, Formula.GEMM, Formula.EXP], tasks, strict=True):
        kind = type(task).__name__
        message = f"{formula.value} takes a task of its own, got {kind}"
        with pytest.raises(ArgumentError, match=exactly(message)):
            serve(formula, task, True)
        with pytest.raises(ArgumentError, match=exactly(message)):
            Backend.NUMBA.offer(formula, task)


def test_a_device_serves_fast_runs_alone(device: Device) -> None:
    left, right = drawn((9, 20), f32), drawn((20, 7), f32, 1)
    served = serve(Formula.GEMM, product(f32), False)
    assert served.backend is Backend.CUDA
    out = np.empty((9, 7), np.float32)
    assert served.kernel(left, right, out=out) is out
    assert out.tobytes() == (left @ right).tobytes()
    assert serve(Formula.GEMM, product(f32), True).backend is not Backend.CUDA
    assert Backend.CUDA.status() == (True, "cupy of the test")


def test_a_device_declines_small_tasks(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda.DEVICE, "fewest_flops", 3000)
    monkeypatch.setattr(cuda.DEVICE, "fewest", 10)
    declined = Backend.CUDA.offer(Formula.GEMM, product(f32))
    assert declined == Declined("a product needs 3000 flops or more, got 2520")
    few = Backend.CUDA.offer(Formula.TANH, MapTask(TensorType((3, 3), f32)))
    assert few == Declined("a map needs 10 elements or more, got 9")
    assert serve(Formula.GEMM, product(f32), False).backend is Backend.SIMD


def test_a_device_that_fails_its_trial_declines_with_the_reason(device: Device) -> None:
    device.fails_after = 0
    reason = "the device failed its trial: RuntimeError: an illegal address"
    assert Backend.CUDA.offer(Formula.GEMM, product(f32)) == Declined(reason)
    assert Backend.CUDA.status() == (False, reason)
    assert serve(Formula.GEMM, product(f32), False).backend is Backend.SIMD


def test_a_device_that_fails_at_work_is_disabled_and_the_next_one_serves(device: Device) -> None:
    left, right = drawn((9, 20), f32), drawn((20, 7), f32, 1)
    kernel, backend, _ = serve(Formula.GEMM, product(f32), False)
    device.fails_after = 0
    with Backend.tallied() as tally:
        tally.add([Service(Formula.GEMM, Precision.F32, backend, 2)])
        assert kernel(left, right).tobytes() == (left @ right).tobytes()
        assert tally.rows() == (
            Service(Formula.GEMM, Precision.F32, Backend.CUDA, 1),
            Service(Formula.GEMM, Precision.F32, Backend.SIMD, 1),
        )
        calls = device.calls
        device.fails_after = float("inf")
        assert kernel(left, right).tobytes() == (left @ right).tobytes()
    assert device.calls == calls, "a disabled device is not asked again"
    assert tally.rows() == (Service(Formula.GEMM, Precision.F32, Backend.SIMD, 2),)
    reason = "it failed and declines since: RuntimeError: an illegal address"
    assert Backend.CUDA.status() == (False, reason)
    assert Backend.CUDA.offer(Formula.TANH, MapTask(TensorType((3,), f32))) == Declined(reason)
