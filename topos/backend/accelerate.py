"""The accelerate backend: Apple's BLAS where numpy was built on it, and vForce for the maps."""

from __future__ import annotations

import ctypes
import sys
from functools import cache, partial
from typing import Any, Final

import numpy as np

from topos.backend.device import too_small
from topos.backend.formula import Formula, Precision
from topos.backend.task import GemmTask, MapTask
from topos.backend.terms import Coverage, Declined, Dispatch, Fidelity, Kernel, Row, Status
from topos.op import Array

FEWEST: Final = 1 << 16
"""The size from which a map goes to vForce: there the way through ctypes costs a tenth of the
exponential by numpy."""

_LIBRARY: Final = "/System/Library/Frameworks/Accelerate.framework/Accelerate"
_WIDE: Final = (Precision.F64, Precision.F32)
# The names for float64; those for float32 end in f.
_FUNCTIONS: Final = {
    Formula.EXP: "vvexp",
    Formula.EXPM1: "vvexpm1",
    Formula.LN: "vvlog",
    Formula.LOG1P: "vvlog1p",
    Formula.SQRT: "vvsqrt",
    Formula.RSQRT: "vvrsqrt",
    Formula.TANH: "vvtanh",
    Formula.SIN: "vvsin",
    Formula.COS: "vvcos",
}


def absence() -> str | None:
    """Returns why this system has no Accelerate, or `None`."""
    return None if sys.platform == "darwin" else f"it needs macOS, got {sys.platform}"


def status() -> Status:
    """Returns whether vForce loads, and which BLAS the products go to."""
    refusal = _library_refusal()
    if refusal is not None:
        return Status(False, refusal)
    products = "products and maps" if _blas() == "accelerate" else f"maps; products by {_blas()}"
    return Status(True, products)


def _product(task: GemmTask) -> Kernel | Declined:
    """Returns numpy's product where it is Accelerate's."""
    if _blas() != "accelerate":
        return Declined(f"numpy was built on {_blas()}, not on Accelerate")
    return Kernel(np.matmul, writes=True)


def _map(name: str, task: MapTask) -> Kernel | Declined:
    """Returns vForce's map of large arrays."""
    refusal = too_small(task, 0, FEWEST) or _library_refusal()
    if refusal is not None:
        return Declined(refusal)
    suffix = "f" if task.element.dtype.itemsize == 4 else ""
    function = getattr(_library(), name + suffix)
    # The result, the operand and the count, by their places.
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    function.restype = None
    return Kernel(partial(_mapped, function), writes=True)


def _mapped(function: Any, values: Array, out: Array | None = None) -> Array:
    operand = np.ascontiguousarray(values)
    direct = out is not None and out.flags.c_contiguous
    result = out if out is not None and direct else np.empty_like(operand)
    function(result.ctypes.data, operand.ctypes.data, ctypes.byref(ctypes.c_int(operand.size)))
    if out is None or direct:
        return result
    np.copyto(out, result)
    return out


@cache
def _library() -> Any:
    return ctypes.CDLL(_LIBRARY)


@cache
def _library_refusal() -> str | None:
    try:
        _library()
    except OSError as error:
        return f"vForce cannot be loaded: {error}"
    return None


@cache
def _blas() -> str:
    settings: Any = np.show_config(mode="dicts")
    return str(settings["Build Dependencies"]["blas"]["name"])


def _near(bound: str) -> Coverage:
    return Coverage(_WIDE, Fidelity.ENVELOPE, Dispatch.HOST, bound)


_MAP: Final = _near("Apple states no bound, and none was measured")
TABLE: Final = {
    Formula.GEMM: Row(
        _near("n units in the last place of the sum of the magnitudes of its n terms"), _product
    ),
    **{formula: Row(_MAP, partial(_map, name)) for formula, name in _FUNCTIONS.items()},
}
