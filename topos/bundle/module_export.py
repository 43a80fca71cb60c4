"""Exports of modules: StableHLO from anywhere and its weights, written as a bundle."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from topos.bundle.bundle import Bundle
from topos.bundle.compiled import devices_of
from topos.bundle.exporting import demand_options, readers_of, written
from topos.bundle.module_names import Names
from topos.bundle.module_reading import ReadModule, Shapes, read_modules
from topos.bundle.module_subject import ModuleSubject
from topos.bundle.naming import Payloads
from topos.bundle.ranges import Ranges, with_drawn
from topos.bundle.subject import Slot, viewed
from topos.errors import ArgumentError, BundleError, FeedError
from topos.neural import init
from topos.neural.shards import Shards, opened_shards
from topos.reading import Tensor
from topos.stablehlo.forms import ModuleLike

Weights = str | os.PathLike[str] | Payloads
"""A safetensors file, a folder or an index of several, or values by name."""


def export_module(
    path: str | os.PathLike[str],
    modules: ModuleLike | Sequence[ModuleLike],
    weights: Weights | None = None,
    *,
    names: Names | None = None,
    samples: Sequence[Payloads] = (),
    ranges: Ranges | None = None,
    shapes: Shapes | None = None,
    rows: Sequence[int] = (),
    batched: bool = False,
    partial: bool = False,
    name: str | None = None,
    compatibility: str = "week-12",
    seed: int = 0,
    compiled: Sequence[str] = (),
) -> Bundle:
    """Writes StableHLO modules in any form with their weights as a bundle, and returns it loaded.

    `weights` fill the arguments of `@main` that have the names of their entries, whose types have
    to be those of the arguments; an entry of no argument is an error unless `partial`. The other
    arguments are inputs of each call. `names` are those of the arguments and then of the results,
    in order, or map names that the module carries, or `arg0` and `result0`, to others. `shapes` are
    those of arguments whose extents the module leaves open, and `rows` numbers for every leading
    extent that it leaves open, of which each makes a program of a batched bundle.

    The oracle is the interpreter under Exact. What samples leave out is drawn: floats, truth
    values, integers of eight bits, and those of `ranges`, which are ends as Python's `range` has
    them. The rest is as `export` does it. Raises what that does, what reading a module raises, and
    `UnsupportedError` for what the oracle cannot run, such as a custom call.
    """
    demand_options(samples, batched, name)
    _demand_mappings(shapes=shapes, ranges=ranges)
    # It refuses what is no seed, before anything is drawn.
    init.normal(seed)
    readers, devices = readers_of(path, compatibility), devices_of(compiled)
    found = read_modules(modules, names, shapes, rows)
    if len(found) > 1 and not (batched or rows):
        raise BundleError(
            f"a bundle of {len(found)} modules needs batched=True: one function at several numbers"
            " of rows that leave each other alone"
        )
    subjects, alone = _subjects(found, weights, partial), not (batched or rows)
    given = with_drawn(subjects, samples, ranges or {}, not alone, seed)
    return written(path, subjects, given, not alone, name, readers, seed, devices)


def _demand_mappings(**options: object) -> None:
    """Raises `ArgumentError` for what maps no names to pairs or shapes."""
    for what, given in options.items():
        fits = isinstance(given, Mapping) and all(
            isinstance(each, Sequence) and not isinstance(each, str) for each in given.values()
        )
        if given is not None and not fits:
            raise ArgumentError(f"{what} map names to tuples of integers, got {given!r}")


def _subjects(
    found: Sequence[ReadModule], weights: Weights | None, partial: bool
) -> list[ModuleSubject]:
    """Returns the modules with their weights, which all of them share."""
    if weights is None:
        values: dict[str, Tensor] = {}
    elif isinstance(weights, Mapping):
        values = _given(found, weights, partial)
    elif isinstance(weights, str | os.PathLike):
        with opened_shards(weights) as file:
            values = _read(found, file, weights, partial)
    else:
        needs = "weights are the path of a safetensors file or map names to values"
        raise ArgumentError(f"{needs}, got {type(weights).__name__}")
    return [
        ModuleSubject(
            each.module,
            each.text,
            tuple(slot._replace(value=values.get(slot.name)) for slot in each.arguments),
            each.results,
        )
        for each in found
    ]


def _given(found: Sequence[ReadModule], weights: Payloads, partial: bool) -> dict[str, Tensor]:
    """Returns values by the names of the arguments that they are for."""
    taken, faults = _wanted(found, list(weights), partial)
    values = {}
    for slot in taken:
        try:
            values[slot.name] = viewed(slot.name, slot.type, weights[slot.name])
        except FeedError as error:
            faults.append(str(error))
    _demand_none(faults, "the weights do", found)
    return values


def _read(found: Sequence[ReadModule], file: Shards, path: Any, partial: bool) -> dict[str, Tensor]:
    """Returns the entries of a file that arguments have the names of; no others are read."""
    taken, faults = _wanted(found, file.names, partial)
    values = {}
    for slot in taken:
        if file.type(slot.name) != slot.type:
            faults.append(f"{slot.name!r} needs {slot.type}, got {file.type(slot.name)}")
        elif not faults:
            values[slot.name] = file.tensor(slot.name)
    _demand_none(faults, f"{os.fspath(path)} does", found)
    return values


def _wanted(
    found: Sequence[ReadModule], names: Sequence[str], partial: bool
) -> tuple[list[Slot], list[str]]:
    """Returns the arguments that have a name among `names`, and what is wrong with the others."""
    known = {slot.name: slot for each in found for slot in each.arguments}
    unused = [name for name in names if name not in known]
    is_excused = partial and len(unused) < len(names)
    faults = [] if is_excused else [_unused(name, known) for name in unused]
    return [known[name] for name in names if name in known], faults


def _unused(name: str, arguments: Iterable[str]) -> str:
    """Returns that an entry has no argument, and the one argument whose name ends with its own.

    `jax.export` puts the parameter of the function before the path: `params.dense.w`.
    """
    longer = [each for each in arguments if each.endswith(f".{name}")]
    meant = f" (did you mean {longer[0]!r}?)" if len(longer) == 1 else ""
    return f"no argument is called {name!r}{meant}"


def _demand_none(faults: Sequence[str], what: str, found: Sequence[ReadModule]) -> None:
    """Raises `FeedError` with all that is wrong."""
    if not faults:
        return
    has = ", ".join(str(slot) for slot in found[0].arguments) or "none"
    raise FeedError(f"{what} not fit: {'; '.join(faults)}; the arguments are {has}")
