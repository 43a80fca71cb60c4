"""The columns of a recording, which a tape appends to and a network reads, and walks over them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Container, Iterable
from copy import copy
from typing import NamedTuple

from topos.errors import ExecutionError, SymbolError
from topos.graph.symbol import Location, Symbol, new_origin
from topos.op import Operation, R, Source
from topos.payload import TensorType


class Form:
    """An operation over given operand types, and the result type inferred from them.

    Nodes of equal operation and operand types share one form, so whatever a reading derives from
    a form it derives once.
    """

    __slots__ = ("operands", "operation", "type")

    def __init__(
        self, operation: Operation, operands: tuple[TensorType, ...], type: TensorType
    ) -> None:
        self.operation, self.operands, self.type = operation, operands, type


class Columns:
    """One entry a node: its form and its operands' positions; names and locations beside them.

    Columns only grow. A network reads the prefix that it sealed, so the tape that reopens it may
    append to the same lists; a name may move, so that tape has names of its own.
    """

    __slots__ = ("forms", "labels", "locations", "names", "operands", "origin")

    def __init__(self, *, locations: bool = False) -> None:
        self.origin = new_origin()
        self.forms: list[Form] = []
        self.operands: list[tuple[int, ...]] = []
        self.names: dict[str, int] = {}
        self.labels: dict[int, str] = {}
        self.locations: list[Location] | None = [] if locations else None

    def continued(self) -> Columns:
        """Returns columns that append to the same entries, with names and labels of their own."""
        own = copy(self)
        own.names, own.labels = dict(self.names), dict(self.labels)
        return own

    def prefix(self, length: int) -> Columns:
        """Returns a copy of the first `length` entries, of the same origin."""
        own = copy(self)
        own.forms, own.operands = self.forms[:length], self.operands[:length]
        own.labels = {index: name for index, name in self.labels.items() if index < length}
        own.names = {name: index for index, name in own.labels.items()}
        own.locations = None if self.locations is None else self.locations[:length]
        return own

    def sources(self, kind: type[Source], length: int) -> list[int]:
        """Returns the positions of the sources of `kind` among the first `length` entries."""
        forms = self.forms
        return [index for index in range(length) if isinstance(forms[index].operation, kind)]

    def resolve(self, reference: Symbol | str, length: int) -> int:
        """Returns the position that a symbol or a name stands for, below `length`."""
        if isinstance(reference, str):
            index = self.names.get(reference, length)
            if index >= length:
                raise SymbolError(f"no value is named {reference!r}{self._near(reference, length)}")
            return index
        if not isinstance(reference, Symbol):
            kind = type(reference).__name__
            hint = ": take its symbol" if hasattr(reference, "symbol") else ""
            raise SymbolError(f"a value is referred to by a Symbol or a name, got {kind}{hint}")
        if reference.origin != self.origin:
            raise SymbolError(f"symbol {reference} belongs to another recording")
        if reference.position >= length:
            raise SymbolError(f"symbol {reference} was recorded after these {length} nodes")
        return reference.position

    def _near(self, name: str, length: int) -> str:
        """Returns the question whether a name like an unknown one was meant, if there is any."""
        known = [each for each, index in self.names.items() if index < length]
        near = difflib.get_close_matches(name, known, 1)
        return f"; did you mean {near[0]!r}?" if near else ""

    def title(self, index: int) -> str:
        """Returns how a message calls the node at `index`: position, name and location."""
        title = f"%{index}"
        if index in self.labels:
            title += f" {self.labels[index]!r}"
        if self.locations is not None:
            title += f" recorded at {self.locations[index]}"
        return title


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


def replay(columns: Columns, order: Iterable[int], values: dict[int, R]) -> None:
    """Expresses the nodes of `order`, ascending, into `values`, which holds every source."""
    forms, operands = columns.forms, columns.operands
    for index in order:
        if index not in values:
            inputs = [values[operand] for operand in operands[index]]
            try:
                values[index] = inputs[0].express(forms[index].operation, *inputs)
            except ExecutionError as error:
                error.add_note(f"at {columns.title(index)}")
                raise


def reverse(
    columns: Columns,
    value: Callable[[int], R],
    target: int,
    seed: R,
    relevant: Container[int] | None = None,
) -> dict[int, R]:
    """Returns the cotangent of every node that `target` depends on, by a reverse scan.

    `value` returns the reading of a node. Cotangents accumulate in descending order of the
    consumer's position, starting from the first. With `relevant`, only those nodes receive any.
    """
    gradients: dict[int, R] = {target: seed}
    for index in range(target, -1, -1):
        operands = columns.operands[index]
        if not operands or index not in gradients:
            continue
        inputs = [value(operand) for operand in operands]
        rule = columns.forms[index].operation.backward
        try:
            cotangents = rule(inputs, value(index), gradients[index])
        except ExecutionError as error:
            error.add_note(f"in the derivative of {columns.title(index)}")
            raise
        for operand, cotangent in zip(operands, cotangents, strict=True):
            if cotangent is None or (relevant is not None and operand not in relevant):
                continue
            held = gradients.get(operand)
            gradients[operand] = cotangent if held is None else held + cotangent
    return gradients
