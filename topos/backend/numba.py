"""The numba backend: kernels compiled for this machine, checked against the oracle's bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.backend import twins
from topos.backend.fidelity import Fidelity
from topos.backend.status import Status

__all__ = ["FIDELITY", "Kernel", "served", "status"]

Array = npt.NDArray[Any]
Kernel = Callable[..., Array]

FIDELITY: Final = Fidelity.BIT_IDENTICAL
_MISSING: Final = "it needs numba: pip install 'topos-compiler[numba]'"


def status() -> Status:
    """Returns whether every compiled kernel serves, or why one does not.

    The first call compiles them all, or loads what numba kept on disk.
    """
    installed = _installed()
    if installed is None:
        return Status(False, _MISSING)
    refusals = (refusal(twin, dtype) for twin in twins.TWINS.values() for dtype in twin.dtypes)
    # One cause may keep every kernel from serving; it is told once.
    reasons = list(dict.fromkeys(reason for reason in refusals if reason is not None))
    return Status(not reasons, "; ".join(reasons) or f"numba {installed}")


def served(reference: Kernel, dtype: np.dtype[Any]) -> Kernel:
    """Returns the compiled twin of `reference` for operands of `dtype`, or `reference` itself.

    A twin has the same bits: at its first use both run on fixed operands, some for each path
    through the compiled code, and it declines where one byte differs.
    """
    twin = twins.TWINS.get(f"{reference.__module__}.{reference.__name__}")
    if twin is None or dtype not in twin.dtypes or refusal(twin, dtype) is not None:
        return reference
    return twin.kernel


@cache
def refusal(twin: twins.Twin, dtype: np.dtype[Any]) -> str | None:
    """Returns why `twin` does not serve `dtype`, or `None` where it does."""
    try:
        for operands in twin.operands(dtype):
            if twin.kernel(*operands).tobytes() != twin.reference()(*operands).tobytes():
                return f"{twin.name} of {dtype} differs from the oracle's bits"
    except ImportError as error:
        return f"numba cannot be imported: {error}" if _installed() else _MISSING
    except Exception as error:  # A foreign compiler may raise anything; the oracle then serves.
        return f"{twin.name} of {dtype} does not compile: {type(error).__name__}: {error}"
    return None


def _installed() -> str | None:
    try:
        return version("numba")
    except PackageNotFoundError:
        return None
