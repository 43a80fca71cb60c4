"""Plans over backends: who serves their steps, a device that fails in a run, an element's hooks."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.backend.devices import Device, device
from topos import Element, Numerics, Plan, Tape, bf16, f32, f64, mean, variance
from topos.backend import (
    Backend,
    BatchNormTask,
    Formula,
    Function,
    GemmTask,
    MapTask,
    Normalized,
    Precision,
    Service,
    Tally,
)

__all__ = ["device"]

Array = npt.NDArray[Any]


def lowered(numerics: Numerics, element: Element = f32) -> Plan:
    """Returns a plan of two products, a map and a sum of rows, `y`."""
    random = np.random.default_rng(0)
    tape = Tape(element=element)
    x, w = (tape.input(random.standard_normal((8, 8)).astype(element.dtype)) for _ in range(2))
    y = ((x @ w).tanh() @ w).sum(1).named("y")
    return tape.into_network().entry([y.symbol], numerics=numerics).lower()


def served(plan: Plan) -> dict[str, dict[str, int]]:
    """Returns how often each formula was served by whom in one run."""
    with Backend.tallied() as tally:
        plan.forward()
    rows: dict[str, dict[str, int]] = {}
    for formula, _, backend, times in tally:
        rows.setdefault(formula.value, {})[backend.value if backend else "reference"] = times
    return rows


def bits(plan: Plan) -> bytes:
    return plan.forward().of("y").numpy().tobytes()


def test_a_fast_run_is_served_by_numpy() -> None:
    simd = {"gemm": {"simd": 2}, "tanh": {"simd": 1}, "sum": {"simd": 1}}
    assert served(lowered(Numerics.FAST)) == simd
    assert served(lowered(Numerics.FAST, f64)) == simd


def test_a_fast_run_of_16_bits_takes_its_products_through_float32() -> None:
    rows = {"gemm": {"simd": 2}, "tanh": {"reference": 1}, "sum": {"simd": 1}}
    assert served(lowered(Numerics.FAST, bf16)) == rows
    fast = lowered(Numerics.FAST, bf16).forward().of("y").numpy().astype(np.float32)
    exact = lowered(Numerics.EXACT, bf16).forward().of("y").numpy().astype(np.float32)
    np.testing.assert_allclose(fast, exact, rtol=0.05, atol=0.05)


def test_an_exact_run_is_served_by_what_has_the_oracles_bits() -> None:
    pytest.importorskip("numba")
    rows = {"gemm": {"numba": 2}, "tanh": {"reference": 1}, "sum": {"numba": 1}}
    assert served(lowered(Numerics.EXACT)) == rows
    assert served(lowered(Numerics.EXACT, f64)) == rows | {"tanh": {"numba": 1}}


def test_every_run_is_counted_in_every_open_tally() -> None:
    plan = lowered(Numerics.FAST)
    with Backend.tallied() as outer:
        plan.forward()
        with Backend.tallied() as inner:
            plan.forward()
    products = Service(Formula.GEMM, Precision.F32, Backend.SIMD, 2)
    assert inner.rows()[0] == products
    assert outer.rows()[0] == products._replace(times=4)


def test_runs_of_other_threads_are_not_counted_here() -> None:
    plan, tallies = lowered(Numerics.FAST), list[Tally]()

    def work() -> None:
        with Backend.tallied() as tally:
            plan.forward()
        tallies.append(tally)

    threads = [threading.Thread(target=work) for _ in range(4)]
    with Backend.tallied() as ours:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert ours.rows() == ()
    assert [tally.rows()[0].times for tally in tallies] == [2, 2, 2, 2]


def test_a_device_that_fails_in_a_run_leaves_the_rest_to_the_next(device: Device) -> None:
    expected = bits(lowered(Numerics.FAST))
    plan = lowered(Numerics.FAST)
    both = {"gemm": {"cuda": 2}, "tanh": {"cuda": 1}, "sum": {"simd": 1}}
    assert served(plan) == both
    device.fails_after = device.calls + 1
    rows = {"gemm": {"cuda": 1, "simd": 1}, "tanh": {"simd": 1}, "sum": {"simd": 1}}
    assert served(plan) == rows
    assert not Backend.CUDA.status().ready
    assert served(plan) == {"gemm": {"simd": 2}, "tanh": {"simd": 1}, "sum": {"simd": 1}}
    assert bits(plan) == expected


def test_exact_bits_do_not_depend_on_a_device(device: Device) -> None:
    assert device.calls == 0
    assert bits(lowered(Numerics.EXACT)) == bits(lowered(Numerics.EXACT))
    assert device.calls == 0


class Shifted(Element):
    """An element whose products and exponentials are easy to tell from all others."""

    def gemm(self, task: GemmTask, exact: bool) -> Function | None:
        return None if exact else shifted_product

    def map(self, function: Formula, task: MapTask, exact: bool) -> Function | None:
        return halved if function is Formula.EXP else None

    def batch_norm(self, task: BatchNormTask, exact: bool) -> Function | None:
        return unnormalized


def unnormalized(x: Array, scale: Array, shift: Array, out: Array | None = None) -> Normalized:
    return Normalized(x + scale, shift, scale + shift)


def shifted_product(left: Array, right: Array, out: Array | None = None) -> Array:
    result: Array = np.add(left @ right, 1000, out=out)
    return result


def halved(array: Array, out: Array | None = None) -> Array:
    return np.multiply(array, np.float32(0.5), out=out)


def test_a_plan_asks_the_element_of_the_user_first() -> None:
    element = Shifted("s32", np.float32, mlir="f32")
    tape = Tape(element=element)
    x = tape.input([[1.0, 2.0], [3.0, 4.0]], name="x")
    (x @ x).named("product")
    x.exp().named("map")
    network = tape.into_network()
    fast, exact = (
        network.entry(["product", "map"], numerics=numerics).lower().forward()
        for numerics in (Numerics.FAST, Numerics.EXACT)
    )
    product = np.array([[7.0, 10.0], [15.0, 22.0]], np.float32)
    half = np.array([[0.5, 1.0], [1.5, 2.0]], np.float32)
    assert fast.of("product").numpy().tobytes() == (product + 1000).tobytes()
    assert exact.of("product").numpy().tobytes() == product.tobytes()
    assert fast.of("map").numpy().tobytes() == half.tobytes()
    assert exact.of("map").numpy().tobytes() == half.tobytes()


@pytest.mark.parametrize("numerics", Numerics)
def test_a_plan_asks_the_element_of_the_user_for_a_normalization(numerics: Numerics) -> None:
    element = Shifted("s32", np.float32, mlir="f32")
    tape = Tape(element=element)
    x = tape.input(np.ones((6, 2), np.float32), element=element)
    scale, shift = tape.input([2.0, 3.0]), tape.input([4.0, 5.0])
    average, spread = mean(x, 0).named("mean"), variance(x, 0).named("variance")
    deviation = (spread + 1e-5).sqrt()
    wide = [value.broadcast_along((0,), (6,)) for value in (average, deviation, scale, shift)]
    (wide[2] * ((x - wide[0]) / wide[1]) + wide[3]).named("output")
    entry = tape.into_network().entry(["output", "mean", "variance"], numerics=numerics)
    plan = entry.lower()
    with Backend.tallied() as tally:
        run = plan.forward()
    assert run.of("output").numpy().tolist() == [[3.0, 4.0]] * 6
    assert run.of("mean").numpy().tolist() == [4.0, 5.0]
    assert run.of("variance").numpy().tolist() == [6.0, 8.0]
    assert list(tally) == [Service(Formula.BATCH_NORM_TRAINING, Precision.F32, None)]
