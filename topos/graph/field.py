"""Fields: tables of payloads aligned to the nodes of one recording, the parameters among them."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping
from typing import TYPE_CHECKING, Self

from topos.errors import FeedError, ReadError, SymbolError
from topos.graph.columns import Columns
from topos.graph.symbol import Symbol
from topos.payload import TensorType
from topos.payload.kernels.clean import has_nan
from topos.reading import Number, Tensor

if TYPE_CHECKING:
    from topos.graph.network import Network


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
        raise FeedError(f"{columns.title(index)} needs {wanted}, got {told(payload.type, wanted)}")


def told(got: TensorType, wanted: TensorType) -> str:
    """Returns how a message calls the type it got: two elements may have one name."""
    return f"{got} of another element of that name" if str(got) == str(wanted) else str(got)


class Parameters(Field):
    """One payload a parameter of a network: an immutable state that each step replaces.

    Payloads are held in row-major order, as every run reads them.
    """

    __slots__ = ("_clean",)

    def __init__(self, columns: Columns, payloads: Mapping[int, Tensor]) -> None:
        super().__init__(columns, {index: own.row_major() for index, own in payloads.items()})
        self._clean: frozenset[int] | None = None

    def without_nan(self) -> frozenset[int]:
        """Returns the positions of the payloads that hold no NaN, which are looked at once."""
        if self._clean is None:
            payloads = self._payloads.items()
            self._clean = frozenset(at for at, own in payloads if not has_nan(own.numpy()))
        return self._clean

    def step(self, gradients: Field, rule: Callable[[Tensor, Tensor], Tensor]) -> Parameters:
        """Returns the state in which each payload is `rule(payload, gradient)`."""
        return self.step_each(gradients, lambda _, payload, gradient: rule(payload, gradient))

    def step_each(
        self, gradients: Field, rule: Callable[[Symbol, Tensor, Tensor], Tensor]
    ) -> Parameters:
        """Returns the state in which each payload is `rule(symbol, payload, gradient)`.

        Raises `FeedError` where a rule changes a payload's shape or element.
        """
        if not isinstance(gradients, Field):
            raise FeedError(f"a step needs gradients, then a rule, got {type(gradients).__name__}")
        stepped = {}
        for symbol, payload in self.items():
            gradient = gradients._partner(self, symbol.position)
            stepped[symbol.position] = rule(symbol, payload, gradient)
            demand_type(self._columns, symbol.position, stepped[symbol.position])
        return self._with(stepped)

    def carried(self, network: Network) -> Parameters:
        """Returns this state for a network that grew from this one; new parameters are initial."""
        if network.columns.origin != self._columns.origin:
            raise SymbolError("parameters carry only to a network of the same recording")
        return network.parameters(dict(self.items()))
