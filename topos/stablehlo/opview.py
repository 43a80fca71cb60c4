"""One operation with the types of its values: how its parts are read, and how it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, NoReturn, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from topos.errors import UnsupportedError, VerifyError
from topos.stablehlo.dense import decoded
from topos.stablehlo.ir import (
    Crossed,
    Dense,
    Function,
    FunctionType,
    Operation,
    Tensor,
    Type,
    Typed,
)
from topos.stablehlo.meshes import Mesh

Array = npt.NDArray[Any]
T = TypeVar("T")

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Table(NamedTuple):
    """The integers of a dense attribute in row-major order, with its shape."""

    shape: tuple[int, ...]
    values: tuple[int, ...]


class OpView:
    """An operation with the types of its values; its attributes are read through the methods.

    `constants` holds an operand's array where it is known before the run. `bodies` holds for each
    region the types of its arguments and of what it returns, `()` for both where it has no block;
    `functions` and `meshes` are those of the module. Types may be dynamic, unranked, tuples or
    tokens.
    """

    def __init__(
        self,
        operation: Operation,
        operands: tuple[Type, ...],
        results: tuple[Type, ...],
        constants: tuple[Array | None, ...],
        bodies: tuple[FunctionType, ...] = (),
        functions: Mapping[str, Function] = _NONE,
        meshes: Mapping[str, Mesh] = _NONE,
    ) -> None:
        self.operation = operation
        self.operands = operands
        self.results = results
        self.constants = constants
        self.bodies = bodies
        self.functions = functions
        self.meshes = meshes

    @property
    def name(self) -> str:
        """The operation's full name."""
        return self.operation.name

    def refuse(self, reason: str) -> NoReturn:
        """Raises `VerifyError` with the place, the operation and `reason`."""
        raise VerifyError(f"{self.name} {reason}", *self.operation.place)

    def unsupported(self, reason: str) -> NoReturn:
        """Raises `UnsupportedError` with the place, the operation and `reason`."""
        raise UnsupportedError(f"{self.name} {reason}", *self.operation.place)

    def demand(self, condition: object, reason: str) -> None:
        """Refuses for `reason` unless `condition` holds."""
        if not condition:
            self.refuse(reason)

    def takes(self, count: int) -> None:
        """Refuses unless there are `count` operands and one result."""
        got = len(self.operands)
        noun = "operand" if count == 1 else "operands"
        self.demand(got == count, f"needs {count} {noun}, got {got}")
        self.demand(len(self.results) == 1, f"has 1 result, got {len(self.results)}")

    def yields(self, type: Tensor) -> None:
        """Refuses unless the stated result type is `type`."""
        stated = self.results[0]
        self.demand(stated == type, f"results in {type}, got {stated}")

    def optional(self, key: str) -> Any:
        """Returns an attribute, its numbers without their types, or `None` where it is absent."""
        return _plain(self.operation.attributes.get(key))

    def attribute(self, key: str) -> Any:
        """Returns an attribute as `optional` does, which must be there."""
        value = self.optional(key)
        self.demand(value is not None, f"needs the attribute {key}")
        return value

    def integer(self, key: str, default: int | None = None) -> int:
        """Returns an integer attribute, which must be there unless it has a default."""
        if default is not None and key not in self.operation.attributes:
            return default
        value = self.attribute(key)
        self.demand(type(value) is int, f"needs an integer {key}, got {value}")
        return int(value)

    def integers(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Returns a list of integers, written as a list, an array or a dense constant."""
        if default is not None and key not in self.operation.attributes:
            return default
        return self.integers_of(self.attribute(key), key)

    def integers_of(self, value: Any, key: str) -> tuple[int, ...]:
        """Returns `value`, the attribute or field called `key`, as integers."""
        if isinstance(value, Dense):
            value = tuple(np.ravel(decoded(value)).tolist())
        if not isinstance(value, tuple) or any(type(part) is not int for part in value):
            self.refuse(f"needs integers as {key}, got {value}")
        return value

    def table(self, key: str) -> Table:
        """Returns a dense attribute of i64, which must be there."""
        value = self.attribute(key)
        if not isinstance(value, Dense):
            self.refuse(f"needs a dense constant as {key}, got {value}")
        if not isinstance(value.type, Tensor) or value.type.element != "i64":
            self.refuse(f"needs i64 elements in {key}, got {value.type}")
        array = decoded(value)
        return Table(array.shape, tuple(np.ravel(array).tolist()))

    def truth(self, key: str, default: bool) -> bool:
        """Returns a truth value, or `default` where there is no such attribute."""
        value = self.optional(key)
        value = default if value is None else value
        self.demand(type(value) is bool, f"needs true or false as {key}, got {value}")
        return bool(value)

    def word(self, key: str, default: str | None = None) -> str:
        """Returns a bare word, such as a comparison's direction."""
        if default is not None and key not in self.operation.attributes:
            return default
        value = self.attribute(key)
        if not isinstance(value, str):
            self.refuse(f"needs a word as {key}, got {value}")
        return value

    def fields(self, key: str) -> dict[str, Any]:
        """Returns an attribute of named fields, such as the dimension numbers of a gather."""
        value = self.attribute(key)
        if not isinstance(value, dict):
            self.refuse(f"needs named fields as {key}, got {value}")
        return value

    def axes(self, key: str, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
        """Returns `axes` where they are distinct axes of a value of `rank`, or refuses."""
        valid = len(set(axes)) == len(axes) and all(0 <= axis < rank for axis in axes)
        self.demand(valid, f"needs distinct axes below {rank} as {key}, got {list(axes)}")
        return axes


class Declared(Generic[T]):
    """What is declared in the body of a definition; from an instance it is read once, and kept."""

    name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, view: None, owner: type) -> Self: ...
    @overload
    def __get__(self, view: OpView, owner: type) -> T: ...
    def __get__(self, view: OpView | None, owner: type) -> Self | T:
        if view is None:
            return self
        value = self.read(view)
        # From here on the instance has the value under the name, and this is not called again.
        view.__dict__[self.name] = value
        return value

    def read(self, view: Any) -> T:
        """Returns what an operation has of it; raises `VerifyError` where that is no such thing."""
        raise NotImplementedError


def _plain(value: Any) -> Any:
    if isinstance(value, Typed):
        return value.value
    if type(value) in (tuple, Crossed):
        return type(value)(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return value
