"""A device for tests: cupy played by numpy, which can be told to fail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from topos.backend import Backend, cuda
from topos.backend import device as devices

__all__ = ["Device", "device"]


class Device:
    """What the cuda backend asks of cupy; products and maps raise after `fails_after` calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails_after: float = float("inf")
        self.__version__ = "of the test"

    def asarray(self, array: Any) -> Any:
        return np.array(array)

    def asnumpy(self, array: Any) -> Any:
        return np.array(array)

    def matmul(self, left: Any, right: Any) -> Any:
        return self._computed(np.matmul, left, right)

    def tanh(self, array: Any) -> Any:
        return self._computed(np.tanh, array)

    def _computed(self, function: Any, *operands: Any) -> Any:
        self.calls += 1
        if self.calls > self.fails_after:
            raise RuntimeError("an illegal address")
        return function(*operands)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """A device that is ready, in use, and takes every size; the process forgets it afterwards."""
    played = Device()
    monkeypatch.setattr(cuda, "absence", lambda: None)
    monkeypatch.setitem(sys.modules, "cupy", played)
    monkeypatch.setattr(cuda.DEVICE, "fewest_flops", 0)
    monkeypatch.setattr(cuda.DEVICE, "fewest", 0)
    monkeypatch.setattr(devices, "_FAILED", {})
    devices._refusal.cache_clear()
    Backend.use({Backend.CUDA: True})
    yield played
    Backend.use(None)
    devices._refusal.cache_clear()
