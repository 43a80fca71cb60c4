"""Checkpoints: parameters and optimizer state in safetensors files, by structured paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import NamedTuple

from topos import Element, Network, Parameters, Symbol, Tensor, TensorType
from topos.errors import ArgumentError, FeedError, SymbolError
from topos.neural.formula import given
from topos.neural.matching import Match, Place, matched, places_of
from topos.neural.matching import Names as Names
from topos.neural.matching import Rename as Rename
from topos.neural.matching import Report as Report
from topos.neural.matching import named as named
from topos.neural.optimizer import OptimizerState, Slot
from topos.neural.shards import Shards, opened_shards
from topos.neural.tensor_file import write_tensors

Adapt = Callable[[str, Tensor], Tensor]
"""The tensor that our name stands for, from what the file has: transposed or converted, say."""


class Checkpoint(NamedTuple):
    """What a file held: the states it filled, its text, and the report of its entries."""

    parameters: Parameters
    state: OptimizerState | None
    metadata: Mapping[str, str]
    report: Report


def save(
    path: str | PathLike[str],
    parameters: Parameters,
    names: Names,
    *,
    state: OptimizerState | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes the named parameters, and the optimizer's state, as one safetensors file.

    The state is `optimizer/count` and `optimizer/<slot>/<name>`, as a recorded step names it. A
    parameter of several names is written once, under the first. The file is replaced whole: where
    saving fails or the process dies, the old one stands. Equal contents make equal files. Raises
    `SymbolError` for a state of another recording, `OSError` where the file cannot be written.
    """
    text = {} if metadata is None else metadata
    if not isinstance(text, Mapping) or not all(
        isinstance(part, str) for pair in text.items() for part in pair
    ):
        raise ArgumentError(f"metadata needs names and values of text, got {text!r}")
    _demand_beside(parameters, state)
    first: dict[Place, str] = {}
    for name, place in places_of(names, state).items():
        first.setdefault(place, name)
    tensors = {name: _held(parameters, state, place) for place, name in first.items()}
    write_tensors(path, tensors, text)


def load(
    path: str | PathLike[str],
    parameters: Parameters | Network,
    names: Names,
    *,
    state: OptimizerState | None = None,
    partial: bool = False,
    rename: Rename | None = None,
    adapt: Adapt | None = None,
) -> Checkpoint:
    """Returns `parameters`, and `state` where it is given, with the payloads of a checkpoint.

    A network stands for its own parameters, of which those that are recorded by their shape alone
    have no payload yet. A tensor is read straight into the memory that it stays in, and what
    `adapt` returns is copied once, into row-major order: no more than one tensor is held twice.

    `path` is a safetensors file, the `.safetensors.index.json` of several, or a folder as Hugging
    Face's libraries write it: `model.safetensors`, or `model.safetensors.index.json` and the files
    that it names. One file or one index of another name is as good.

    `state` is what the optimizer starts with. One `FeedError` lists every entry that is missing,
    unexpected, or of another shape or element; with `partial` the first two are only reported,
    and what is missing keeps its payload. Of several names of one parameter a file may hold any;
    where it holds more, they have to agree. Raises `FeedError` for a damaged file, a missing shard
    or a folder of several checkpoints, `OSError` for what cannot be opened, `UnavailableError`
    without the package safetensors, `SymbolError` for a state of another recording.
    """
    _demand_beside(parameters, state)
    _demand_functions(rename=rename, adapt=adapt)
    places = places_of(names, state)
    wanted = {name: _type(parameters, state, place) for name, place in places.items()}
    with opened_shards(path) as shards:
        match = matched(shards.names, places, rename, stateful=state is not None)
        metadata = shards.metadata
        if adapt is None:
            # The header tells everything: what cannot fit is not read.
            _demand_none(path, match, _misfits(shards, match, wanted), partial)
        placed, faults = _read(shards, match, places, wanted, adapt)
    _demand_none(path, match, faults, partial)
    return Checkpoint(*_filled(parameters, state, placed), metadata, match.report)


def _misfits(shards: Shards, match: Match, wanted: Mapping[str, TensorType]) -> list[str]:
    """Returns what is of another shape or element than is wanted."""
    types = {
        name: shards.type(entry, wanted[name].element) for name, entry in match.entries.items()
    }
    return [_misfit(name, wanted[name], got) for name, got in types.items() if got != wanted[name]]


def _misfit(name: str, wanted: TensorType, got: TensorType | str) -> str:
    turned = TensorType(wanted.shape[::-1], wanted.element)
    hint = " (transposed: adapt can turn it)" if got == turned != wanted else ""
    return f"{name} needs {wanted}, got {got}{hint}"


