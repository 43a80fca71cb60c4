"""Matching: which entry of a checkpoint is for which parameter, and which for nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from topos import Network, Symbol
from topos.errors import ArgumentError
from topos.neural.formula import given
from topos.neural.module import Module, Path, named_parameters
from topos.neural.optimizer import OptimizerState

Names = Module | Network | Mapping[str, Symbol] | Iterable[tuple[Path | str, Symbol]]
"""What parameters are called: a module's paths, a network's own names, or names and symbols."""

Rename = Callable[[str], str | None]
"""Our name of an entry of a foreign file, or `None` to leave the entry out."""

# No path of a module tree has a slash, so these entries are nobody's parameters.
STATE: Final = "optimizer/"


class Place(NamedTuple):
    """Where a tensor belongs: a parameter, what a slot keeps beside it, or neither: the count."""

    symbol: Symbol | None
    slot: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """What became of each entry: by our name, and of the file's where we have none for it.

    `left_out` are the entries that a renaming dropped, and optimizer state nobody asked for.
    """

    loaded: tuple[str, ...]
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    left_out: tuple[str, ...]


class Match(NamedTuple):
    """The file's entry for each of our names, the report, and what is claimed twice."""

    entries: Mapping[str, str]
    report: Report
    clashes: tuple[str, ...]


def named(names: Names) -> list[tuple[str, Symbol]]:
    """Returns the entry name and the symbol of every parameter of `names`, in its order.

    Raises `ArgumentError` where a parameter of a network has no name, or two have one.
    """
    seen: dict[str, Symbol] = {}
    for path, symbol in _pairs(names):
        name = str(path)
        if seen.setdefault(name, symbol) != symbol:
            raise ArgumentError(f"a checkpoint needs one parameter a name, got two for {name!r}")
    return list(seen.items())


def places_of(names: Names, state: OptimizerState | None) -> dict[str, Place]:
    """Returns the place of every entry of a checkpoint, by name: parameters, then the state."""
    pairs = named(names)
    places = {name: Place(symbol, None) for name, symbol in pairs}
    if state is None:
        return places
    kept = {f"{STATE}count": Place(None, None)}
    for slot, table in state.slots.items():
        held = set(table.symbols())
        own = [(name, symbol) for name, symbol in pairs if symbol in held]
        kept |= {f"{STATE}{slot}/{name}": Place(symbol, slot) for name, symbol in own}
    if taken := sorted(kept.keys() & places.keys()):
        raise ArgumentError(f"a checkpoint needs {taken[0]!r} for the state, got a parameter of it")
    return places | kept


def matched(
    names: Iterable[str], places: Mapping[str, Place], rename: Rename | None, *, stateful: bool
) -> Match:
    """Returns which of the file's `names` goes where."""
    entries: dict[str, str] = {}
    unexpected, left_out, clashes = [], [], []
    for entry in sorted(names):
        name = entry if rename is None else _own_name(entry, rename)
        if name is None or (name not in places and name.startswith(STATE) and not stateful):
            left_out.append(entry)
        elif name not in places:
            unexpected.append(entry)
        elif entries.setdefault(name, entry) != entry:
            clashes.append(f"{entries[name]} and {entry} are both {name}")
    found = {places[name] for name in entries}
    absent: dict[Place, str] = {}
    for name, place in places.items():
        if place not in found:
            absent.setdefault(place, name)
    loaded = tuple(name for name in places if name in entries)
    report = Report(loaded, tuple(absent.values()), tuple(unexpected), tuple(left_out))
    return Match({name: entries[name] for name in loaded}, report, tuple(clashes))


def _own_name(entry: str, rename: Rename) -> str | None:
    """Returns our name of an entry; raises `ArgumentError` where that is no text."""
    name = rename(entry)
    if not isinstance(name, str | None):
        raise ArgumentError(
            f"rename needs to return a name or None, got {given(name)} for {entry!r}"
        )
    return name


def _pairs(names: Names) -> Iterable[tuple[Path | str, Symbol]]:
    if isinstance(names, Network):
        return _own_names(names)
    if isinstance(names, Module):
        return named_parameters(names)
    pairs = names.items() if isinstance(names, Mapping) else names
    several = list(pairs) if isinstance(pairs, Iterable) else [pairs]
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in several):
        raise ArgumentError(
            f"a checkpoint needs a module, a network, or names and symbols, got {given(names)}"
        )
    return several


def _own_names(network: Network) -> list[tuple[str, Symbol]]:
    own = [node for node in network.nodes() if node.operation.name == "parameter"]
    nameless = [str(node.symbol) for node in own if node.name is None]
    if nameless:
        raise ArgumentError(f"a checkpoint needs named parameters, got {', '.join(nameless)}")
    return [(node.name, node.symbol) for node in own if node.name is not None]
