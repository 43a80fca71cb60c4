"""Names: what arguments and results are called in a bundle, and the values behind a name."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import count

import numpy.typing as npt

from topos.engine import Plan, Port
from topos.errors import ArgumentError, FeedError
from topos.graph import Parameters, Symbol
from topos.reading import Tensor

Payload = npt.ArrayLike | Tensor
Payloads = Mapping[str, Payload]
"""Values by the names of parameters or inputs."""
References = Mapping[str, Payload] | Mapping[Symbol, Payload] | Mapping[str | Symbol, Payload]
"""Values by names or, for arguments of one of the plans, by symbols."""


def names_of(
    ports: Sequence[Port], kind: str, others: Container[str | None] = ()
) -> tuple[str, ...]:
    """Returns a name for each port: its label, or `kind` and its number among those without.

    A number whose name is the label of another port, or one of `others`, is left out.
    """
    labels = {port.name for port in ports}
    numbered = (f"{kind}{number}" for number in count())
    free = (name for name in numbered if name not in labels and name not in others)
    return tuple(next(free) if port.name is None else port.name for port in ports)


def argument_names(plan: Plan) -> dict[Symbol, str]:
    """Returns the name of each argument of a plan, by its symbol."""
    signature = plan.signature()
    names: dict[Symbol, str] = {}
    for kind, ports, others in (
        ("parameter", signature.parameters, signature.inputs),
        ("input", signature.inputs, signature.parameters),
    ):
        # Either kind is numbered for itself, and keeps clear of the labels of both.
        own = names_of(ports, kind, {port.name for port in others})
        names |= {port.symbol: name for port, name in zip(ports, own, strict=True)}
    return names


def by_name(plans: Sequence[Plan], values: References, what: str) -> Payloads:
    """Returns values by name where some are given by symbols of one of the plans."""
    if not isinstance(values, Mapping):
        raise ArgumentError(f"{what} map names to values, got {type(values).__name__}")
    known: dict[Symbol | str, str] = {
        symbol: name for plan in plans for symbol, name in argument_names(plan).items()
    }
    named: dict[str, Payload] = {}
    for reference, value in values.items():
        name = known.get(reference, reference)
        if not isinstance(name, str):
            raise FeedError(f"{what} name {reference}, which is no argument of the plan")
        if name in named:
            raise FeedError(f"{what} give {name!r} twice, by name and by symbol")
        named[name] = value
    return named


def state_by_name(plans: Sequence[Plan], parameters: Parameters | Payloads | None) -> Payloads:
    """Returns parameters by the names that they have in a bundle.

    Those of one of the plans' recordings are named as that plan's arguments are, any others by
    their own labels. `None` is the initial state of the first plan.
    """
    state = plans[0].network.parameters() if parameters is None else parameters
    if isinstance(state, Mapping):
        return by_name(plans, state, "parameters")
    if not isinstance(state, Parameters):
        raise ArgumentError(f"an export needs Parameters, got {type(state).__name__}")
    origin, labels = state._columns.origin, state._columns.labels
    names = {Symbol(origin, index): label for index, label in labels.items()}
    for plan in plans:
        names |= argument_names(plan)
    return {names[symbol]: value for symbol, value in state.items() if symbol in names}
