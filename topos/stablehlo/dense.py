"""Dense constants: lists, splats and hexadecimal blobs decoded to arrays, and made of arrays."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.errors import ElementError, UnsupportedError
from topos.payload.kernels.conversion import convert
from topos.stablehlo.attribute_text import digits
from topos.stablehlo.ir import Dense, Tensor
from topos.stablehlo.parsed import TokenError
from topos.stablehlo.resources import absent
from topos.stablehlo.types import (
    ELEMENTS,
    checked,
    component,
    dtype_of,
    element_of,
    extents,
    is_complex,
    is_float,
    numbers_of,
    width,
)

Array = npt.NDArray[Any]

_COMMENT: Final = re.compile(r"//[^\n]*")
_ELEMENT: Final = re.compile(r"[^\[\],]+")
_COMPLEX: Final = re.compile(r"\([^\[\](),]+,[^\[\](),]+\)")
_SPACE: Final = re.compile(r"\s+")
_FLOAT: Final = re.compile(r"[-+]?[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?")
# What no list of decimal numbers holds; float and int themselves judge the rest.
_NOT_DECIMAL: Final = re.compile(r"[^0-9eE.,+-]|(?<![0-9])\.")
_NOT_INTEGER: Final = re.compile(r"[^0-9,-]")
_HEXADECIMAL: Final = re.compile(r"0x[0-9A-Fa-f]{1,32}")
_HEXADECIMAL_INTEGER: Final = re.compile(rf"-?{_HEXADECIMAL.pattern}")
_BARE: Final = str.maketrans("", "", "()")
# Longer constants are written as the digits of their bytes.
_LONGEST: Final = 64
_TRUTH: Final = {"true": True, "false": False, "1": True, "0": False, "-1": True}


def decoded(constant: Dense) -> Array:
    """Returns the constant as a read-only array of its type.

    A splat takes the memory of one element. Decimal numbers round once to float64 and once from
    there to the element, as MLIR reads them; a complex element is a pair of numbers. In a string
    every element begins a byte, but for truth values, which may be packed. Raises `TokenError`
    of the constant, and `UnsupportedError` where the text leaves its bytes out.
    """
    if constant.array is not None:
        return constant.array
    if absent(constant):
        reason = f"{constant.body}, whose bytes the text leaves out, is not supported"
        raise UnsupportedError(reason, constant.line, constant.column)
    stated = constant.type
    type = checked(numbers_of(stated) if isinstance(stated, Tensor) else stated, constant.line)
    body = constant.body.strip()
    if body.startswith('"'):
        array = _blob(body, type, constant)
    else:
        body = _SPACE.sub("", _COMMENT.sub("", body) if "//" in body else body)
        array = _listed(body, type, constant)
    array.setflags(write=False)
    constant.array = array
    return array


def dense_of(value: npt.ArrayLike, element: str) -> Dense:
    """Returns the constant of an array's elements, converted to `element`, that reads back as it.

    Equal elements are written once, many as the digits of their bytes. Raises `ElementError` where
    they cannot hold the array: floats round, and do not overflow.
    """
    dtype = ELEMENTS[element]
    given = np.asarray(value)
    if given.dtype.kind == "c" and dtype.kind != "c":
        raise ElementError(f"{element} holds not every element of {_short(given)}")
    with np.errstate(all="ignore"):
        array = given.astype(dtype)
    if not _holds(array, given):
        raise ElementError(f"{element} holds not every element of {_short(given)}")
    array.setflags(write=False)
    return Dense(_body(array, element), Tensor(array.shape, element), 0, 0, array)


def _body(array: Array, element: str) -> str:
    dtype, flat = array.dtype, np.ascontiguousarray(array).reshape(-1)
    if flat.size > 1 and flat.tobytes() == flat[:1].tobytes() * flat.size:
        return _spelled(flat[0], element)
    whole = dtype.itemsize > 1 or dtype.kind in "iu"
    if flat.size > _LONGEST and whole and dtype != np.bool_:
        raw = flat.astype(dtype.newbyteorder("<")).tobytes()
        return f'"0x{raw.hex().upper()}"'
    return listed(array, element)


def _holds(array: Array, given: Array) -> bool:
    """Returns whether an array of other elements has those given, rounded where they are floats."""
    if array.dtype.kind in "biu" or "int" in array.dtype.name:
        return np.array_equal(array, given)
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        return np.array_equal(np.isfinite(array.astype(wide)), np.isfinite(given.astype(wide)))


def _short(array: Array) -> str:
    text = str(array).replace("\n", "")
    return text if len(text) <= 60 else f"{text[:57]}..."


def listed(array: Array, element: str) -> str:
    """Returns every element of an array in brackets, as a constant's body has them."""
    if not array.ndim:
        return _spelled(array[()], element)
    if not array.size:
        return ""
    return f"[{', '.join([listed(part, element) for part in array])}]"


def _spelled(value: Any, element: str) -> str:
    if element == "i1":
        return "true" if value else "false"
    if element[0] in "iu":
        return str(int(value))
    if element.startswith("complex"):
        part = component(element)
        return f"({digits(float(value.real), part)}, {digits(float(value.imag), part)})"
    return digits(float(value), element)


