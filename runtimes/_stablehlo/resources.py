"""Resources: constants whose bytes stand at the end of a text, in a section of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from topos.runtimes._stablehlo.syntax import Dense, Tensor

__all__ = ["Resources", "absent", "resources_of"]

_ENTRY: Final = re.compile(r'([\w$.\-]+|"[^"\n]*+")\s*:\s*"0x([0-9A-Fa-f]*+)"')
_OPENING: Final = "dense_resource<"
# Four bytes before the elements tell how they are aligned.
_HEADER: Final = 8


def absent(constant: Dense) -> bool:
    """Returns whether the bytes of a constant are those of a resource that the text leaves out."""
    return constant.body.startswith(_OPENING)


class Resources(NamedTuple):
    """The hexadecimal digits of every resource by its name, the header of each included."""

    digits: Mapping[str, str]

    def body(self, constant: Dense) -> str:
        """Returns the body of `constant`, in the digits of its resource where it names one.

        One whose digits are left out keeps its name for a body.
        """
        if not absent(constant):
            return constant.body
        name = constant.body[len(_OPENING) : -1].strip().strip('"')
        element = constant.type.element if isinstance(constant.type, Tensor) else ""
        digits = self.dense(name, element)
        return constant.body if digits is None else f'"0x{digits}"'

    def dense(self, name: str, element: str) -> str | None:
        """Returns the digits of a dense constant of `element`; None where they are left out."""
        digits = self.digits.get(name)
        if digits is None:
            return None
        digits = digits[_HEADER:]
        return _packed(digits) if element == "i1" else digits


def resources_of(section: str) -> Resources:
    """Returns the resources of a section that opens with `{-#`."""
    found = _ENTRY.findall(section)
    return Resources({name.strip('"'): digits for name, digits in found})


def _packed(digits: str) -> str:
    """Returns the bytes of truth values as the bits of a dense constant, the lowest first."""
    truths = "".join("1" if byte else "0" for byte in bytes.fromhex(digits))
    groups = (truths[start : start + 8][::-1] for start in range(0, len(truths), 8))
    return "".join(f"{int(group, 2):02X}" for group in groups)
