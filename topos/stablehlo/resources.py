"""Resources: constants whose bytes stand at the end of a text, in a section of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Final, NamedTuple

import numpy as np

from topos.stablehlo.ir import Dense, Tensor
from topos.stablehlo.parsed import TokenError
from topos.stablehlo.types import ELEMENTS

_ENTRY: Final = re.compile(r'([\w$.\-]+|"[^"\n]*+")\s*:\s*"([^"\n]*+)"')
_PREFIX: Final = "0x"
_PAIRS: Final = re.compile(r"(?:[0-9A-Fa-f]{2})*+")
_OPENING: Final = "dense_resource<"
# Four bytes before the elements tell how they are aligned.
_HEADER: Final = 8


def absent(constant: Dense) -> bool:
    """Returns whether the bytes of a constant are those of a resource that the text leaves out."""
    return constant.body.startswith(_OPENING)


class Resources(NamedTuple):
    """What stands between the quotes of every resource, by its name."""

    blobs: Mapping[str, str]

    def body(self, constant: Dense) -> str:
        """Returns the body of `constant`, in the digits of its resource where it names one.

        One whose digits are left out keeps its name for a body. Raises `TokenError` for
        digits that do not fit the type.
        """
        if not absent(constant):
            return constant.body
        name = constant.body[len(_OPENING) : -1].strip().strip('"')
        if not isinstance(constant.type, Tensor) or name not in self.blobs:
            return constant.body
        reason = self.misfit(name, constant.type)
        if reason:
            raise TokenError(reason, constant)
        digits = self.digits(name) or ""
        return f'"0x{_packed(digits) if constant.type.element == "i1" else digits}"'

    def digits(self, name: str) -> str | None:
        """Returns the hexadecimal digits of the elements; None where the text leaves them out."""
        blob = self.blobs.get(name)
        return None if blob is None else blob[len(_PREFIX) + _HEADER :]

    def misfit(self, name: str, type: Tensor) -> str | None:
        """Returns why the bytes of a resource are no elements of `type`, or None where they are.

        The bytes of one element stand for all of them.
        """
        blob = self.blobs[name]
        digits = blob.removeprefix(_PREFIX)
        if digits == blob or len(digits) < _HEADER or not _PAIRS.fullmatch(digits):
            return (
                f"the resource {name} needs 0x and pairs of hexadecimal digits, got {blob[:20]!r}"
            )
        shape = [extent for extent in type.shape if isinstance(extent, int)]
        if len(shape) < len(type.shape) or type.element not in ELEMENTS:
            return None
        size, got = ELEMENTS[type.element].itemsize, (len(digits) - _HEADER) // 2
        if got in (size, needed := prod(shape) * size):
            return None
        return f"the resource {name} needs {needed} bytes for {type}, got {got}"


def resources_of(section: str) -> Resources:
    """Returns the resources of a section that opens with `{-#`."""
    found = _ENTRY.findall(section)
    return Resources({name.strip('"'): blob for name, blob in found})


def _packed(digits: str) -> str:
    """Returns the bytes of truth values as the bits of a dense constant, the lowest first."""
    if len(digits) == 2:
        # The one byte that stands for every element.
        return "FF" if int(digits, 16) else "00"
    truths = np.frombuffer(bytes.fromhex(digits), np.uint8) != 0
    return np.packbits(truths, bitorder="little").tobytes().hex().upper()
