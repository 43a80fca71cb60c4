"""The tensor types that the interpreter holds, and numpy's dtype for each of their elements."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import ml_dtypes
import numpy as np

from topos.errors import ElementError, UnsupportedError
from topos.stablehlo.ir import OtherType, Tensor, TupleType, Type

ELEMENTS: Final[Mapping[str, np.dtype[Any]]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E3M4": np.dtype(ml_dtypes.float8_e3m4),
    "f8E4M3": np.dtype(ml_dtypes.float8_e4m3),
    "f8E4M3B11FNUZ": np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
    "f6E2M3FN": np.dtype(ml_dtypes.float6_e2m3fn),
    "f6E3M2FN": np.dtype(ml_dtypes.float6_e3m2fn),
    "f4E2M1FN": np.dtype(ml_dtypes.float4_e2m1fn),
    "complex<f64>": np.dtype(np.complex128),
    "complex<f32>": np.dtype(np.complex64),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "i4": np.dtype(ml_dtypes.int4),
    "i2": np.dtype(ml_dtypes.int2),
    "ui64": np.dtype(np.uint64),
    "ui32": np.dtype(np.uint32),
    "ui16": np.dtype(np.uint16),
    "ui8": np.dtype(np.uint8),
    "ui4": np.dtype(ml_dtypes.uint4),
    "ui2": np.dtype(ml_dtypes.uint2),
    "i1": np.dtype(np.bool_),
}
_NAMES: Final = {dtype: name for name, dtype in ELEMENTS.items()}
# The classes of elements that operations take, as the specification groups them.
ANY: Final = frozenset(ELEMENTS)
PREDICATE: Final = frozenset({"i1"})
COMPLEX: Final = frozenset(name for name in ANY if name.startswith("complex"))
UNSIGNED: Final = frozenset(name for name in ANY if name.startswith("ui"))
SIGNED: Final = frozenset(name for name in ANY if name.startswith("i")) - PREDICATE
INTEGERS: Final = SIGNED | UNSIGNED
FLOATS: Final = ANY - INTEGERS - COMPLEX - PREDICATE
# What an operand may hold that states a shape, a padding or indices.
SIZES: Final = INTEGERS | {"index"}
# What a refusal of any other element tells.
EXISTING: Final = f"the elements are {', '.join(ELEMENTS)}"
# What MLIR itself has as an element beside those of the specification.
# An integer of MLIR has less than 2**24 bits.
_NUMBER: Final = r"tf32|f80|f128|[su]?i[1-9][0-9]{0,6}"
_BUILTIN: Final = re.compile(
    rf"index|{_NUMBER}|complex<\s*(?:{_NUMBER}|(b?f[0-9]\w*))\s*>", re.ASCII
)
# The digits after the letters count the bits.
_LETTERS: Final = re.compile(r"[a-z]+(\d+)")
TOKEN: Final = OtherType("!stablehlo.token")
_FUTURE: Final = "!stablehlo.future<"
# numpy holds no more axes, and no index reaches further.
_MAXIMUM_RANK: Final = 64
MAXIMUM_SIZE: Final = 2**46


def is_element(name: str) -> bool:
    """Returns whether MLIR has an element of that name, which is perhaps none of `ELEMENTS`."""
    if name in ELEMENTS:
        return True
    builtin = _BUILTIN.fullmatch(name)
    return builtin is not None and (not builtin[1] or builtin[1] in ELEMENTS)


def dtype_of(type: Tensor) -> np.dtype[Any]:
    """Returns the dtype that holds the elements of a checked type."""
    return ELEMENTS[type.element]


def element_of(dtype: np.dtype[Any]) -> str:
    """Returns the name of the elements of a dtype; raises `ElementError` where no tensor has it."""
    try:
        return _NAMES[dtype]
    except KeyError:
        raise ElementError(f"no tensor has elements of {dtype}; {EXISTING}") from None


def extents(type: Tensor) -> tuple[int, ...]:
    """Returns the shape of a checked type, whose extents are all known."""
    return tuple([extent for extent in type.shape if extent is not None])


def is_float(type: Tensor) -> bool:
    """Returns whether the elements of a checked type are floating-point numbers."""
    return type.element in FLOATS


def is_complex(type: Tensor) -> bool:
    """Returns whether the elements of a checked type are complex numbers."""
    return type.element.startswith("complex")


def component(element: str) -> str:
    """Returns the element of both parts of a complex one; any other is its own."""
    return element.removeprefix("complex<").removesuffix(">")


def width(element: str) -> int:
    """Returns how many bits an element of that name has, both parts of a complex one counted."""
    digits = _LETTERS.match(component(element))
    assert digits, f"{element} is no element"
    return int(digits[1]) << element.startswith("complex")


def checked(type: Type, line: int) -> Tensor:
    """Returns `type` where it is a static tensor of a known element.

    Raises `UnsupportedError` with the type's spelling and the line for any other.
    """
    if (
        not isinstance(type, Tensor)
        or type.element not in ELEMENTS
        or None in type.shape
        or type.encoding
        or len(type.shape) > _MAXIMUM_RANK
        or math.prod(extent for extent in type.shape if extent) > MAXIMUM_SIZE
    ):
        raise UnsupportedError(f"type {type} is not supported", line)
    return type


def numbers_of(type: Tensor) -> Tensor:
    """Returns the type of the array that holds values of `type`: indices are i64."""
    return type._replace(element="i64") if type.element == "index" else type


def held(type: Type, line: int) -> Type:
    """Returns `type` where a program can hold a value of it.

    That is a tensor, a token, a tuple or a future. Raises `UnsupportedError` as `checked` does.
    """
    if isinstance(type, TupleType):
        return TupleType(tuple([held(part, line) for part in type.parts]))
    if isinstance(type, OtherType) and (type == TOKEN or type.text.startswith(_FUTURE)):
        return type
    return checked(type, line)


def number_of(pattern: int, element: str) -> float | None:
    """Returns the float of the type `element` whose bits are `pattern`, or `None`.

    There is none where `element` is no float or has fewer bits.
    """
    if element not in FLOATS or not 0 <= pattern < 1 << 8 * ELEMENTS[element].itemsize:
        return None
    dtype = ELEMENTS[element]
    with np.errstate(all="ignore"):
        return float(np.array([pattern], f"u{dtype.itemsize}").view(dtype)[0])


def digits_of(number: float, element: str) -> str:
    """Returns the bits of `number` as a float of the type `element`, f64 where that is none."""
    dtype = ELEMENTS[element if element in FLOATS else "f64"]
    with np.errstate(all="ignore"):
        pattern = int(np.array([number]).astype(dtype).view(f"u{dtype.itemsize}")[0])
    return f"0x{pattern:0{2 * dtype.itemsize}X}"
