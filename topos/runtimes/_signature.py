"""The types of a module's arguments and results, and what is refused beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from topos.errors import ArgumentError, ExecutionError

Array = npt.NDArray[Any]

ORDERS: Final = {"<": "little", ">": "big"}


class ArrayType(NamedTuple):
    """The shape and the numpy dtype of one argument or result of an executable.

    An extent of `None`, printed as `?`, is one that the module leaves open.
    """

    # An extent is an int or None; of Any no reader of a static module needs to ask which.
    shape: tuple[int | Any, ...]
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        # numpy gives both byte orders of an element one name.
        order = "" if self.dtype.isnative else f"{ORDERS[self.dtype.byteorder]}-endian "
        extents = ["?" if extent is None else str(extent) for extent in self.shape]
        return f"{order}{self.dtype.name}[{', '.join(extents)}]"


class ModuleSignature(NamedTuple):
    """The argument and result types of a module's `@main`."""

    arguments: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]

    def __str__(self) -> str:
        arguments, results = (", ".join(map(str, types)) for types in self)
        return f"({arguments}) -> ({results})"


def fits(got: ArrayType, wanted: ArrayType) -> bool:
    """Returns whether an array of the type `got` may be one of `wanted`."""
    if got == wanted:
        return True
    return (
        None in wanted.shape
        and got.dtype == wanted.dtype
        and len(got.shape) == len(wanted.shape)
        and all(
            needed in (None, extent) for extent, needed in zip(got.shape, wanted.shape, strict=True)
        )
    )


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
        if not fits(got, wanted):
            raise ArgumentError(f"argument {position} must be {wanted}, got {got}")
    return array


def require_results(results: Sequence[Array], expected: tuple[ArrayType, ...]) -> None:
    """Raises `ExecutionError` where a runtime's results are not those of the signature."""
    if len(results) != len(expected):
        raise ExecutionError(f"the module has {len(expected)} results, and {len(results)} came")
    for position, (array, wanted) in enumerate(zip(results, expected, strict=True)):
        if array.shape != wanted.shape or array.dtype != wanted.dtype:
            came = ArrayType(array.shape, array.dtype)
            if not fits(came, wanted):
                raise ExecutionError(f"result {position} must be {wanted}, and {came} came")