def _blob(body: str, type: Tensor, constant: Dense) -> Array:
    dtype, count = dtype_of(type), math.prod(extents(type))
    try:
        if not body.startswith('"0x'):
            raise ValueError
        raw = bytes.fromhex(body[len('"0x') : -1])
    except ValueError:
        raise TokenError("a dense string needs 0x and pairs of digits", constant) from None
    if dtype == np.bool_ and len(raw) == (count + 7) // 8 and len(raw) != count:
        bits = np.unpackbits(np.frombuffer(raw, np.uint8), count=count, bitorder="little")
        return bits.astype(np.bool_).reshape(extents(type))
    if len(raw) == dtype.itemsize:
        element = _elements(raw, dtype).reshape(())
        return np.broadcast_to(element, extents(type)).view()
    if len(raw) != count * dtype.itemsize:
        needs = f"a dense string of {type} needs {count * dtype.itemsize} bytes"
        raise TokenError(f"{needs}, got {len(raw)}", constant)
    return _elements(raw, dtype).reshape(extents(type))


def _elements(raw: bytes, dtype: np.dtype[Any]) -> Array:
    if dtype == np.bool_:
        return np.asarray(np.frombuffer(raw, np.uint8) != 0)
    if dtype.itemsize > 1:
        return np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype, copy=False)
    return _patterns(np.frombuffer(raw, np.uint8), dtype)


def _patterns(patterns: Array, dtype: np.dtype[Any]) -> Array:
    """Returns the elements with these bits, of which a narrow one has the low ones of a byte."""
    mask = (1 << width(element_of(dtype))) - 1
    return np.asarray(patterns & patterns.dtype.type(mask)).view(dtype)


def _listed(body: str, type: Tensor, constant: Dense) -> Array:
    pattern = _COMPLEX if is_complex(type) else _ELEMENT
    parts = pattern.findall(body)
    if "[" not in body and len(parts) == 1 and body == parts[0]:
        element = _numbers(parts, type, constant).reshape(())
        return np.broadcast_to(element, extents(type)).view()
    whole = len(parts) == math.prod(extents(type))
    if not whole or not _fits(pattern.sub("", body), extents(type)):
        needs = f"a dense list needs the shape of {type}"
        raise TokenError(f"{needs}, got {_counted(len(parts), type)}", constant)
    return _numbers(parts, type, constant).reshape(extents(type))


def _counted(count: int, type: Tensor) -> str:
    wanted = math.prod(extents(type))
    return "other brackets" if count == wanted else f"{count} elements"


def _fits(brackets: str, shape: tuple[int, ...]) -> bool:
    """Returns whether a list of `shape` with its elements left out is `brackets`.

    That of no elements may be empty. Written with its brackets it tells the axes before the first
    of extent zero, so that has to be the last one.
    """
    if 0 in shape and (not brackets or 0 in shape[:-1] or math.prod(shape[:-1]) > len(brackets)):
        return not brackets
    text = ""
    for extent in reversed(shape):
        text = f"[{','.join([text] * extent)}]"
    return brackets == text


def _numbers(parts: list[str], type: Tensor, constant: Dense) -> Array:
    try:
        return _read(parts, type)
    except (KeyError, OverflowError, ValueError):
        needs = f"a dense constant needs elements of {type.element}"
        raise TokenError(f"{needs}, got {_culprit(parts, type)}", constant) from None


def _culprit(parts: list[str], type: Tensor) -> str:
    """Returns the first of `parts` that cannot be read."""
    for part in parts:
        try:
            _read([part], type)
        except (KeyError, OverflowError, ValueError):
            return part[:40]
    return "something else"


def _read(parts: list[str], type: Tensor) -> Array:
    if is_complex(type):
        each = type._replace(element=component(type.element))
        numbers = ",".join(parts).translate(_BARE).split(",") if parts else []
        return _read(numbers, each).view(dtype_of(type))
    if is_float(type):
        return _floats(parts, type)
    if type.element == "i1":
        is_hexadecimal = _HEXADECIMAL_INTEGER.fullmatch
        plain = [str(int(part, 16)) if is_hexadecimal(part) else part for part in parts]
        return np.array([_TRUTH[part] for part in plain], np.bool_)
    return _integers(parts, type)


def _floats(parts: list[str], type: Tensor) -> Array:
    dtype = dtype_of(type)
    plain = not _NOT_DECIMAL.search(",".join(parts)) and all("." in part for part in parts)
    numbers = list(map(float if plain else _float, parts))
    if type.element == "f8E8M0FNU":
        # A format without a zero has its least number in its place.
        numbers = [number or 2.0**-127 for number in numbers]
    array = convert(np.array(numbers, np.float64), dtype)
    if plain:
        return array
    # Hexadecimal digits are the element's own bits, NaN payloads included.
    patterns = [position for position, part in enumerate(parts) if part.startswith("0x")]
    bits = [int(parts[position], 16) for position in patterns]
    if max(bits, default=0) >= 1 << width(type.element):
        raise OverflowError
    unsigned = np.dtype(f"u{dtype.itemsize}")
    array.view(unsigned)[patterns] = np.array(bits, unsigned)
    return array


def _float(part: str) -> float:
    if _FLOAT.fullmatch(part):
        return float(part)
    if _HEXADECIMAL.fullmatch(part):
        return 0.0
    raise ValueError


def _integers(parts: list[str], type: Tensor) -> Array:
    dtype, bits = dtype_of(type), width(type.element)
    plain = not _NOT_INTEGER.search(",".join(parts))
    numbers = list(map(int if plain else _integer, parts))
    # A signless element may be written by either of its two readings.
    lowest = 0 if type.element.startswith("u") else -(1 << (bits - 1))
    if numbers and not (lowest <= min(numbers) and max(numbers) < 1 << bits):
        raise OverflowError
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return _patterns(np.array([number % (1 << bits) for number in numbers], unsigned), dtype)


def _integer(part: str) -> int:
    if _HEXADECIMAL_INTEGER.fullmatch(part):
        return int(part, 16)
    if _NOT_INTEGER.search(part):
        raise ValueError
    return int(part)
