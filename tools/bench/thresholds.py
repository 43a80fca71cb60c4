"""What each backend takes for tasks of every size, in microseconds, as Markdown tables.

The sizes from which a backend takes a task are chosen by these. Devices are measured here below
their thresholds too, so that those of another machine can be seen. One thread; the best of rounds
run in turn.
"""

from __future__ import annotations

import os
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from typing import Any, Final

# What numpy and its BLAS read when they are first imported.
SETTING: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
TUNING: Final = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "NPY_DISABLE_CPU_FEATURES")
if any(os.environ.get(name) != value for name, value in SETTING.items()) or any(
    name in os.environ for name in TUNING
):
    kept = {name: value for name, value in os.environ.items() if name not in TUNING}
    os.execve(sys.executable, [sys.executable, *sys.argv], {**kept, **SETTING})

import numpy as np  # noqa: E402  # numpy must find the environment set.
import numpy.typing as npt  # noqa: E402  # See above.

from topos import TensorType, f32, f64  # noqa: E402  # See above.
from topos.backend import (  # noqa: E402  # See above.
    BatchNormTask,
    Declined,
    Formula,
    GemmTask,
    MapTask,
    ReduceTask,
    Task,
    accelerate,
    cuda,
    metal,
    precision_of,
)
from topos.backend.chain import reference  # noqa: E402  # See above.
from topos.payload import Element  # noqa: E402  # See above.

Array = npt.NDArray[Any]
Call = Callable[[], object]

ROUNDS: Final = 15
# A measurement repeats a short call for about this long.
SPAN: Final = 5e-4


def uniform(shape: tuple[int, ...], element: Element) -> Array:
    """Returns random numbers between 0.1 and 3."""
    return np.random.default_rng(0).uniform(0.1, 3.0, shape).astype(element.dtype)


def rivals(formula: Formula, task: Task, *operands: Array) -> Iterator[tuple[str, Call]]:
    """Yields whoever computes `task` here, in an exact run if there the bits are the oracle's."""
    precision = precision_of(task)
    assert precision is not None
    for backend in formula.chain(precision):
        fidelity = backend.coverage(formula).fidelity
        assert fidelity is not None
        kernel = backend.offer(formula, task, exact=fidelity.exact)
        if not isinstance(kernel, Declined):
            yield backend.value, lambda kernel=kernel: kernel(*operands)
    oracle = reference(formula, task)
    yield "reference", lambda: oracle(*operands)


def microseconds(calls: dict[str, Call]) -> dict[str, float]:
    """Returns the least time of each call, in a row of calls that follow an untimed one."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            call()
            # A busy machine takes from the clock, but not from this process's own time.
            timer = timeit.Timer(call, timer=time.process_time)
            times = max(1, int(SPAN / timer.timeit(1)))
            best[name] = min(best[name], timer.timeit(times) / times * 1e6)
    return best


def table(title: str, rows: dict[str, dict[str, float]]) -> None:
    """Prints a table: a row a size, a column a rival."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    print(f"| {title} | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for size, row in rows.items():
        cells = (f"{row[name]:.3g}" if name in row else "" for name in names)
        print(f"| {size} | {' | '.join(cells)} |")
    print(flush=True)


def products(element: Element) -> dict[str, dict[str, float]]:
    """Returns the times of products of squares."""
    rows = {}
    for size in (1, 8, 32, 128, 512):
        operand = TensorType((size, size), element)
        arrays = [uniform(operand.shape, element) for _ in range(2)]
        task = GemmTask(operand, operand)
        rows[str(size)] = microseconds(dict(rivals(Formula.GEMM, task, *arrays)))
    return rows


def maps(formula: Formula, element: Element) -> dict[str, dict[str, float]]:
    """Returns the times of a map."""
    rows = {}
    for size in (1, 64, 4096, 1 << 18):
        array = uniform((size,), element)
        task = MapTask(TensorType((size,), element))
        rows[str(size)] = microseconds(dict(rivals(formula, task, array)))
    return rows


def sums(element: Element) -> dict[str, dict[str, float]]:
    """Returns the times of sums of rows."""
    rows = {}
    for shape in ((1, 1), (8, 8), (64, 256), (1024, 1024)):
        task = ReduceTask(TensorType(shape, element), (1,))
        array = uniform(shape, element)
        rows[f"{shape[0]} by {shape[1]}"] = microseconds(dict(rivals(Formula.SUM, task, array)))
    return rows


def norms(element: Element) -> dict[str, dict[str, float]]:
    """Returns the times of batch normalizations."""
    rows = {}
    for shape in ((8, 8), (64, 256), (1024, 1024)):
        task = BatchNormTask(TensorType(shape, element), 1e-5)
        arrays = [uniform(each, element) for each in (shape, shape[1:], shape[1:])]
        calls = dict(rivals(Formula.BATCH_NORM_TRAINING, task, *arrays))
        rows[f"{shape[0]} by {shape[1]}"] = microseconds(calls)
    return rows


if __name__ == "__main__":
    for device in (metal, cuda):
        device.DEVICE.fewest = device.DEVICE.fewest_flops = 0
    accelerate.FEWEST = 0  # type: ignore[misc]  # For this process alone.
    for own in (f32, f64):
        table(f"product of squares, {own}", products(own))
    table("exp, f64", maps(Formula.EXP, f64))
    table("tanh, f64", maps(Formula.TANH, f64))
    table("tanh, f32", maps(Formula.TANH, f32))
    table("sum of rows, f32", sums(f32))
    table("batch norm, f32", norms(f32))
