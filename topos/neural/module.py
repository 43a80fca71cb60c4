"""Modules: recording functions that hold named parameters, and the walk over their tree."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from topos import Symbol, Tape
from topos.errors import ArgumentError, SymbolError
from topos.neural.formula import given

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


@runtime_checkable
class Module(Protocol):
    """A recording function with parameters, some of its own, some of the modules it is made of.

    Any class with these two methods is one. It holds the symbols of its parameters, so it
    outlives the tape that recorded them and may express again where the network is reopened.
    """

    # The values and options differ from module to module, so the protocol leaves them open.
    def express(self, tape: Tape, /, *values: Any, **options: Any) -> Any:
        """Records the module applied to `values` on `tape`, and returns its result."""

    def visit(self, visitor: Visitor) -> None:
        """Shows the visitor every parameter and every child, in an order that never changes."""


class Layer:
    """A base for modules that keep their parameters and the modules they are made of as attributes.

    Parameters are shown and modules visited in the order in which `__init__` assigns them.
    """

    def visit(self, visitor: Visitor) -> None:
        """Shows the symbols and visits the modules among the attributes, in their order."""
        for name, held in vars(self).items():
            if isinstance(held, Symbol):
                visitor.parameter(name, held)
            elif isinstance(held, Module):
                visitor.child(name, held)


def demand_module(name: str, module: object) -> None:
    """Raises `ArgumentError` where `module` is none: a class that was not called is none yet."""
    # A class has the methods of its modules.
    if isinstance(module, type) or not isinstance(module, Module):
        raise ArgumentError(f"{name} needs a module, got {given(module)}")


class Visitor(ABC):
    """A walk over a tree of modules, which knows the path to where it is.

    A module's `visit` calls `parameter`, `child` and `children`; a walk of one's own says in
    `visited` what happens to each parameter.
    """

    def __init__(self) -> None:
        self._path = Path()

    @property
    def path(self) -> Path:
        """The path of the module that is being visited."""
        return self._path

    @abstractmethod
    def visited(self, path: Path, symbol: Symbol) -> None:
        """Receives each parameter with its path."""

    def parameter(self, name: str, symbol: Symbol) -> None:
        """Shows the parameter called `name` of the module that is being visited."""
        if not isinstance(symbol, Symbol):
            kind = type(symbol).__name__
            raise ArgumentError(f"{self._path / name} needs the symbol of a parameter, got {kind}")
        self.visited(self._path / name, symbol)

    def child(self, segment: Segment, module: Module) -> None:
        """Visits `module`, which stands at `segment` of the module that is being visited."""
        outer = self._path
        self._path = outer / segment
        try:
            demand_module(str(self._path), module)
            module.visit(self)
        finally:
            self._path = outer

    def children(self, name: str, modules: Iterable[Module]) -> None:
        """Visits each of `modules` by its position under `name`."""
        outer = self._path
        self._path = outer / name
        try:
            for position, module in enumerate(modules):
                self.child(position, module)
        finally:
            self._path = outer


class _Collection(Visitor):
    """The walk that lists every parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[Path, Symbol] = {}

    def visited(self, path: Path, symbol: Symbol) -> None:
        if path in self.found:
            raise SymbolError(f"a module tree needs one parameter a path, got two at {path}")
        self.found[path] = symbol


def named_parameters(module: Module) -> list[tuple[Path, Symbol]]:
    """Returns every parameter of the tree with its path, in the order of the visit.

    A parameter that two modules share is there once for each path. Raises `SymbolError` where
    two parameters have the same path.
    """
    demand_module("named_parameters", module)
    walk = _Collection()
    module.visit(walk)
    return list(walk.found.items())


def parameters(module: Module) -> list[Symbol]:
    """Returns the symbol of every parameter of the tree, each once, in the order of the visit.

    It is what `Tape.differentiate` takes as `wrt`.
    """
    return list(dict.fromkeys(symbol for _, symbol in named_parameters(module)))


def label(tape: Tape, module: Module, root: Segment | None = None) -> None:
    """Names every parameter of the tree on `tape` by its dotted path, under `root` if given.

    A shared parameter takes the last of its paths. Feeds, reads, `describe`, gradients and the
    emitted text then speak of `hidden.weights`.
    """
    for path, symbol in named_parameters(module):
        tape.value(symbol).named(str(path) if root is None else f"{Path((root,))}.{path}")
