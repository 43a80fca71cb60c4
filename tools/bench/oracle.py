"""The oracle's kernels beside numpy's own functions, on one thread, as a Markdown table.

A figure is the time of a kernel by the time of the numpy function that it stands for, both the
best of rounds run in turn, each right after an untimed call that brings the operands into the
caches. Where numba is not installed its column stays empty; a kernel without a compiled twin is
numpy's in both. `network.forward` runs the whole oracle, whose compiled product has the same bits:
that is checked first.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

# What numpy and its BLAS read when they are first imported.
SETTING: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
TUNING: Final = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "NPY_DISABLE_CPU_FEATURES")
if any(os.environ.get(name) != value for name, value in SETTING.items()) or any(
    name in os.environ for name in TUNING
):
    kept = {name: value for name, value in os.environ.items() if name not in TUNING}
    os.execve(sys.executable, [sys.executable, *sys.argv], {**kept, **SETTING})

import ml_dtypes  # noqa: E402  # numpy must find the environment set.
import numpy as np  # noqa: E402  # See above.
import numpy.typing as npt  # noqa: E402  # See above.

from topos import Network, Tape, reference  # noqa: E402  # See above.
from topos.backend import Backend  # noqa: E402  # See above.
from topos.backend.twins import TWINS  # noqa: E402  # See above.
from topos.payload import element_of  # noqa: E402  # See above.

Array = npt.NDArray[Any]
Call = Callable[[], object]

COUNT: Final = 1_000_000
ROUNDS: Final = 25
COLUMNS: Final = ("numpy", "numba")


class Task(NamedTuple):
    """A row: what it is, the limit of each column, numpy's call, the kernel and its operands.

    `compiled` is the kernel of the second column, if it is none of the twins.
    """

    what: str
    limits: tuple[float, float]
    rival: Call
    kernel: Callable[..., Array]
    operands: tuple[Any, ...] = ()
    compiled: Callable[..., Array] | None = None


def uniform(low: float, high: float, shape: Any, dtype: Any) -> Array:
    """Returns random numbers of an interval."""
    return np.random.default_rng(0).uniform(low, high, shape).astype(dtype)


def product(what: str, limits: tuple[float, float], shapes: Any, dtype: Any) -> Task:
    """Returns the task of a matrix product."""
    left, right = (uniform(-1.0, 1.0, shape, dtype) for shape in shapes)
    rival = partial(np.matmul, left, right)
    return Task(what, limits, rival, reference.product.matmul, (left, right))


def forwarded(dtype: Any) -> Task:
    """Returns the task of a product of 512 by `network.forward`, without numba and with it."""
    left, right = (uniform(-1.0, 1.0, (512, 512), dtype) for _ in range(2))
    tape = Tape(element=element_of(dtype))
    (tape.input(left) @ tape.input(right)).named("product")
    network = tape.into_network()
    calls = [partial(of_forward, network, used) for used in (False, True)]
    assert calls[0]().tobytes() == calls[1]().tobytes()
    what = f"{element_of(dtype)} product 512 by network.forward"
    return Task(what, (40.0, 3.0), partial(np.matmul, left, right), calls[0], (), calls[1])


def of_forward(network: Network, numba: bool) -> Array:
    """Returns the product that the oracle computes, with or without compiled kernels."""
    Backend.use({Backend.NUMBA: numba})
    return network.forward().of("product").numpy()


def total(what: str, limits: tuple[float, float], shape: Any, axes: tuple[int, ...]) -> Task:
    """Returns the task of a float32 sum."""
    array = uniform(-1.0, 1.0, shape, np.float32)
    return Task(what, limits, partial(np.sum, array, axes), reference.reduction.sum, (array, axes))


def mapped(name: str, rival: Callable[[Array], Array], dtype: Any) -> Task:
    """Returns the task of a map."""
    narrow = dtype == np.float32
    array = uniform(0.0 if name == "ln" else -8.0, 8.0, COUNT, dtype)
    return Task(
        f"{'f32' if narrow else 'f64'} {name} against numpy",
        (12.0, 10.0) if narrow else (70.0, 20.0),
        partial(rival, array),
        getattr(reference.maps, name),
        (array,),
    )


def combined(name: str, rival: Callable[[Array, Array], Array]) -> Task:
    """Returns the task of bfloat16 arithmetic against float32's."""
    left, right = uniform(-1.0, 1.0, (2, COUNT), np.float32)
    return Task(
        f"bf16 {name} against f32",
        (6.0, 6.0),
        partial(rival, left, right),
        getattr(reference.arithmetic, name),
        (left.astype(ml_dtypes.bfloat16), right.astype(ml_dtypes.bfloat16)),
    )


