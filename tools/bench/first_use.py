"""The first use of the numba backend in a process, with its compiled code on disk, and its worth.

The oracle uses a compiled kernel from the task on that saves a hundredth of the first use.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from topos.backend import Backend, Formula
from topos.backend.twins import TWINS

ROUNDS = 5
CODE = """
import time
import numpy as np
from topos import TensorType, f32
from topos.backend import Backend, Formula, GemmTask
from topos.payload import kernels
operand = np.ones((64, 64), np.float32)
kernels.product.matmul(operand, operand)
square = TensorType((64, 64), f32)
start = time.perf_counter()
kernel = Backend.NUMBA.offer(Formula.GEMM, GemmTask(square, square), exact=True)
kernel(operand, operand)
print(time.perf_counter() - start)
"""


def seconds() -> float:
    """Returns what a fresh process waits for its first compiled product, its check included."""
    command = [sys.executable, "-c", CODE]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def least(call: Callable[[], Any]) -> float:
    """Returns the least processor time of some calls, in milliseconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        call()
        best = min(best, (time.process_time() - start) * 1e3)
    return best


def operands_of(formula: Formula, dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Returns a task as small as the oracle uses a compiled kernel for, a square."""
    work = TWINS[formula].repays
    rows = round((work / 2) ** (1 / 3)) if formula is Formula.GEMM else isqrt(work)
    array = np.random.default_rng(0).uniform(0.1, 3.0, (rows, rows)).astype(dtype)
    match formula:
        case Formula.GEMM:
            return array, array
        case Formula.SUM:
            return array, (1,)
    return (array,)


def saved(formula: Formula, dtype: np.dtype[Any]) -> None:
    """Prints what such a task takes by the oracle's kernel and by the compiled one."""
    twin, operands = TWINS[formula], operands_of(formula, dtype)
    own, ours = (least(partial(each, *operands)) for each in (twin.reference, twin.kernel))
    what = f"{formula.value} of {' by '.join(map(str, operands[0].shape))}, {dtype}"
    print(f"  {what:<34} {own:>8.1f} ms by the oracle, {ours:.1f} ms compiled")


def main() -> None:
    """Prints the best of some processes, and what a task saves."""
    answer = Backend.NUMBA.status()
    if not answer.ready:
        print(f"the numba backend is not ready: {answer.detail}")
        return
    best = min(seconds() for _ in range(ROUNDS))
    print("first use of the numba backend, compiled code on disk")
    print(f"  {'seconds':<34} {best:>12.2f}   must be at most 1")
    for formula, twin in TWINS.items():
        for dtype in twin.dtypes:
            saved(formula, dtype)


if __name__ == "__main__":
    main()
