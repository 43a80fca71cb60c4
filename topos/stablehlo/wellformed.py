"""Well-formed types: known elements, extents and bounds that mean something."""

from __future__ import annotations

import re
from typing import Final

from topos.errors import UnsupportedError, VerifyError
from topos.stablehlo.ir import Attributes, OtherType, Tensor, TupleType, Type
from topos.stablehlo.shapes import read_bounds
from topos.stablehlo.types import EXISTING, is_element

__all__ = ["demand_wellformed", "parameter_fault"]

_PART: Final = r"(?:tensor<(?:[^<>]|<[^<>]*>)*>|tuple<.*>|!stablehlo\.token)"
_OTHERS: Final = re.compile(
    rf"!stablehlo\.token|!stablehlo\.future<(?:{_PART}(?:,\s*{_PART})*)?>|memref<.*>|none",
    re.DOTALL,
)
_VECTOR: Final = re.compile(r"vector<(?:(?:[1-9][0-9]*|\[[1-9][0-9]*\])x)*(\w+)>")


def demand_wellformed(type: Type, line: int, column: int) -> None:
    """Refuses a type that no value has.

    Raises `VerifyError` for one that means nothing, `UnsupportedError` for one that is only not
    known here, such as a quantized element. Whether an operation takes a type is its own rule.
    """
    if isinstance(type, TupleType):
        for part in type.parts:
            demand_wellformed(part, line, column)
    elif isinstance(type, OtherType):
        _demand_other(type, line, column)
    else:
        _demand_element(type, type.element, line, column)
        if isinstance(type, Tensor) and type.encoding:
            _demand_encoding(type, line, column)


def parameter_fault(attributes: Attributes) -> str:
    """Returns what is wrong with the attributes of an argument or a result of a function, or `""`.

    MLIR takes only those there whose name begins with that of a dialect.
    """
    for key in attributes:
        if "." not in key:
            return f"takes attributes of a dialect, such as sdy.sharding, got {key!r}"
    return ""


def _demand_other(type: OtherType, line: int, column: int) -> None:
    if _OTHERS.fullmatch(type.text) or is_element(type.text):
        return
    vector = _VECTOR.fullmatch(type.text)
    if vector and is_element(vector[1]):
        return
    if type.text.startswith("!stablehlo."):
        raise VerifyError(f"no type is called {type}", line, column)
    raise UnsupportedError(f"type {type} is not supported", line, column)


def _demand_element(type: Type, element: str, line: int, column: int) -> None:
    if is_element(element):
        return
    if "!" in element or element.startswith(("tuple<", "vector<")):
        raise UnsupportedError(f"type {type} is not supported", line, column)
    raise VerifyError(f"{type} has no element called {element}; {EXISTING}", line, column)


def _demand_encoding(type: Tensor, line: int, column: int) -> None:
    bounds = read_bounds(type.encoding)
    if bounds is None:
        if "bounds" in type.encoding:
            raise VerifyError(f"{type} has bounds that are no integers", line, column)
        raise UnsupportedError(f"type {type} is not supported", line, column)
    if len(bounds) != len(type.shape):
        reason = f"{type} needs a bound for each of {len(type.shape)} axes, got {len(bounds)}"
        raise VerifyError(reason, line, column)
    for axis, (extent, bound) in enumerate(zip(type.shape, bounds, strict=True)):
        if extent is not None and bound is not None:
            raise VerifyError(f"{type} bounds its axis {axis}, which is static", line, column)
