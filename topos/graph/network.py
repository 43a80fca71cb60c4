"""The network: a sealed, immutable recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy.typing as npt

from topos import backend
from topos.errors import FeedError, PhaseError, SymbolError
from topos.graph.columns import Columns, Node, node_at
from topos.graph.field import Parameters, demand_type, named_payloads
from topos.graph.symbol import Symbol
from topos.graph.tape import Tape
from topos.op import Input, Leaf, Parameter
from topos.payload import Element
from topos.reading import Tensor

if TYPE_CHECKING:
    from topos.backend import Backends
    from topos.engine import BoundEntry, Numerics, Run

Reference = Symbol | str
Payload = npt.ArrayLike | Tensor
# A mapping's key type is invariant, so each way to write feeds is named.
Feeds = Mapping[str, Payload] | Mapping[Symbol, Payload] | Mapping[Reference, Payload]


class Network:
    """The spec: the nodes that a tape recorded, in order, shared freely between threads."""

    __slots__ = ("_element", "_reopened", "columns", "length")

    def __init__(self, columns: Columns, length: int, element: Element) -> None:
        self.columns, self.length = columns, length
        self._element, self._reopened = element, False

    def parameters(self, payloads: Mapping[Reference, Tensor] | None = None) -> Parameters:
        """Returns the initial state: `payloads`, and what the other parameters were recorded with.

        Raises `FeedError` where a payload is for no parameter or of another type, and where a
        parameter that was recorded by its shape alone is given none.
        """
        columns, state = self.columns, {}
        pairs = () if payloads is None else named_payloads(payloads)
        given = {self.symbol(key).position: own for key, own in pairs}
        for index in columns.sources(Parameter, self.length):
            source = columns.forms[index].operation
            assert isinstance(source, Parameter)
            if index in given:
                state[index] = given.pop(index)
                demand_type(columns, index, state[index])
            elif source.payload is not None:
                state[index] = Tensor.wrap(source.payload, source.type.element)
            else:
                title = columns.title(index)
                raise FeedError(f"{title} needs a payload of {source.type}, got none")
        for index in given:
            raise FeedError(f"{columns.title(index)} is no parameter and takes no payload")
        return Parameters(columns, state)

    def entry(
        self,
        roots: Sequence[Reference],
        *,
        observe: Sequence[Reference] = (),
        backward: bool = False,
        numerics: Numerics | str = "fast",
        backends: Backends | None = None,
    ) -> BoundEntry:
        """Returns an entry: the declared roots and observes of a run, its memory and numerics.

        With `backward` a run keeps what `Run.backward` reads. Its plans ask no backends but
        `backends`, a sequence of names, or those of the process with the changes of a mapping from
        names to truth values.
        """
        # A door: the engine executes networks, and a network offers the way in.
        from topos.engine import BoundEntry, Entry, Numerics

        for declared in (roots, observe):
            # A symbol is a tuple and a name a sequence of letters: neither is meant.
            if isinstance(declared, Symbol | str) or not isinstance(declared, Iterable):
                raise SymbolError(f"an entry takes sequences of symbols or names, got {declared!r}")
        symbols = tuple(map(self.symbol, roots)), tuple(map(self.symbol, observe))
        chosen = None if backends is None else backend.used(backends)
        return BoundEntry(self, Entry(*symbols, backward, Numerics.of(numerics), chosen))

    def forward(self, parameters: Parameters | None = None, feeds: Feeds | None = None) -> Run:
        """Returns a run of every node by the oracle, exact by construction."""
        # A door, as in `entry`.
        from topos.engine import forward

        return forward(self, parameters, feeds)

    def symbol(self, reference: Reference) -> Symbol:
        """Returns the symbol of a name, or the symbol itself once it is known to be ours."""
        return Symbol(self.columns.origin, self.columns.resolve(reference, self.length))

    def inputs(self) -> tuple[Symbol, ...]:
        """Returns the symbols of the inputs, in recording order."""
        positions = self.columns.sources(Input, self.length)
        return tuple(Symbol(self.columns.origin, index) for index in positions)

    def nodes(self) -> Iterator[Node]:
        """Yields a view of each node, in recording order."""
        return (node_at(self.columns, index) for index in range(self.length))

    def into_tape(self) -> Tape:
        """Returns a tape that goes on recording after the last node; a network reopens once."""
        if self._reopened or len(self.columns.forms) != self.length:
            raise PhaseError("a network reopens once: its history is linear")
        self._reopened = True
        return Tape.resumed(self.columns.continued(), self._element)

    def describe(self) -> str:
        """Returns the recording as text: a summary, then one line a node."""
        kinds = {"parameter": Parameter, "input": Input, "constant": Leaf}
        counts = {
            name: len(self.columns.sources(kind, self.length)) for name, kind in kinds.items()
        }
        summary = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in counts.items())
        lines = [f"network of {self.length} nodes: {summary}", *map(str, self.nodes())]
        return "\n".join(lines)

    def __getstate__(self) -> Any:
        return self.columns.prefix(self.length), self.length, self._element

    def __setstate__(self, state: Any) -> None:
        self.columns, self.length, self._element = state
        self._reopened = False

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __repr__(self) -> str:
        return f"Network({self.length} nodes)"
