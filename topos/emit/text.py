"""Spelling types, numbers and constants as MLIR text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from topos.errors import EmitError
from topos.payload import Shape, TensorType

Array = npt.NDArray[Any]

LONGEST_LIST = 64
"""The most elements that a constant spells one by one; a longer one is a hex blob."""


def tensor_type(type: TensorType) -> str:
    """Returns the MLIR type: `tensor<64x10xf32>`; raises `EmitError` where there is none."""
    if not type.element.mlir:
        raise EmitError(f"the element {type.element} has no MLIR type")
    return f"tensor<{''.join(f'{extent}x' for extent in type.shape)}{type.element.mlir}>"


def integers(numbers: Sequence[int]) -> str:
    """Returns `[0, 1, 2]`."""
    return f"[{', '.join(map(str, numbers))}]"


def quoted(string: str) -> str:
    """Returns `string` as an MLIR string literal."""
    # MLIR escapes by two hex digits a byte; everything outside printable ASCII is escaped.
    escaped = (
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
        for byte in string.encode(errors="surrogatepass")
    )
    return f'"{"".join(escaped)}"'


def dense(array: Array) -> str:
    """Returns the `dense<...>` attribute of `array`: a splat, a list, or a hex blob."""
    if array.size == 0:
        return "dense<>"
    flat = array.reshape(-1)
    # Bits decide, for -0 equals +0 and no NaN equals another.
    if _is_splat(array):
        return f"dense<{number(flat[0])}>"
    # The blob of truth values is a bit an element to some parsers and a byte to others.
    if array.size > LONGEST_LIST and array.dtype.kind != "b":
        little = flat.astype(array.dtype.newbyteorder("<"), copy=False)
        return f'dense<"0x{little.tobytes().hex().upper()}">'
    return f"dense<{_nested(array)}>"


def _is_splat(array: Array) -> bool:
    """Returns whether every element of `array` has the bits of the first."""
    axes = zip(array.strides, array.shape, strict=True)
    if all(stride == 0 or extent == 1 for stride, extent in axes):
        return True
    raw = np.ascontiguousarray(array).reshape(-1).view(f"V{array.dtype.itemsize}")
    return bool((raw == raw[0]).all())


def _nested(array: Array) -> str:
    if array.ndim == 0:
        return number(array[()])
    return f"[{', '.join(_nested(part) for part in array)}]"


def number(scalar: Any) -> str:
    """Returns one number as MLIR reads it back to the same bits."""
    kind = scalar.dtype.kind
    if kind == "b":
        return "true" if scalar else "false"
    if kind in "iu":
        return str(int(scalar))
    value = float(scalar)
    if not np.isfinite(value):
        width = scalar.dtype.itemsize
        bits = int.from_bytes(np.asarray(scalar).tobytes(), "little")
        return f"0x{bits:0{2 * width}X}"
    # MLIR's float literals need a point. f32 and f64 have a shortest decimal; the 16-bit floats
    # print the exact value, which MLIR rounds back without a second rounding.
    text = repr(value) if scalar.dtype.itemsize != 4 else str(np.float32(scalar))
    mantissa, exponent, power = text.partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + exponent + power


def shape_text(shape: Shape) -> str:
    """Returns `array<i64: 1, 2>`."""
    return f"array<i64: {', '.join(map(str, shape))}>" if shape else "array<i64>"
