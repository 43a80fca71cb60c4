"""The tape: the recording phase of a network."""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Never

import numpy.typing as npt

from topos.errors import ElementError, PhaseError, ShapeError, SymbolError, ToposError
from topos.graph.adjoints import Adjoints, differentiate
from topos.graph.columns import Columns, Form
from topos.graph.symbol import Symbol, user_location
from topos.graph.value import Value, detach
from topos.op import Input, Leaf, Operation, Parameter, Source
from topos.payload import Element, Shape, TensorType, f32, shape_of
from topos.payload.storage import iota, literal, stored
from topos.reading import Number, Tensor

if TYPE_CHECKING:
    from topos.graph.network import Network

Payload = npt.ArrayLike | Tensor


class Tape:
    """An append-only record of one program, written by the thread that opened it.

    `element` is what Python numbers and lists become. With `locations`, every node keeps the
    source line of the expression that recorded it.
    """

    def __init__(self, *, element: Element = f32, locations: bool = False) -> None:
        self._open(Columns(locations=locations), element)

    def _open(self, columns: Columns, element: Element) -> None:
        _demand_element(element)
        self.columns = columns
        self.element = element
        self._owner: int | None = get_ident()
        self._known: dict[tuple[Any, ...], Form] = {}
        self._constants: dict[tuple[Any, ...], int] = {}
        self._tentative: int | None = None

    @classmethod
    def record(
        cls,
        program: Callable[[Tape], Any],
        *,
        element: Element = f32,
        locations: bool = False,
    ) -> tuple[Network, Any]:
        """Records `program(tape)` and seals it.

        Returns the network, and what the program returned with every value, at any depth of
        tuples, lists and dicts, detached to its symbol.
        """
        tape = cls(element=element, locations=locations)
        detached = detach(program(tape))
        return tape.into_network(), detached

    @classmethod
    def resumed(cls, columns: Columns, element: Element) -> Tape:
        """Returns a tape that appends to `columns`; `Network.into_tape` is the way here."""
        tape = cls.__new__(cls)
        tape._open(columns, element)
        return tape

    def parameter(
        self,
        payload: Payload | None = None,
        *,
        shape: Sequence[int] | None = None,
        name: str | None = None,
        element: Element | None = None,
    ) -> Value:
        """Records a parameter: with its initial state `payload`, which the recording keeps.

        By `shape` alone it has no initial state, and `Network.parameters` takes one: weights that
        come from a file are then held once.
        """
        return self._declared(Parameter, payload, shape, name, element)

    def leaf(
        self, payload: Payload, *, name: str | None = None, element: Element | None = None
    ) -> Value:
        """Records a constant."""
        return self._source(Leaf, payload, name, element)

    def input(
        self,
        payload: Payload | None = None,
        *,
        shape: Sequence[int] | None = None,
        name: str | None = None,
        element: Element | None = None,
    ) -> Value:
        """Records an input: with a default `payload`, or by `shape` alone, to be fed each run."""
        return self._declared(Input, payload, shape, name, element)

    def value(self, reference: Symbol | str) -> Value:
        """Returns the value that a symbol or a name of this recording stands for."""
        self._demand_open()
        return Value(self, self.columns.resolve(reference, len(self.columns.forms)))

    def differentiate(
        self, target: Value | Symbol | str, wrt: Sequence[Value | Symbol | str]
    ) -> Adjoints:
        """Records the gradients of the rank-0 `target` with respect to each of `wrt`.

        The gradient of a named target with respect to a named value is named too: `dloss/dw`.
        """
        self._demand_open()
        if isinstance(wrt, Value | Symbol | str) or not isinstance(wrt, Iterable):
            raise SymbolError(f"differentiate takes a sequence of values to go by, got {wrt!r}")
        positions = [self.position(reference) for reference in wrt]
        return differentiate(self, self.position(target), positions)

    def into_network(self) -> Network:
        """Seals the recording: every value of this tape is dead from here on."""
        # A door: the sealed phase is built on the tape, and the tape ends in it.
        from topos.graph.network import Network

        self._demand_open()
        self._owner = None
        return Network(self.columns, len(self.columns.forms), self.element)

    def append(self, operation: Operation, operands: tuple[Value, ...]) -> int:
        """Appends a node and returns its position; raises at the recording line."""
        if get_ident() != self._owner:
            self._demand_open()
        columns = self.columns
        forms = columns.forms
        positions: list[int] = []
        key: list[Operation | TensorType] = [operation]
        for operand in operands:
            if operand._tape is not self:
                raise SymbolError(f"{operation.name} got a value of another tape")
            positions.append(operand._index)
            key.append(forms[operand._index].type)
        form = self._known.get(tuple(key)) or self._inferred(operation, positions)
        forms.append(form)
        columns.operands.append(tuple(positions))
        if columns.locations is not None:
            columns.locations.append(user_location())
        return len(forms) - 1

    def literal(self, number: Number, type: TensorType) -> int:
        """Returns the position of a constant filled with `number`, recorded once for each type."""
        # The bits are the identity: 0.0 and -0.0 compare equal and differ, NaNs differ in sign.
        if isinstance(number, float) and number == number:
            key: tuple[object, TensorType] = (number.hex(), type)
        elif isinstance(number, int):
            key = (number, type)
        else:
            key = (literal(number, type.element).tobytes(), type)
        known = self._constants.get(key)
        if known is not None:
            self._demand_open()
            return known
        array = Tensor.wrap(literal(number, type.element), type.element)
        spread = array.broadcast(type.shape).numpy()
        self._constants[key] = self._append_source(Leaf(type, spread), None)._index
        return self._constants[key]

    @contextmanager
    def tentative(self) -> Iterator[None]:
        """Marks a constant recorded in this context as part of the expression that follows.

        Where that expression is refused, the constant goes with it, and nothing half stays.
        """
        length = len(self.columns.forms)
        yield
        self._tentative = length if len(self.columns.forms) > length else None

    def positions(self, shape: Shape) -> int:
        """Returns the position of the i64 constant of row-major positions in `shape`."""
        key = ("iota", shape)
        if key not in self._constants:
            self._constants[key] = self.leaf(iota(shape))._index
        return self._constants[key]

    def name(self, index: int, name: str) -> None:
        """Calls the node at `index` by `name`, which no other node may have."""
        self._demand_open()
        self._demand_free(name, index)
        self.columns.names.pop(self.columns.labels.get(index, name), None)
        self.columns.names[name] = index
        self.columns.labels[index] = name

    def position(self, reference: Value | Symbol | str) -> int:
        """Returns the position of a value, a symbol or a name of this recording."""
        if not isinstance(reference, Value):
            return self.columns.resolve(reference, len(self.columns.forms))
        if reference._tape is not self:
            raise SymbolError("the value belongs to another tape")
        return reference._index

    def _declared(
        self,
        kind: type[Source],
        payload: Payload | None,
        shape: Sequence[int] | None,
        name: str | None,
        element: Element | None,
    ) -> Value:
        """Records a source with a payload, or by its shape alone."""
        if (payload is None) == (shape is None):
            got = "neither" if shape is None else "both"
            raise ShapeError(f"{kind.name} needs a payload or a shape, got {got}")
        if payload is not None:
            return self._source(kind, payload, name, element)
        assert shape is not None
        if element is not None:
            _demand_element(element)
        declared = TensorType(shape_of(shape), element or self.element)
        return self._append_source(kind(declared, None), name)

    def _source(
        self, kind: type[Source], payload: Payload, name: str | None, element: Element | None
    ) -> Value:
        if isinstance(payload, Tensor):
            element, payload = element or payload.element, payload.numpy()
        if element is not None:
            _demand_element(element)
        array, own = stored(payload, self.element, element)
        if element is None and own.differentiable and own is not self.element:
            # numpy makes f64 where nobody asked for it; the first operation would tell too late.
            raise ElementError(
                f"a floating array needs element={self.element}, the tape's, or an element of its"
                f" own named, got {own}"
            )
        return self._append_source(kind(TensorType(array.shape, own), array), name)

    def _append_source(self, source: Source, name: str | None) -> Value:
        self._demand_open()
        if name is not None:
            self._demand_free(name, len(self.columns.forms))
        value = Value(self, self.append(source, ()))
        return value if name is None else value.named(name)

    def _inferred(self, operation: Operation, positions: list[int]) -> Form:
        columns = self.columns
        types = tuple(columns.forms[position].type for position in positions)
        try:
            form = Form(operation, types, operation.infer(*types))
        except ToposError as error:
            if columns.locations is not None:
                for position in positions:
                    error.add_note(f"operand {columns.title(position)}")
            if self._tentative == len(columns.forms) - 1:
                self._withdraw(self._tentative)
            raise
        if not isinstance(operation, Source):
            self._known[(operation, *types)] = form
        return form

    def _demand_free(self, name: str, index: int) -> None:
        if not isinstance(name, str) or not name:
            raise SymbolError(f"a name is text of one letter or more, got {name!r}")
        if self.columns.names.get(name, index) != index:
            raise SymbolError(f"the name {name!r} is already taken")

    def _withdraw(self, index: int) -> None:
        """Removes the constant at `index`, the last node, which nothing refers to."""
        columns = self.columns
        del columns.forms[index], columns.operands[index]
        if columns.locations is not None:
            del columns.locations[index]
        self._constants = {key: at for key, at in self._constants.items() if at != index}
        self._tentative = None

    def _demand_open(self) -> None:
        if self._owner is None:
            raise PhaseError("the tape is sealed: its values are dead, symbols name what they were")
        if get_ident() != self._owner:
            raise PhaseError("a tape records from the thread that opened it")

    def __getstate__(self) -> Never:
        raise PhaseError("a tape cannot be pickled: seal it and pickle the network")

    def __repr__(self) -> str:
        phase = "sealed" if self._owner is None else "open"
        return f"Tape({phase}, {len(self.columns.forms)} nodes, {self.element})"


def _demand_element(element: object) -> None:
    if not isinstance(element, Element):
        raise ElementError(f"an element is an Element such as f32, got {element!r}")
