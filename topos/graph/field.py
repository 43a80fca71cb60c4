"""Fields: tables of payloads aligned to the nodes of one recording."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping
from typing import Self

from topos.errors import FeedError, ReadError, SymbolError
from topos.graph.columns import Columns
from topos.graph.symbol import Symbol
from topos.reading import Number, Tensor

Reference = Symbol | str


class Field:
    """An immutable table of tensors, one for each of some nodes of a recording."""

    __slots__ = ("_columns", "_payloads")

    def __init__(self, columns: Columns, payloads: Mapping[int, Tensor]) -> None:
        self._columns = columns
        self._payloads = dict(payloads)

    def of(self, reference: Symbol | str) -> Tensor:
        """Returns the payload of a node, by symbol or name."""
        index = self._columns.resolve(reference, len(self._columns.forms))
        try:
            return self._payloads[index]
        except KeyError:
            title = self._columns.title(index)
            raise ReadError(f"{title} has no entry in this {type(self).__name__}") from None

    def symbols(self) -> tuple[Symbol, ...]:
        """Returns the symbols of the entries, in recording order."""
        return tuple(Symbol(self._columns.origin, index) for index in sorted(self._payloads))

    def items(self) -> Iterator[tuple[Symbol, Tensor]]:
        """Yields symbol and payload of each entry, in recording order."""
        return ((symbol, self._payloads[symbol.position]) for symbol in self.symbols())

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """Returns the table of `function` applied to each payload."""
        return self._with({index: function(own) for index, own in self._payloads.items()})

    def zip(self, other: Field, function: Callable[[Tensor, Tensor], Tensor]) -> Self:
        """Returns the table of `function` applied to each payload and its partner in `other`."""
        pairs = self._payloads.items()
        return self._with(
            {index: function(own, other._partner(self, index)) for index, own in pairs}
        )

    def scale(self, factor: Number) -> Self:
        """Returns the table with every payload multiplied by `factor`."""
        return self.map(lambda payload: payload * factor)

    def with_payloads(self, payloads: Mapping[Symbol | str, Tensor]) -> Self:
        """Returns the table with some entries replaced by payloads of the same type."""
        columns, changed = self._columns, self._payloads.copy()
        length, origin = len(columns.forms), columns.origin
        for key, payload in named_payloads(payloads):
            # A symbol of ours that has an entry needs no further look.
            if type(key) is Symbol and key.origin == origin and key.position in changed:
                index = key.position
            else:
                index = columns.resolve(key, length)
                if index not in changed:
                    title = columns.title(index)
                    raise FeedError(f"{title} has no entry in this {type(self).__name__}")
            demand_type(columns, index, payload)
            changed[index] = payload
        return self._with(changed)

    def _partner(self, other: Field, index: int) -> Tensor:
        if self._columns.origin != other._columns.origin:
            raise SymbolError("the tables belong to different recordings")
        if index not in self._payloads:
            raise ReadError(f"{self._columns.title(index)} has no entry in the other table")
        return self._payloads[index]

    def _with(self, payloads: dict[int, Tensor]) -> Self:
        return type(self)(self._columns, payloads)

    def __len__(self) -> int:
        return len(self._payloads)

    def __repr__(self) -> str:
        entries = (
            f"{self._columns.labels.get(index, f'%{index}')}: {self._payloads[index].type}"
            for index in sorted(self._payloads)
        )
        return f"{type(self).__name__}({', '.join(entries)})"


Gradients = Field
"""The field of a backward run: the derivative of its target with respect to each node."""


def named_payloads(payloads: Mapping[Reference, Tensor]) -> ItemsView[Reference, Tensor]:
    """Returns the payloads by symbol or name; raises `FeedError` for what is no mapping."""
    if not isinstance(payloads, Mapping):
        kind = type(payloads).__name__
        raise FeedError(f"payloads go by name or symbol, as {{'w': ...}}, got {kind}")
    return payloads.items()


def demand_type(columns: Columns, index: int, payload: Tensor) -> None:
    """Raises `FeedError` where `payload` is no tensor of the type of the node at `index`."""
    wanted = columns.forms[index].type
    if type(payload) is Tensor and payload.fits(wanted):
        return
    if not isinstance(payload, Tensor):
        kind = type(payload).__name__
        raise FeedError(f"{columns.title(index)} needs a Tensor of {wanted}, got {kind}")
    if payload.type != wanted:
        raise FeedError(f"{columns.title(index)} needs {wanted}, got {payload.type}")
