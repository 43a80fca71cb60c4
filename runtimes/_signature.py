"""The types of a module's arguments and results, and what is refused beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.errors import ArgumentError, ExecutionError
from topos.payload import Shape

__all__ = ["ArrayType", "ModuleSignature", "fitting", "require_count", "require_results"]

Array = npt.NDArray[Any]

ORDERS: Final = {"<": "little", ">": "big"}


class ArrayType(NamedTuple):
    """The shape and the numpy dtype of one argument or result of an executable."""

    shape: Shape
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        # numpy gives both byte orders of an element one name.
        order = "" if self.dtype.isnative else f"{ORDERS[self.dtype.byteorder]}-endian "
        return f"{order}{self.dtype.name}[{', '.join(map(str, self.shape))}]"


class ModuleSignature(NamedTuple):
    """The argument and result types of a module's `@main`."""

    arguments: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]

    def __str__(self) -> str:
        arguments, results = (", ".join(map(str, types)) for types in self)
        return f"({arguments}) -> ({results})"


def require_count(got: int, expected: int) -> None:
    """Raises `ArgumentError` where a call has not one argument for each of the module's."""
    if got != expected:
        raise ArgumentError(f"the module takes {expected} arguments, got {got}")


def fitting(position: int, argument: npt.ArrayLike, wanted: ArrayType) -> Array:
    """Returns `argument` as an array of type `wanted`; raises `ArgumentError` for another type."""
    try:
        array = np.asarray(argument)
    # An argument's own `__array__` may raise anything.
    except Exception as error:
        raise ArgumentError(
            f"argument {position} must be {wanted}, got {type(argument).__name__}: {error}"
        ) from error
    if array.shape != wanted.shape or array.dtype != wanted.dtype:
        got = ArrayType(array.shape, array.dtype)
        raise ArgumentError(f"argument {position} must be {wanted}, got {got}")
    return array


def require_results(results: Sequence[Array], expected: tuple[ArrayType, ...]) -> None:
    """Raises `ExecutionError` where a runtime's results are not those of the signature."""
    if len(results) != len(expected):
        raise ExecutionError(f"the module has {len(expected)} results, and {len(results)} came")
    for position, (array, wanted) in enumerate(zip(results, expected, strict=True)):
        if array.shape != wanted.shape or array.dtype != wanted.dtype:
            came = ArrayType(array.shape, array.dtype)
            raise ExecutionError(f"result {position} must be {wanted}, and {came} came")
