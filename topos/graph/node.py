"""The public view of one recorded node."""

from __future__ import annotations

from typing import NamedTuple

from topos.graph.columns import Columns
from topos.graph.origin import Location
from topos.graph.symbol import Symbol
from topos.op import Operation
from topos.payload import TensorType


class Node(NamedTuple):
    """A snapshot of one entry of the columns, detached from tape and phase."""

    symbol: Symbol
    operation: Operation
    operands: tuple[Symbol, ...]
    type: TensorType
    name: str | None
    location: Location | None

    def __str__(self) -> str:
        parameters = self.operation.parameters()
        parts = [
            f"{self.symbol} = {self.operation.name}{f'({parameters})' if parameters else ''}",
            *map(str, self.operands),
            f": {self.type}",
            f" {self.name!r}" if self.name is not None else "",
            f" at {self.location}" if self.location is not None else "",
        ]
        return " ".join(part for part in parts if part)


def node_at(columns: Columns, index: int) -> Node:
    """Returns the view of the node at `index`."""
    form = columns.forms[index]
    return Node(
        Symbol(columns.origin, index),
        form.operation,
        tuple(Symbol(columns.origin, operand) for operand in columns.operands[index]),
        form.type,
        columns.labels.get(index),
        None if columns.locations is None else columns.locations[index],
    )
