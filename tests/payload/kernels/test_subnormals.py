"""A thread that flushes subnormals is refused; one that keeps them is not."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from topos.errors import FlushedSubnormalsError
from topos.payload.kernels.subnormals import demand_subnormals, reports_invalid_operations

FLUSH_RESULTS, FLUSH_OPERANDS = 0x8000, 0x0040


@contextmanager
def control_bits(bits: int) -> Iterator[None]:
    """Sets bits of the control word of this thread's vector arithmetic (x86-64, glibc)."""
    library = ctypes.CDLL(None)
    saved, changed = (ctypes.create_string_buffer(32) for _ in range(2))
    library.fegetenv(saved)
    # The control word is the last four of the 32 bytes of the environment.
    word = int.from_bytes(saved.raw[28:], "little") | bits
    changed.raw = saved.raw[:28] + word.to_bytes(4, "little")
    library.fesetenv(changed)
    try:
        yield
    finally:
        library.fesetenv(saved)


def test_arithmetic_that_keeps_subnormals_is_accepted() -> None:
    demand_subnormals()


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="sets the x86-64 control word"
)
@pytest.mark.parametrize("bits", [FLUSH_RESULTS, FLUSH_OPERANDS, FLUSH_RESULTS | FLUSH_OPERANDS])
def test_arithmetic_that_flushes_subnormals_is_refused(bits: int) -> None:
    with (
        control_bits(bits),
        pytest.raises(FlushedSubnormalsError, match="arithmetic needs subnormal numbers, got"),
    ):
        demand_subnormals()
    demand_subnormals()


def test_numpy_reports_invalid_operations() -> None:
    assert reports_invalid_operations()
    with np.errstate(invalid="ignore"):
        assert reports_invalid_operations()
