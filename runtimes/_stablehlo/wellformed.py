"""Well-formed types: known elements, extents and bounds that mean something."""

from __future__ import annotations

import re
from typing import Final

from topos.errors import UnsupportedError, VerifyError
from topos.runtimes._stablehlo.syntax import OtherType, Tensor, TupleType, Type
from topos.runtimes._stablehlo.types import ELEMENTS

__all__ = ["demand_wellformed"]

_KNOWN: Final = frozenset({*ELEMENTS, "index"})
_OTHERS: Final = re.compile(r"!stablehlo\.token|!stablehlo\.future<.*>", re.DOTALL)


def demand_wellformed(type: Type, line: int, column: int) -> None:
    """Refuses a type that no value has.

    Raises `VerifyError` for one that means nothing, `UnsupportedError` for one that is only not
    known here, such as a quantized element.
    """
    if isinstance(type, TupleType):
        for part in type.parts:
            demand_wellformed(part, line, column)
        return
    if isinstance(type, OtherType):
        if not _OTHERS.fullmatch(type.text):
            raise UnsupportedError(f"type {type} is not supported", line, column)
        return
    if type.element not in _KNOWN:
        if "!" in type.element:
            raise UnsupportedError(f"type {type} is not supported", line, column)
        raise VerifyError(f"{type} has no element called {type.element}", line, column)
    if isinstance(type, Tensor) and type.encoding and "bounds" not in type.encoding:
        raise UnsupportedError(f"type {type} is not supported", line, column)