def logistic(array: Array) -> Array:
    """Returns the logistic function as one writes it with numpy."""
    result: Array = 1 / (1 + np.exp(-array))
    return result


def tasks() -> list[Task]:
    """Returns the rows of the table."""
    square, plane = ((512, 512), (512, 512)), (1024, 1024)
    maps = {"exp": np.exp, "ln": np.log, "tanh": np.tanh}
    return [
        product("f32 product 512 against np.matmul", (22.0, 2.2), square, np.float32),
        product("f64 product 512 against np.matmul", (22.0, 1.8), square, np.float64),
        product(
            "f32 25088x72 @ 72x16 against np.matmul",
            (12.0, 3.0),
            ((25088, 72), (72, 16)),
            np.float32,
        ),
        forwarded(np.float32),
        forwarded(np.float64),
        total("f32 sum, all, against np.sum", (1.3, 2.0), (COUNT,), (0,)),
        total("f32 sum along axis 0 of [1024, 1024]", (4.0, 3.0), plane, (0,)),
        total("f32 sum along axis 1 of [1024, 1024]", (4.0, 3.0), plane, (1,)),
        *(mapped(name, rival, np.float32) for name, rival in maps.items()),
        mapped("logistic", logistic, np.float32),
        *(mapped(name, rival, np.float64) for name, rival in maps.items()),
        combined("add", np.add),
        combined("multiply", np.multiply),
    ]


def best_times(rivals: dict[str, Call]) -> dict[str, float]:
    """Returns the least seconds that each rival took in any round, with warm caches."""
    best = dict.fromkeys(rivals, float("inf"))
    gc.collect()
    for _ in range(ROUNDS):
        for name, rival in rivals.items():
            rival()
            # A busy machine takes from the clock, but not from this process's own time.
            start = time.process_time()
            rival()
            best[name] = min(best[name], time.process_time() - start)
    return best


def twin_of(task: Task) -> Callable[..., Array]:
    """Returns the compiled twin of a task's kernel, or the kernel itself."""
    dtype = task.operands[0].dtype
    for twin in TWINS.values():
        if twin.reference is task.kernel and dtype in twin.dtypes:
            return twin.kernel
    return task.kernel


def row(task: Task, compiled: bool) -> str:
    """Measures a task and returns its row."""
    calls = {"numpy": task.kernel}
    if compiled:
        calls["numba"] = task.compiled or twin_of(task)
    rivals = {name: partial(kernel, *task.operands) for name, kernel in calls.items()}
    best = best_times({"rival": task.rival, **rivals})
    cells = []
    for column, limit in zip(COLUMNS, task.limits, strict=True):
        ratio = f"{best[column] / best['rival']:.1f}x" if column in best else ""
        cells.append(f"{ratio} | {limit:g}x")
    return f"| {task.what} | {' | '.join(cells)} |"


if __name__ == "__main__":
    ready = Backend.NUMBA.status().ready
    print("| what | " + " | ".join(f"{name} | at most" for name in COLUMNS) + " |")
    print("|---|" + "---|---|" * len(COLUMNS))
    for each in tasks():
        print(row(each, ready), flush=True)
