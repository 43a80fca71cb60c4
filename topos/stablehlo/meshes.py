"""Meshes of devices and the shardings over their axes, read from the text that each is kept as."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

_TOKEN: Final = re.compile(
    r'\s*+("(?:[^"\\]|\\.)*+"|@(?:[\w$.\-]++|"(?:[^"\\]|\\.)*+")|#?\w[\w.]*+|-?\d++|[^\s\w])'
)
_KEPT: Final = 1024
# Extents and priorities are i64.
_BEYOND: Final = 1 << 63
T = TypeVar("T")
_SHARDING: Final = "#sdy.sharding"


class Axis(NamedTuple):
    """An axis of a mesh, or the part of `size` that begins after `before`; whole axes have 0, 0."""

    name: str
    before: int = 0
    size: int = 0

    def __str__(self) -> str:
        part = f":({self.before}){self.size}" if self.size or self.before else ""
        return f"{self.name}{part}"


class Mesh(NamedTuple):
    """The axes of a mesh with their extents, and its devices where they are listed."""

    axes: tuple[tuple[str, int], ...]
    devices: tuple[int, ...] = ()

    def fault(self) -> str:
        """Returns what is wrong with it, or `""`."""
        names = [name for name, _ in self.axes]
        count = math.prod(size for _, size in self.axes)
        if len(set(names)) != len(names):
            return f"has an axis twice among {', '.join(names)}"
        if min((size for _, size in self.axes), default=1) < 1:
            return "has an axis of less than one device"
        if not self.axes and (len(self.devices) > 1 or min(self.devices, default=0) < 0):
            return "has no axes, so it has at most one device, of number 0 or more"
        if self.axes and self.devices and sorted(self.devices) != list(range(count)):
            return f"has {count} devices, which are listed each once, got {list(self.devices)}"
        return ""

    @property
    def single(self) -> bool:
        """Whether it is one device, on which all of a value lies."""
        return not self.axes and len(self.devices) == 1


class Sharding(NamedTuple):
    """Along which axes of a mesh each axis of a value is divided.

    `mesh` is the name of one that stands beside the functions, or written in place. `idle` counts
    the closed dimensions that have a priority and no axis.
    """

    mesh: str | Mesh
    dimensions: tuple[tuple[Axis, ...], ...]
    replicated: tuple[Axis, ...]
    unreduced: tuple[Axis, ...]
    idle: int


@lru_cache(_KEPT)
def mesh_of(text: str) -> Mesh | None:
    """Returns the mesh that `#sdy.mesh<...>` spells, or `None` where it spells none."""
    return _read(text, "#sdy.mesh", _Reader.mesh)


@lru_cache(_KEPT)
def sharding_of(text: str) -> Sharding | None:
    """Returns the sharding that `#sdy.sharding<...>` spells, or `None` where it spells none."""
    return _read(text, _SHARDING, _Reader.sharding)


@lru_cache(_KEPT)
def shardings_of(text: str) -> tuple[Sharding, ...] | None:
    """Returns those of `#sdy.sharding_per_value<[...]>`, or `None` where it spells none."""
    return _read(text, "#sdy.sharding_per_value", _Reader.each)


def _read(text: str, opening: str, read: Callable[[_Reader], T]) -> T | None:
    if not text.startswith(f"{opening}<"):
        return None
    reader = _Reader(text[len(opening) :])
    try:
        value = read(reader)
        reader.end()
    except ValueError:
        return None
    return value


class _Reader:
    """The tokens of a text, taken one after the other; raises `ValueError` for any other one."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), ""]
        self._at = 0

    def end(self) -> None:
        self._take("")

    def mesh(self) -> Mesh:
        self._take("<")
        axes = self._listed("[", self._extent, "]")
        devices: tuple[int, ...] = ()
        if self._found(","):
            self._take("device_ids")
            self._take("=")
            devices = self._listed("[", self._number, "]")
            if not devices:
                raise ValueError
        self._take(">")
        return Mesh(axes, devices)

    def each(self) -> tuple[Sharding, ...]:
        self._take("<")
        shardings: tuple[Sharding, ...] = self._listed("[", self.sharding, "]")
        self._take(">")
        return shardings

    def sharding(self) -> Sharding:
        # An alias in a list of shardings stands for the whole spelling.
        self._found(_SHARDING)
        self._take("<")
        mesh: str | Mesh = self.mesh() if self._found("mesh") else self._after("@").strip('"')
        self._take(",")
        dimensions = self._listed("[", self._dimension, "]")
        others: dict[str, tuple[Axis, ...]] = {}
        while self._found(","):
            key = self._next()
            if key not in ("replicated", "unreduced") or key in others:
                raise ValueError
            self._take("=")
            others[key] = self._listed("{", self._axis, "}")
            if not others[key]:
                raise ValueError
        self._take(">")
        divided = tuple([axes for axes, _ in dimensions])
        idle = sum(prior for _, prior in dimensions)
        empty: tuple[Axis, ...] = ()
        return Sharding(
            mesh, divided, others.get("replicated", empty), others.get("unreduced", empty), idle
        )

    def _dimension(self) -> tuple[tuple[Axis, ...], bool]:
        """Returns the axes of a dimension, and whether it has a priority though it has none."""
        self._take("{")
        axes: list[Axis] = []
        closed = True
        while not self._found("}"):
            if axes:
                self._take(",")
            if self._found("?"):
                closed = False
                self._take("}")
                break
            axes.append(self._axis())
        match = re.fullmatch(r"p(0|[1-9]\d{0,18})", self._tokens[self._at])
        prior = match is not None and int(match[1]) < _BEYOND
        self._at += prior
        return tuple(axes), prior and closed and not axes

    def _axis(self) -> Axis:
        name = self._after('"')[:-1]
        if not self._found(":"):
            return Axis(name)
        self._take("(")
        before = self._number()
        self._take(")")
        return Axis(name, before, self._number())

    def _extent(self) -> tuple[str, int]:
        name = self._after('"')[:-1]
        self._take("=")
        return name, self._number()

    def _listed(self, start: str, read: Callable[[], Any], stop: str) -> tuple[Any, ...]:
        self._take(start)
        parts: list[Any] = []
        while not self._found(stop):
            if parts:
                self._take(",")
            parts.append(read())
        return tuple(parts)

    def _after(self, mark: str) -> str:
        """Returns what follows the mark that the next token begins with."""
        token = self._next()
        if not token.startswith(mark):
            raise ValueError
        return token[1:]

    def _number(self) -> int:
        token = self._next()
        number = int(token) if len(token) <= 20 else _BEYOND
        if number >= _BEYOND:
            raise ValueError
        return number

    def _take(self, token: str) -> None:
        if self._next() != token:
            raise ValueError

    def _found(self, token: str) -> bool:
        found = self._tokens[self._at] == token
        self._at += found
        return found

    def _next(self) -> str:
        token = self._tokens[self._at]
        self._at += self._at < len(self._tokens) - 1
        return token
