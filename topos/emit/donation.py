"""Donation: arguments whose buffers a runtime may use again for results."""

from __future__ import annotations

from collections.abc import Mapping

from topos.engine import Port, Signature
from topos.errors import EmitError
from topos.graph import Symbol


def donated(signature: Signature, donate: Mapping[Symbol, Symbol]) -> dict[Symbol, int]:
    """Returns for each argument that is donated the place of the result that takes its buffer.

    Raises `EmitError` where a name is no argument or no result, where the two differ in type,
    where a result is taken twice, or where the argument is a result itself and so must last.
    """
    if not isinstance(donate, Mapping):
        kind = type(donate).__name__
        raise EmitError(f"a donation maps symbols of arguments to those of results, got {kind}")
    arguments = {port.symbol: port for port in signature.arguments}
    results = {port.symbol: (place, port) for place, port in enumerate(signature.results)}
    taken: dict[Symbol, int] = {}
    for argument, result in donate.items():
        if argument not in arguments:
            raise EmitError(f"a donation needs an argument of the plan, got {argument!r}")
        if result not in results:
            raise EmitError(f"a donation needs a declared result of the plan, got {result!r}")
        place, port = results[result]
        _demand_fit(arguments[argument], port)
        if argument in results:
            raise EmitError(f"{argument!r} is a result as well and cannot be donated")
        if place in taken.values():
            raise EmitError(f"{result!r} takes one buffer, and two are donated to it")
        taken[argument] = place
    return taken


def _demand_fit(argument: Port, result: Port) -> None:
    if argument.type != result.type:
        raise EmitError(
            f"{argument.symbol!r} of {argument.type} cannot give its buffer to a result of"
            f" {result.type}"
        )
