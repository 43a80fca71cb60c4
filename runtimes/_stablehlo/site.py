"""The site of an operation: what its builder may ask about it, and how it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from topos.errors import UnsupportedError, VerifyError
from topos.runtimes._stablehlo.dense import decoded
from topos.runtimes._stablehlo.program import Kernel, Program
from topos.runtimes._stablehlo.syntax import Dense, Operation, Symbol, Tensor

__all__ = ["Builder", "Constant", "Site"]

Array = npt.NDArray[Any]


class Constant(NamedTuple):
    """What a builder returns in place of a kernel where the result is known already."""

    array: Array


@dataclass(frozen=True, slots=True)
class Site:
    """One operation with the types of its values and its regions compiled.

    `constants` holds an operand's array where it is known before the run. A kernel is called
    with the operands, then with `captures` values that the regions use from outside, which each
    region's program takes after its own arguments.
    """

    operation: Operation
    operands: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    constants: tuple[Array | None, ...]
    regions: tuple[Program, ...]
    captures: int
    function: Callable[[Symbol, Operation], Program]

    @property
    def name(self) -> str:
        """The operation's full name."""
        return self.operation.name

    def refuse(self, reason: str) -> NoReturn:
        """Raises `VerifyError` with the line, the operation and `reason`."""
        raise VerifyError(f"{self.name} {reason}", self.operation.line)

    def unsupported(self, reason: str) -> NoReturn:
        """Raises `UnsupportedError` with the line, the operation and `reason`."""
        raise UnsupportedError(f"line {self.operation.line}: {self.name} {reason}")

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

    def attribute(self, key: str) -> Any:
        """Returns an attribute, which must be there."""
        value = self.operation.attributes.get(key)
        self.demand(value is not None, f"needs the attribute {key}")
        return value

    def integer(self, key: str) -> int:
        """Returns an integer attribute, which must be there."""
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

    def word(self, key: str, default: str | None = None) -> str:
        """Returns a bare word, such as a comparison's direction."""
        if default is not None and key not in self.operation.attributes:
            return default
        value = self.attribute(key)
        if not isinstance(value, str):
            self.refuse(f"needs a word as {key}, got {value}")
        return value

    def axes(self, key: str, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
        """Returns `axes` where they are distinct axes of a value of `rank`, or refuses."""
        valid = len(set(axes)) == len(axes) and all(0 <= axis < rank for axis in axes)
        self.demand(valid, f"needs distinct axes below {rank} as {key}, got {list(axes)}")
        return axes

    def ascending(self, key: str, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
        """Returns `axes` as `axes` does, where they also ascend."""
        self.demand(axes == tuple(sorted(axes)), f"needs ascending {key}, got {list(axes)}")
        return self.axes(key, axes, rank)


Builder = Callable[[Site], Kernel | Constant]
