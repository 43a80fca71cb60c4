"""Precisions: the number formats that tasks reach a backend in."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from topos.errors import ArgumentError

__all__ = ["Precision", "demand_precision"]


class Precision(Enum):
    """The floating formats that some backend has kernels for; each value is an element's name."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"

    @classmethod
    def of(cls, dtype: np.dtype[Any]) -> Precision | None:
        """Returns the precision stored as `dtype`, or `None`: integers and others have none."""
        # By name, for the dtype of bfloat16 belongs to an extension that may not be loaded.
        match dtype.name:
            case "float64":
                return cls.F64
            case "float32":
                return cls.F32
            case "float16":
                return cls.F16
            case "bfloat16":
                return cls.BF16
        return None


def demand_precision(precision: object) -> None:
    """Raises `ArgumentError` where `precision` is no `Precision`: a name of one is none."""
    if not isinstance(precision, Precision):
        choices = ", ".join(f"Precision.{member.name}" for member in Precision)
        raise ArgumentError(f"a precision is one of {choices}, got {precision!r}")
