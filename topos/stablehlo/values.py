"""What a builder hands out and keeps: values, the blocks they are made in, and their functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy.typing as npt

from topos.errors import ArgumentError, ToposError
from topos.stablehlo.definition import Definition
from topos.stablehlo.ir import Block, Function, Operation, Parameter, Region, Type
from topos.stablehlo.shapes import agree

if TYPE_CHECKING:
    from topos.stablehlo.builder import Builder

Array = npt.NDArray[Any]

# Returns what a region returns, given its arguments.
Body = Callable[..., "Value | Sequence[Value]"]


class Value:
    """A value of a module that is being written; the functions of `dialect` take and return these.

    `type` is its type, `name` what the text calls it.
    """

    __slots__ = ("array", "block", "builder", "name", "type")

    def __init__(
        self, builder: Builder, block: OpenBlock, name: str, type: Type, array: Array | None = None
    ) -> None:
        self.builder = builder
        self.name = name
        self.type = type
        # The elements of a small constant, which shapes and indices may be inferred from.
        self.array = array
        self.block = block

    def __bool__(self) -> bool:
        raise ArgumentError(
            f"{self.name} is known in a run only: dialect.if_ or select chooses by it"
        )

    def __repr__(self) -> str:
        return f"Value({self.name}: {self.type})"


class OpenBlock:
    """The operations of one block, in order."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.open = True


class OpenFunction(NamedTuple):
    """A function that has not returned yet, or has."""

    name: str
    visibility: str
    arguments: list[Parameter]
    block: OpenBlock

    def finished(self, results: tuple[Parameter, ...]) -> Function:
        """Returns the function with what it has taken and done so far."""
        attributes = {} if self.visibility == "public" else {"sym_visibility": self.visibility}
        block = Block(tuple(self.arguments), tuple(self.block.operations))
        return Function(self.name, block.arguments, results, attributes, Region((block,)), 0, 0)


def demand_callable(body: Body, count: int) -> None:
    """Refuses what cannot be called with `count` values."""
    try:
        inspect.signature(body).bind(*range(count))
    except TypeError:
        name = getattr(body, "__qualname__", repr(body))
        raise ArgumentError(f"a region's function takes {count} values: {name} does not") from None
    except ValueError:
        # Functions of C tell no signature.
        return


def alone(values: tuple[Value, ...]) -> Value | tuple[Value, ...]:
    """Returns the value where there is one, and else all of them."""
    return values[0] if len(values) == 1 else values


def result_types(view: Definition) -> tuple[Type, ...]:
    """Returns the types of an operation's results, those stated that say more or do not fit.

    What does not fit is what the verifier tells of.
    """
    try:
        inferred = tuple(view.infer())
    except ToposError:
        raise
    except (IndexError, ValueError):
        # It may count on as many operands as the verifier asks for first.
        count = len(view.operands)
        got = "1 operand" if count == 1 else f"{count} operands"
        raise ArgumentError(f"{view.name} does not take {got}") from None
    stated = view.results
    if stated and len(stated) != len(inferred):
        counts = f"has {len(inferred)} results, and {len(stated)} are stated"
        raise ArgumentError(f"{view.name} {counts}")
    pairs = zip(stated or inferred, inferred, strict=True)
    return tuple([known if agree(said, known) else said for said, known in pairs])


def block_types(view: Definition, count: int) -> Sequence[tuple[Type, ...]]:
    """Returns what each of `count` regions takes."""
    types = view.block_types(count)
    if len(types) != count:
        needs = view.needed(len(types), "function")
        raise ArgumentError(f"{view.name} needs {needs} as its regions, got {count}")
    return types
