"""The bounds of dynamic extents, which a tensor type states in its encoding."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from topos.stablehlo.ir import Tensor

__all__ = ["of_bounds", "read_bounds"]

# The second spelling is the first one's older name; it writes -1 where there is no bound.
_SPELLINGS: Final = re.compile(
    r"#stablehlo\.bounds<(?P<new>[^<>]*)>"
    r"|#stablehlo\.type_extensions<\s*bounds\s*=\s*\[(?P<old>[^\[\]]*)\]\s*>",
    re.DOTALL,
)
_ABSENT: Final = ("?", "-1")


@lru_cache(maxsize=4096)
def read_bounds(encoding: str) -> tuple[int | None, ...] | None:
    """Returns what an encoding bounds axis by axis, or `None` where it states no bounds."""
    stated = _SPELLINGS.fullmatch(encoding)
    if stated is None:
        return None
    parts = [part.strip() for part in (stated["new"] or stated["old"] or "").split(",")]
    if not all(part in _ABSENT or part.isdecimal() for part in parts if part):
        return None
    return tuple([None if part in _ABSENT else int(part) for part in parts if part])


def of_bounds(
    shape: tuple[int | None, ...], element: str, bounds: tuple[int | None, ...]
) -> Tensor:
    """Returns the tensor type of `shape` with the bounds that its dynamic extents have."""
    kept = [bound if extent is None else None for extent, bound in zip(shape, bounds, strict=True)]
    if all(bound is None for bound in kept):
        return Tensor(shape, element)
    spelled = ", ".join("?" if bound is None else str(bound) for bound in kept)
    return Tensor(shape, element, f"#stablehlo.bounds<{spelled}>")
