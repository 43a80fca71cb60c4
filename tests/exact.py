"""Claims told exactly: a tensor's bytes, a run's answers, the whole message of an error."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from topos import Element, Run, Tensor

QUIET = {"f64": 0x7FF8_0000_0000_0000, "f32": 0x7FC0_0000, "f16": 0x7E00, "bf16": 0x7FC0}


def quiet(element: Element) -> npt.NDArray[Any]:
    """Returns the canonical NaN of a floating element, a rank-0 array."""
    return np.array(QUIET[element.name], f"u{element.dtype.itemsize}").view(element.dtype)


def holds(tensor: Tensor, numbers: npt.ArrayLike, element: Element) -> bool:
    """Returns whether `tensor` is `numbers` in `element`: type and bytes, NaNs canonical."""
    # The signs of zeros count, so nothing here compares by value.
    with np.errstate(all="ignore"):
        wanted = np.array(numbers).astype(element.dtype)
    if element.name in QUIET:
        wanted[np.isnan(wanted)] = quiet(element)
    own = tensor.numpy()
    return (
        tensor.element is element
        and own.dtype == element.dtype
        and own.shape == wanted.shape
        and own.tobytes() == wanted.tobytes()
    )


def same(left: Tensor, right: Tensor) -> bool:
    """Returns whether two tensors are of one type and equal as bytes."""
    return left.type == right.type and left.numpy().tobytes() == right.numpy().tobytes()


def same_runs(left: Run, right: Run) -> bool:
    """Returns whether two runs answer the same symbols with the same bits, in the same order."""
    symbols = left.symbols()
    return symbols == right.symbols() and all(same(left.of(s), right.of(s)) for s in symbols)


def exactly(message: str) -> str:
    """Returns the pattern that only the whole of `message` matches."""
    return rf"\A{re.escape(message)}\Z"
