"""Signatures: the arguments and results of a plan as a function of arrays."""

from __future__ import annotations

from typing import NamedTuple

from topos.graph import Symbol
from topos.payload import TensorType


class Port(NamedTuple):
    """One argument or result: its symbol, its name if it has one, its type."""

    symbol: Symbol
    name: str | None
    type: TensorType

    def __str__(self) -> str:
        return f"{self.name or self.symbol}: {self.type}"


class Signature(NamedTuple):
    """Parameters, then inputs, in recording order; roots, then observes, as declared."""

    parameters: tuple[Port, ...]
    inputs: tuple[Port, ...]
    results: tuple[Port, ...]

    @property
    def arguments(self) -> tuple[Port, ...]:
        """Parameters, then inputs."""
        return self.parameters + self.inputs

    def __str__(self) -> str:
        arguments = ", ".join(map(str, self.arguments))
        return f"({arguments}) -> ({', '.join(map(str, self.results))})"
