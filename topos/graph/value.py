"""The recording reading: a proxy of one value on an open tape, detached to its symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never, Self

from topos.errors import PhaseError
from topos.graph.symbol import Symbol
from topos.op import Operation
from topos.payload import Element, Shape, TensorType
from topos.reading import Number, Recordable

if TYPE_CHECKING:
    from topos.graph.tape import Tape


class Value(Recordable):
    """A recorded value: its operators append nodes. It lives until its tape is sealed."""

    __slots__ = ("_index", "_tape")

    def __init__(self, tape: Tape, index: int) -> None:
        self._tape = tape
        self._index = index

    @property
    def tape(self) -> Tape:
        """The tape it is recorded on."""
        return self._tape

    @property
    def symbol(self) -> Symbol:
        """The name that outlives the recording."""
        return Symbol(self._tape.columns.origin, self._index)

    @property
    def type(self) -> TensorType:
        """The shape and the element."""
        return self._tape.columns.forms[self._index].type

    @property
    def shape(self) -> Shape:
        return self._tape.columns.forms[self._index].type.shape

    @property
    def element(self) -> Element:
        return self._tape.columns.forms[self._index].type.element

    def express(self, operation: Operation, *operands: Self) -> Self:
        return type(self)(self._tape, self._tape.append(operation, operands))

    def fill(self, number: Number) -> Self:
        return type(self)(self._tape, self._tape.literal(number, self.type))

    def iota(self, shape: Shape) -> Self:
        return type(self)(self._tape, self._tape.positions(shape))

    def named(self, name: str) -> Self:
        """Returns this value, from here on known as `name` to feeds, reads and `describe`."""
        self._tape.name(self._index, name)
        return self

    def __bool__(self) -> Never:
        raise PhaseError("a recorded value is neither true nor false: record a select instead")

    def __array__(self, *_arguments: object, **_options: object) -> Never:
        raise PhaseError("a recorded value has no numbers for numpy: use its methods instead")

    def operand(self, other: Self | Number) -> Self:
        if type(other) is type(self):
            return other
        with self._tape.tentative():
            return super().operand(other)

    def __repr__(self) -> str:
        return f"Value(%{self._index}, {self.type})"


def detach(tree: Any) -> Any:
    """Returns `tree` with every value replaced by its symbol.

    Tuples (named ones too), lists and dicts are rebuilt at any depth; everything else stays.
    """
    if isinstance(tree, Value):
        return tree.symbol
    if isinstance(tree, dict):
        return {key: detach(branch) for key, branch in tree.items()}
    if isinstance(tree, list):
        return [detach(branch) for branch in tree]
    if isinstance(tree, tuple):
        branches = [detach(branch) for branch in tree]
        return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)
    return tree
