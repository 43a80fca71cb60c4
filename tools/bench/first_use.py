"""The first use of the numba backend in a process, with its compiled code on disk."""

from __future__ import annotations

import subprocess
import sys

from topos.backend import Backend

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


def main() -> None:
    """Prints the best of some processes."""
    answer = Backend.NUMBA.status()
    if not answer.ready:
        print(f"the numba backend is not ready: {answer.detail}")
        return
    best = min(seconds() for _ in range(ROUNDS))
    print("first use of the numba backend, compiled code on disk")
    print(f"  {'seconds':<34} {best:>12.2f}   must be at most 1")


if __name__ == "__main__":
    main()
