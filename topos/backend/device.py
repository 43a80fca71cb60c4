"""What backends that copy to a device and back share: the least work they take, and a trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.backend.offer import Declined
from topos.backend.task import GemmTask, MapTask, Task

__all__ = ["too_small", "trial"]

Array = npt.NDArray[Any]


def too_small(task: Task, fewest_flops: int, fewest: int) -> Declined | None:
    """Returns why a task of fewer flops or elements is not worth the copies, or `None`."""
    match task:
        case GemmTask(flops=flops) if flops < fewest_flops:
            return Declined(f"a product needs {fewest_flops} flops or more, got {flops}")
        case MapTask(size=size) if size < fewest:
            return Declined(f"a map needs {fewest} elements or more, got {size}")
    return None


def trial(product: Callable[[Array, Array], Array]) -> str | None:
    """Returns why a device's `product` fails on a small square, or `None` where it is right."""
    try:
        square = np.ones((8, 8), np.float32)
        computed = product(square, square)
    except Exception as error:  # A foreign driver may raise anything.
        return f"the device failed its trial: {type(error).__name__}: {error}"
    return None if (computed == 8.0).all() else "the device failed its trial by a wrong product"
