"""The numba backend: kernels compiled for this machine, checked against the oracle's bits."""

from __future__ import annotations

from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np

from topos.backend.formula import Formula, Precision
from topos.backend.task import GemmTask, MapTask, ReduceTask
from topos.backend.terms import Coverage, Declined, Dispatch, Fidelity, Kernel, Row, Status
from topos.backend.twins import TWINS, Twin, sums_rows

_MISSING: Final = "it needs numba: pip install 'topos-compiler[numba]'"


def absence() -> str | None:
    """Returns why this install has no numba, or `None`."""
    return None if _installed() else _MISSING


def status() -> Status:
    """Returns whether every compiled kernel serves, or why one does not.

    The first call compiles them all, or loads what numba kept on disk.
    """
    installed = _installed()
    if installed is None:
        return Status(False, _MISSING)
    refusals = (refusal(twin, dtype) for twin in TWINS.values() for dtype in twin.dtypes)
    # One cause may keep every kernel from serving; it is told once.
    reasons = list(dict.fromkeys(reason for reason in refusals if reason is not None))
    return Status(not reasons, "; ".join(reasons) or f"numba {installed}")


def _compiled(twin: Twin, task: GemmTask | MapTask | ReduceTask) -> Kernel | Declined:
    """Returns the compiled twin of the oracle's kernel, or why it does not serve.

    A twin has the same bits: at its first use both run on fixed operands, some for each path
    through the compiled code, and it declines where one byte differs.
    """
    match task:
        case GemmTask():
            kernel = Kernel(twin.kernel, writes=True)
        case MapTask():
            kernel = Kernel(twin.kernel)
        case ReduceTask(operand, axes):
            if not sums_rows(operand.shape, axes):
                return Declined("a sum needs trailing axes, some but not all")
            kernel = Kernel(partial(twin.kernel, axes=axes))
    refused = refusal(twin, task.element.dtype)
    return kernel if refused is None else Declined(refused)


@cache
def refusal(twin: Twin, dtype: np.dtype[Any]) -> str | None:
    """Returns why `twin` does not serve `dtype`, or `None` where it does."""
    try:
        for operands in twin.operands(dtype):
            if twin.kernel(*operands).tobytes() != twin.reference(*operands).tobytes():
                return f"{twin.name} of {dtype} differs from the oracle's bits"
    except ImportError as error:
        return f"numba cannot be imported: {error}" if _installed() else _MISSING
    except Exception as error:  # A foreign compiler may raise anything; the oracle then serves.
        return f"{twin.name} of {dtype} does not compile: {type(error).__name__}: {error}"
    return None


@cache
def _installed() -> str | None:
    try:
        return version("numba")
    except PackageNotFoundError:
        return None


def _row(twin: Twin) -> Row:
    precisions = tuple(each for each in map(Precision.of, twin.dtypes) if each is not None)
    terms = Coverage(precisions, Fidelity.BIT_IDENTICAL, Dispatch.HOST)
    return Row(terms, partial(_compiled, twin), twin.repays)


TABLE: Final[dict[Formula, Row]] = {formula: _row(twin) for formula, twin in TWINS.items()}
