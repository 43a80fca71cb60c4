"""Donations: which result takes the buffer of which argument."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from topos.engine import Port, Signature
from topos.errors import EmitError
from topos.graph import Symbol

Reference = Symbol | str
# A mapping takes keys of one type alone, and whoever mixes them says so.
Donations = Mapping[Symbol, Reference] | Mapping[str, Reference] | Mapping[Reference, Reference]


# A model has hundreds of parameters, and a line holds a few names.
FEW: Final = 8


def donated(signature: Signature, donate: Donations | None) -> dict[Symbol, int]:
    """Returns for each argument that is donated the place of the result that takes its buffer.

    Both are given by a symbol or a name. Raises `EmitError` where that is no argument or no
    result, where the two differ in type, where one is given twice, or where the argument is a
    result itself and so must last.
    """
    if donate is None:
        return {}
    if not isinstance(donate, Mapping):
        kind = type(donate).__name__
        raise EmitError(f"a donation maps arguments to results, by symbol or name, got {kind}")
    taken: dict[Symbol, int] = {}
    for argument, result in donate.items():
        source = _port(argument, signature.arguments, "an argument of the plan")
        target = _port(result, signature.results, "a declared result of the plan")
        place = signature.results.index(target)
        _demand_fit(_told(argument, source), source, target)
        if any(port.symbol == source.symbol for port in signature.results):
            raise EmitError(f"{_told(argument, source)} is a result as well and cannot be donated")
        if source.symbol in taken:
            raise EmitError(f"{_told(argument, source)} has one buffer, and is donated twice")
        if place in taken.values():
            told = _told(result, target)
            raise EmitError(f"{told} takes one buffer, and two are donated to it")
        taken[source.symbol] = place
    return taken


def _port(reference: Reference, ports: Sequence[Port], what: str) -> Port:
    """Returns the port that a symbol or a name stands for."""
    for port in ports:
        if reference is not None and reference in (port.symbol, port.name):
            return port
    near = _near(reference, [port.name for port in ports if port.name is not None])
    named = ", ".join(map(repr, near)) or "none with a name"
    raise EmitError(f"a donation needs {what}, got {reference!r}; there is {named}")


def _near(reference: Reference, names: list[str]) -> Iterable[str]:
    """Returns the names to tell of: all of a few, and of many those like the one given."""
    if len(names) <= FEW:
        return names
    return difflib.get_close_matches(str(reference), names, FEW, 0.0)


def _told(reference: Reference, port: Port) -> str:
    return repr(port.name if isinstance(reference, str) else port.symbol)


def _demand_fit(told: str, argument: Port, result: Port) -> None:
    if argument.type != result.type:
        raise EmitError(
            f"{told} of {argument.type} cannot give its buffer to a result of {result.type}"
        )