def _read(
    shards: Shards,
    match: Match,
    places: Mapping[str, Place],
    wanted: Mapping[str, TensorType],
    adapt: Adapt | None,
) -> tuple[dict[Place, Tensor], list[str]]:
    """Returns the tensors that fit by their places, and what is wrong with the others."""
    placed: dict[Place, Tensor] = {}
    faults: list[str] = []
    for name, entry in match.entries.items():
        tensor = _adapted(shards, name, entry, wanted[name].element, adapt)
        if isinstance(tensor, str) or tensor.type != wanted[name]:
            got = tensor if isinstance(tensor, str) else tensor.type
            faults.append(_misfit(name, wanted[name], got))
            continue
        own = tensor.settled()
        # Bound to this name, what was adapted would live beside the next tensor.
        del tensor
        known = placed.setdefault(places[name], own)
        if known is not own and not _same_bits(known, own):
            faults.append(f"{name} differs from another name of the same parameter")
    return placed, faults


def _adapted(
    shards: Shards, name: str, entry: str, element: Element, adapt: Adapt | None
) -> Tensor | str:
    """Returns the tensor of an entry as our name has it, or its type that no element is."""
    type = shards.type(entry, element)
    if isinstance(type, str):
        return type
    tensor = shards.tensor(entry, element)
    adapted = tensor if adapt is None else adapt(name, tensor)
    if not isinstance(adapted, Tensor):
        raise ArgumentError(f"adapt needs to return a Tensor, got {given(adapted)} for {name!r}")
    return adapted


def _same_bits(left: Tensor, right: Tensor) -> bool:
    return left.numpy().tobytes() == right.numpy().tobytes()


def _demand_none(path: str | PathLike[str], match: Match, faults: list[str], partial: bool) -> None:
    """Raises `FeedError` where anything is wrong, with all that is."""
    report, loud = match.report, list(match.clashes)
    if not partial:
        loud += [f"missing {', '.join(report.missing)}"] if report.missing else []
        loud += [f"unexpected {', '.join(report.unexpected)}"] if report.unexpected else []
    if loud or faults:
        raise FeedError(f"{fspath(path)} does not fit: {'; '.join([*loud, *faults])}")


def _demand_functions(**options: object) -> None:
    """Raises `ArgumentError` for an option that is given and cannot be called."""
    for name, function in options.items():
        if function is not None and not callable(function):
            raise ArgumentError(f"{name} needs a function, got {given(function)}")


def _demand_beside(parameters: Parameters | Network, state: OptimizerState | None) -> None:
    """Raises `ArgumentError` for what is none, `SymbolError` for a state beside other ones."""
    if not isinstance(parameters, Parameters | Network):
        raise ArgumentError(f"a checkpoint needs Parameters, got {given(parameters)}")
    if state is not None and not isinstance(state, OptimizerState):
        raise ArgumentError(f"a checkpoint needs an OptimizerState, got {given(state)}")
    columns = parameters.columns if isinstance(parameters, Network) else parameters._columns
    for name, slot in ({} if state is None else state.slots).items():
        if slot._columns.origin != columns.origin:
            raise SymbolError(f"the state's slot {name!r} belongs to another recording")


def _type(
    parameters: Parameters | Network, state: OptimizerState | None, place: Place
) -> TensorType:
    """Returns the type of what belongs in a place."""
    if isinstance(parameters, Network) and place.symbol is not None and place.slot is None:
        return parameters.columns.forms[parameters.symbol(place.symbol).position].type
    return _held(parameters, state, place).type


def _held(parameters: Parameters | Network, state: OptimizerState | None, place: Place) -> Tensor:
    """Returns the tensor that is in a place."""
    if place.symbol is None:
        assert state is not None
        return state.count
    if place.slot is None:
        assert isinstance(parameters, Parameters)
        return parameters.of(place.symbol)
    assert state is not None
    return state.slots[place.slot].of(place.symbol)


def _filled(
    parameters: Parameters | Network, state: OptimizerState | None, placed: Mapping[Place, Tensor]
) -> tuple[Parameters, OptimizerState | None]:
    """Returns the parameters and the state with the tensors that were read in their places."""
    own: dict[Symbol | str, Tensor] = {
        place.symbol: tensor
        for place, tensor in placed.items()
        if place.symbol is not None and place.slot is None
    }
    if isinstance(parameters, Network):
        filled = parameters.parameters(own)
    else:
        filled = parameters.with_payloads(own)
    if state is None:
        return filled, None
    slots = {}
    for slot, table in state.slots.items():
        read = {at: placed.get(Place(at, slot), before) for at, before in table.items()}
        slots[slot] = Slot.beside(filled, read)
    return filled, OptimizerState(placed.get(Place(None, None), state.count), slots)
