"""Devices: what backends that copy to one and back are, and those that failed in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import Any, Final

import numpy as np

from topos.backend.formula import Formula, Precision
from topos.backend.task import GemmTask, MapTask, Task
from topos.backend.terms import Coverage, Declined, Dispatch, Fidelity, Kernel, Row, Status
from topos.op import Array

# A driver that failed is in no known state, and that is a fact of the process, not of a run.
_FAILED: Final[dict[str, str]] = {}


@dataclass(slots=True, eq=False)
class Device:
    """A device by way of a `library`, which loads where it is first used and has numpy's `matmul`.

    `functions` are its names of the maps; `into` is its function that copies an array to the
    device, `back` the one that copies to the host, where numpy cannot. `fewest` elements of a map
    and `fewest_flops` of a product are worth their copies; 2**31 are 1024 rows, columns and terms.
    """

    library: str
    functions: Mapping[Formula, str]
    precisions: tuple[Precision, ...]
    bound: str
    into: str
    fewest: int
    back: str | None = None
    fewest_flops: int = 1 << 31

    def table(self) -> dict[Formula, Row]:
        """Returns a row for the product and for each map."""
        terms = Coverage(self.precisions, Fidelity.ENVELOPE, Dispatch.DEVICE, self.bound)
        names = {Formula.GEMM: "matmul", **self.functions}
        return {formula: Row(terms, partial(self._kernel, name)) for formula, name in names.items()}

    def status(self) -> Status:
        """Returns the library that computes, or why none does; the trial also warms its kernels."""
        refusal = _refusal(self)
        name = self.library.partition(".")[0]
        return Status(refusal is None, refusal or f"{name} {self._loaded().__version__}")

    def computed(self, name: str, *operands: Array, out: Array | None = None) -> Array:
        """Returns what the library's function `name` computes, on the host."""
        library = self._loaded()
        function: Callable[..., Any] = getattr(library, name)
        result = function(*map(getattr(library, self.into), operands))
        # numpy copies by the buffer protocol, which waits for the device.
        host = np.asarray(result) if self.back is None else getattr(library, self.back)(result)
        if out is None:
            out = np.empty(host.shape, host.dtype)
        np.copyto(out, host)
        return out

    def _kernel(self, name: str, task: Task) -> Kernel | Declined:
        """Returns a kernel that copies to the device and back, for tasks that are worth it."""
        refusal = too_small(task, self.fewest_flops, self.fewest) or _refusal(self)
        return Declined(refusal) if refusal else Kernel(partial(self.computed, name), writes=True)

    def _loaded(self) -> Any:
        return import_module(self.library)


@cache
def _refusal(device: Device) -> str | None:
    """Returns why a device fails on a small square, or `None` where it is right."""
    square = np.ones((8, 8), np.float32)
    try:
        # The library itself may fail to load, which is then the reason.
        product = device.computed("matmul", square, square)
    except Exception as error:  # A foreign driver may raise anything.
        return f"the device failed its trial: {type(error).__name__}: {error}"
    return None if (product == 8.0).all() else "the device failed its trial by a wrong product"


def too_small(task: Task, fewest_flops: int, fewest: int) -> str | None:
    """Returns why a task of fewer flops or elements is not worth the copies, or `None`."""
    match task:
        case GemmTask() if task.flops < fewest_flops:
            return f"a product needs {fewest_flops} flops or more, got {task.flops}"
        case MapTask() if task.size < fewest:
            return f"a map needs {fewest} elements or more, got {task.size}"
    return None


def disable(backend: str, failure: str) -> None:
    """Makes the backend of that name decline every further task, for the first failure."""
    _FAILED.setdefault(backend, failure)


def failure_of(backend: str) -> str | None:
    """Returns why the backend of that name is not asked any more, or `None`."""
    failure = _FAILED.get(backend)
    return None if failure is None else f"it failed and declines since: {failure}"
