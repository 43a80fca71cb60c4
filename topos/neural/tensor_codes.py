"""Codes: what a safetensors file calls the storage of a tensor, and the element that it is."""

from __future__ import annotations

from typing import Final, NamedTuple

from topos import Element
from topos.payload import CARRIED


class Code(NamedTuple):
    """A code of the format, numpy's name of the same storage, and the element of topos, if any."""

    name: str
    storage: str
    element: Element | None


# Names and order are the format's own: https://huggingface.co/docs/safetensors.
CODES: Final[tuple[Code, ...]] = (
    Code("U64", "uint64", CARRIED["ui64"]),
    Code("I64", "int64", CARRIED["i64"]),
    Code("F64", "float64", CARRIED["f64"]),
    Code("F32", "float32", CARRIED["f32"]),
    Code("U32", "uint32", CARRIED["ui32"]),
    Code("I32", "int32", CARRIED["i32"]),
    Code("BF16", "bfloat16", CARRIED["bf16"]),
    Code("F16", "float16", CARRIED["f16"]),
    Code("U16", "uint16", CARRIED["ui16"]),
    Code("I16", "int16", CARRIED["i16"]),
    Code("F8_E5M2FNUZ", "float8_e5m2fnuz", None),
    Code("F8_E4M3FNUZ", "float8_e4m3fnuz", None),
    Code("F8_E8M0", "float8_e8m0fnu", None),
    Code("F8_E4M3", "float8_e4m3fn", None),
    Code("F8_E5M2", "float8_e5m2", None),
    Code("I8", "int8", CARRIED["i8"]),
    Code("U8", "uint8", CARRIED["ui8"]),
    Code("BOOL", "bool", CARRIED["bool"]),
)
_BY_NAME: Final = {code.name: code for code in CODES}
_RANKS: Final = {code.storage: rank for rank, code in enumerate(CODES)}


def rank_of(element: Element) -> int | None:
    """Returns the place among `CODES` of what stores `element`, one of the user's own too."""
    return _RANKS.get(element.dtype.name)


def element_of(code: str, wanted: Element | None = None) -> Element | None:
    """Returns `wanted` where a tensor of that code is stored as it is, else the code's own."""
    known = _BY_NAME.get(code)
    if known is None:
        return None
    is_wanted = wanted is not None and wanted.dtype.name == known.storage
    return wanted if is_wanted else known.element
