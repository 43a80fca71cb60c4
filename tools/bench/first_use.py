"""The first use of the numba backend in a process, with its compiled code on disk."""

from __future__ import annotations

import subprocess
import sys

from topos import backend

ROUNDS = 5
CODE = """
import time
import numpy as np
from topos import backend
from topos.payload import kernels
operand = np.ones((64, 64), np.float32)
kernels.product.matmul(operand, operand)
start = time.perf_counter()
served = backend.numba.served(kernels.product.matmul, operand.dtype)
assert served is not kernels.product.matmul
served(operand, operand)
print(time.perf_counter() - start)
"""


def seconds() -> float:
    """Returns what a fresh process waits for its first compiled product, its check included."""
    command = [sys.executable, "-c", CODE]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Prints the best of some processes."""
    answer = backend.numba.status()
    if not answer.ready:
        print(f"the numba backend is not ready: {answer.detail}")
        return
    best = min(seconds() for _ in range(ROUNDS))
    print("first use of the numba backend, compiled code on disk")
    print(f"  {'seconds':<34} {best:>12.2f}   must be at most 1")


if __name__ == "__main__":
    main()
