"""Datatypes: the names that the Open Inference Protocol gives to numpy's elements."""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

__all__ = ["DATATYPES", "datatype"]

# The protocol's section "Tensor Data Types"; BF16 is Triton's. BYTES has no element here.
DATATYPES: Final[dict[str, np.dtype[Any]]] = {
    "BOOL": np.dtype(np.bool_),
    "UINT8": np.dtype(np.uint8),
    "UINT16": np.dtype(np.uint16),
    "UINT32": np.dtype(np.uint32),
    "UINT64": np.dtype(np.uint64),
    "INT8": np.dtype(np.int8),
    "INT16": np.dtype(np.int16),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "FP16": np.dtype(np.float16),
    "FP32": np.dtype(np.float32),
    "FP64": np.dtype(np.float64),
    "BF16": np.dtype(ml_dtypes.bfloat16),
}

_NAMES: Final = {dtype: name for name, dtype in DATATYPES.items()}


def datatype(dtype: np.dtype[Any]) -> str:
    """Returns the protocol's name of an element; one that has none is told by numpy's."""
    return _NAMES.get(dtype) or str(dtype)
