"""Paths: where a parameter stands in a tree of modules."""

from __future__ import annotations

from dataclasses import dataclass

from topos.errors import SymbolError

__all__ = ["Path", "Segment"]

Segment = str | int
"""One step of a path: the name of a field, or a position among siblings, counted from zero."""


@dataclass(frozen=True, slots=True)
class Path:
    """The segments from the root of a module tree down to one parameter, whose name is last.

    Its text is the dotted form, `blocks.0.attention.query.weights`. `path / segment` is one step
    further down; a name without letters or with a dot, and a negative position, raise
    `SymbolError`.
    """

    segments: tuple[Segment, ...] = ()

    def __post_init__(self) -> None:
        for segment in self.segments:
            _demand_segment(segment)

    def __truediv__(self, segment: Segment) -> Path:
        return Path((*self.segments, segment))

    @property
    def name(self) -> Segment:
        """The last segment: the parameter's own name."""
        if not self.segments:
            raise SymbolError("the root of a module tree has no name")
        return self.segments[-1]

    def __str__(self) -> str:
        return ".".join(map(str, self.segments))


def _demand_segment(segment: object) -> None:
    if isinstance(segment, str) and segment and "." not in segment:
        return
    if isinstance(segment, int) and not isinstance(segment, bool) and segment >= 0:
        return
    raise SymbolError(f"a path needs names without dots or positions, got {segment!r}")
