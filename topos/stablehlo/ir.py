"""The syntax tree: what a module's text says, before anything about it is checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

import numpy.typing as npt

# An attribute is a number, a truth value, a string, or one of the classes below; a list is a tuple
# and a dictionary a mapping, so the values have no closer static type.
Attributes = Mapping[str, Any]


class Word(str):
    """A bare word, such as the `HIGHEST` of a precision or the `f` of a convolution's layout.

    `opening` is what stands before the word where it is an attribute of its own, such as
    `#stablehlo<precision `, and a `>` then stands after it.
    """

    __slots__ = ("opening",)

    opening: str

    def __new__(cls, text: str, opening: str = "") -> Self:
        """Returns the word `text`."""
        word = super().__new__(cls, text)
        word.opening = opening
        return word


class Symbol(str):
    """The name of a function, without its `@`."""

    __slots__ = ()


class Packed(tuple[Any, ...]):
    """The numbers of an `array<...>`, all of the type `element`."""

    element: str

    def __new__(cls, numbers: Iterable[Any], element: str = "i64") -> Self:
        """Returns `numbers` in order."""
        packed = super().__new__(cls, numbers)
        packed.element = element
        return packed


class Record(dict[str, Any]):
    """Named fields in the angle brackets of an attribute that opens with `opening`.

    An opening is such as `#stablehlo.gather<`.
    """

    __slots__ = ("opening",)

    def __init__(self, fields: Mapping[str, Any], opening: str) -> None:
        super().__init__(fields)
        self.opening = opening


class Crossed(tuple[Any, ...]):
    """Lists joined as `[..] x [..]` or `[..] x [..] -> [..]`."""

    __slots__ = ()


class Opaque(NamedTuple):
    """An attribute of a dialect that is not read, or an alias of one; `text` is its spelling."""

    text: str


class Typed(NamedTuple):
    """A value with the type that the text states, where that is not its usual one.

    The usual ones are i64 and f64. A key without a value is `UNIT`.
    """

    value: Any
    type: Type


class Tensor(NamedTuple):
    """A ranked tensor type; an extent of `None` is dynamic, `encoding` is `""` where absent."""

    shape: tuple[int | None, ...]
    element: str
    encoding: str = ""

    def __str__(self) -> str:
        extents = "".join(f"{'?' if extent is None else extent}x" for extent in self.shape)
        encoding = f", {self.encoding}" if self.encoding else ""
        return f"tensor<{extents}{self.element}{encoding}>"


class Unranked(NamedTuple):
    """A tensor type of which only the element is known."""

    element: str

    def __str__(self) -> str:
        return f"tensor<*x{self.element}>"


class TupleType(NamedTuple):
    """A tuple of types."""

    parts: tuple[Type, ...]

    def __str__(self) -> str:
        return f"tuple<{', '.join([part.__str__() for part in self.parts])}>"


class OtherType(NamedTuple):
    """A type that is neither a tensor nor a tuple: a scalar, a token, a vector."""

    text: str

    def __str__(self) -> str:
        return self.text


Type = Tensor | Unranked | TupleType | OtherType


# What a key stands for that has no value: true by being there.
UNIT: Final = Typed(True, OtherType("unit"))


# The types of the numbers whose type a text leaves out.
_USUAL: Final[Mapping[type, Type]] = {
    bool: OtherType("i1"),
    int: OtherType("i64"),
    float: OtherType("f64"),
}


class FunctionType(NamedTuple):
    """The types of an operation's operands and results, or of a function's."""

    operands: tuple[Type, ...]
    results: tuple[Type, ...]

    def __str__(self) -> str:
        operands, results = (", ".join(map(str, types)) for types in self)
        return f"({operands}) -> ({results})"


@dataclass(slots=True)
class Dense:
    """A dense constant whose body, what stands between the angle brackets, is decoded when asked.

    `array` holds the elements from then on.
    """

    body: str
    type: Type
    line: int = field(compare=False)
    column: int = field(compare=False)
    array: npt.NDArray[Any] | None = field(default=None, compare=False, repr=False)

    def of_type(self, type: Type) -> Dense:
        """Returns the same body at the same place under another type."""
        return Dense(self.body, type, self.line, self.column)


class Parameter(NamedTuple):
    """An argument of a function or of a block; `name` begins with `%` and may be empty."""

    name: str
    type: Type
    attributes: Attributes


class Operation(NamedTuple):
    """An operation in its generic form, however it was written.

    `results` and `operands` are value names as they are used: `%0`, or `%0#1` where several values
    share a name. `operand_types` is `None` where the text leaves them to the result type.
    A result that is not named is `""`. `location` tells the text's own `loc(...)`, `line` and
    `column` are where the operation stands.
    """

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    attributes: Attributes
    regions: tuple[Region, ...]
    operand_types: tuple[Type, ...] | None
    result_types: tuple[Type, ...]
    line: int
    column: int
    location: str = ""
    successors: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[int, int]:
        """The line and the column."""
        return self.line, self.column


class Block(NamedTuple):
    """Operations in order; the last one is the terminator.

    `label` begins with `^`; that of an entry, which nothing refers to, is empty.
    """

    arguments: tuple[Parameter, ...]
    operations: tuple[Operation, ...]
    label: str = ""


class Region(NamedTuple):
    """The blocks that an operation or a function holds, the entry first."""

    blocks: tuple[Block, ...]


class Function(NamedTuple):
    """A function; `body` is `None` where it is only declared.

    A visibility that is stated is among the attributes, as `sym_visibility`.
    """

    name: str
    arguments: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    attributes: Attributes
    body: Region | None
    line: int
    column: int

    @property
    def place(self) -> tuple[int, int]:
        """The line and the column."""
        return self.line, self.column


class Module(NamedTuple):
    """The functions of a text in order, with the attributes of its `module` where it has one.

    `others` are the statements beside the functions, such as the mesh of a sharding.
    """

    name: str
    attributes: Attributes
    functions: tuple[Function, ...]
    others: tuple[Operation, ...] = ()


def result_names(name: str) -> tuple[str, ...]:
    """Returns what the result `name` goes by: the first of several also by the one they share."""
    return (name, name[:-2]) if name.endswith("#0") else (name,)


def constant_type(value: object) -> Type | None:
    """Returns the type of a constant, or `None` where it is no number and no tensor."""
    return value.type if isinstance(value, Typed | Dense) else _USUAL.get(value.__class__)
