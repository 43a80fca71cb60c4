"""The scope: the values that an operation sees, their types, and which of them are constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy.typing as npt

from topos.errors import VerifyError
from topos.stablehlo.dense import decoded
from topos.stablehlo.ir import Dense, Operation, Region, Tensor, Type, result_names
from topos.stablehlo.resources import absent

Array = npt.NDArray[Any]

# A constant of more elements than this is no shape, padding or index that a rule would read.
_READ: Final = 4096
_NUMBERS: Final = ("i64", "i32", "ui32", "ui64", "index")
_NONE: Final[tuple[None, ...]] = (None,)


class Scope:
    """The values of a block and of those around it; a block's own end with it.

    No name stands for two values where both are seen.
    """

    def __init__(self) -> None:
        self._types: dict[str, Type] = {}
        self._constants: dict[str, Dense] = {}
        self._defined: list[list[str]] = []

    def enter(self) -> None:
        """Begins a block inside the current one."""
        self._defined.append([])

    def leave(self) -> None:
        """Ends the current block, whose values nothing sees from here on."""
        for name in self._defined.pop():
            del self._types[name]
            self._constants.pop(name, None)

    def define(self, name: str, type: Type, place: tuple[int, int]) -> None:
        """Gives `name` to a value; an argument of a block may have none."""
        if not name:
            return
        for each in reversed(result_names(name)):
            if each in self._types:
                raise VerifyError(f"{each} is defined twice", *place)
            self._types[each] = type
            self._defined[-1].append(each)

    def define_constant(self, operation: Operation) -> None:
        """Notes the value of a constant that a shape or an index may be read from."""
        value = operation.attributes.get("value")
        if isinstance(value, Dense) and _readable(value):
            self._constants[operation.results[0]] = value

    def type(self, name: str, operation: Operation) -> Type:
        """Returns the type of a value; raises `VerifyError` where nothing has the name."""
        try:
            return self._types[name]
        except KeyError:
            reason = f"{operation.name} uses {name}, which is not defined"
            raise VerifyError(reason, *operation.place) from None

    def constants(self, operation: Operation) -> tuple[Array | None, ...]:
        """Returns the array of each operand that is a small integer constant."""
        known, names = self._constants, operation.operands
        if known.keys().isdisjoint(names):
            return _NONE * len(names)
        return tuple([decoded(known[name]) if name in known else None for name in names])


def _readable(value: Dense) -> bool:
    if not isinstance(value.type, Tensor) or value.type.element not in _NUMBERS or absent(value):
        return False
    size = 1
    for extent in value.type.shape:
        size *= extent or 0
    return size <= _READ


def captured(regions: Iterable[Region]) -> tuple[str, ...]:
    """Returns the names that `regions` use and do not define, each once, in order of use."""
    names: dict[str, None] = {}
    for region in regions:
        names.update(dict.fromkeys(_free(region)))
    return tuple(names)


def _free(region: Region) -> list[str]:
    free: list[str] = []
    for block in region.blocks:
        defined = {argument.name for argument in block.arguments}
        for operation in block.operations:
            used = (*operation.operands, *captured(operation.regions))
            free += [name for name in used if name not in defined]
            for name in operation.results:
                defined.update(result_names(name))
    return free
