"""Devices: what backends that copy to one and back share, and those that failed in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.backend.formula import Formula, Precision
from topos.backend.task import GemmTask, MapTask
from topos.backend.terms import Coverage, Declined, Dispatch, Fidelity, Kernel, Row

Array = npt.NDArray[Any]

# A driver that failed is in no known state, and that is a fact of the process, not of a run.
_FAILED: Final[dict[str, str]] = {}


def disable(backend: str, failure: str) -> None:
    """Makes the backend of that name decline every further task, for the first failure."""
    _FAILED.setdefault(backend, failure)


def failure_of(backend: str) -> str | None:
    """Returns why the backend of that name is not asked any more, or `None`."""
    failure = _FAILED.get(backend)
    return None if failure is None else f"it failed and declines since: {failure}"


def device_table(
    functions: Mapping[Formula, str],
    precisions: tuple[Precision, ...],
    bound: str,
    kernel: Callable[[str, Any], Kernel | Declined],
) -> dict[Formula, Row]:
    """Returns the table of a device whose library has numpy's `matmul` and maps of these names.

    `kernel` makes the kernel of a task by the function's name.
    """
    terms = Coverage(precisions, Fidelity.ENVELOPE, Dispatch.DEVICE, bound)
    names = {Formula.GEMM: "matmul", **functions}
    return {formula: Row(terms, partial(kernel, name)) for formula, name in names.items()}


def too_small(task: Any, fewest_flops: int, fewest: int) -> str | None:
    """Returns why a task of fewer flops or elements is not worth the copies, or `None`."""
    match task:
        case GemmTask(flops=flops) if flops < fewest_flops:
            return f"a product needs {fewest_flops} flops or more, got {flops}"
        case MapTask(size=size) if size < fewest:
            return f"a map needs {fewest} elements or more, got {size}"
    return None


def trial(product: Callable[[Array, Array], Array]) -> str | None:
    """Returns why a device's `product` fails on a small square, or `None` where it is right."""
    try:
        square = np.ones((8, 8), np.float32)
        computed = product(square, square)
    except Exception as error:  # A foreign driver may raise anything.
        return f"the device failed its trial: {type(error).__name__}: {error}"
    return None if (computed == 8.0).all() else "the device failed its trial by a wrong product"
