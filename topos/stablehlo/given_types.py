"""Types as people give them: by their text, as a shape with an element, or as an array has them."""

from __future__ import annotations

from operator import index
from typing import Any, Final

import numpy as np

from topos.errors import ArgumentError, ElementError
from topos.stablehlo.ir import OtherType, Tensor, TupleType, Type, Unranked
from topos.stablehlo.parser.typetext import tensor_of
from topos.stablehlo.readable import demand_readable_type
from topos.stablehlo.types import ELEMENTS, EXISTING, TOKEN, element_of
from topos.stablehlo.wellformed import demand_wellformed

__all__ = ["TYPES", "element_name", "type_of"]

TYPES: Final = (Tensor, Unranked, TupleType, OtherType)


def type_of(type: Any, element: str = "") -> Type:
    """Returns the type that `type` is, spells, or has as an array; a shape needs its `element`.

    Raises what the verifier would where no value has such a type.
    """
    made = _read(type, element)
    demand_wellformed(made, 0, 0)
    return made


def _read(type: Any, element: str) -> Type:
    match type:
        case Tensor(tuple() as shape, str(name), encoding):
            return Tensor(tuple(map(_extent, shape)), name, encoding)
        case Unranked() | TupleType() | OtherType():
            demand_readable_type(type)
            return type
        case str() if type.startswith("tensor<") and type.endswith(">"):
            return tensor_of(type)
        case str() if type == "token":
            return TOKEN
        case str() if type in ELEMENTS:
            return Tensor((), type)
        case tuple() | list() if not isinstance(element, str) or element:
            return Tensor(tuple(map(_extent, type)), element_name(element))
        case ((tuple() | list()) as shape, str(name)):
            return _read(shape, name)
        case _ if hasattr(type, "shape") and hasattr(type, "dtype"):
            return Tensor(tuple(map(int, type.shape)), element_name(element or type.dtype))
    raise ArgumentError(
        "a type is spelled as in 'tensor<2x3xf32>', or is a shape with its element beside it, "
        f"such as (2, 3), 'f32'; got {type!r}"
    )


def element_name(element: Any) -> str:
    """Returns the name of the elements that `element` is, or is the dtype of."""
    if isinstance(element, str) and element in ELEMENTS:
        return element
    try:
        return element_of(np.dtype(element))
    # numpy looks for a name among those of its own and reads it as a list of fields.
    except (SyntaxError, TypeError, ValueError):
        raise ElementError(f"no tensor has elements of {element!r}; {EXISTING}") from None


def _extent(value: Any) -> int | None:
    """Returns an extent; `None` is a dynamic one."""
    if value is None:
        return None
    try:
        extent = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        extent = -1
    if not 0 <= extent < 1 << 63:
        raise ArgumentError(f"an extent is an integer of 0 or more, or None, got {value!r}")
    return extent
