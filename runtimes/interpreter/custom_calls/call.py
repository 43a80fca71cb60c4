"""The custom call: what a kernel is told of the operation that it runs for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from topos.payload.kernels.canonical import Array
from topos.runtimes._runtime import ArrayType

__all__ = ["Called", "CustomCall", "CustomKernel"]


# A function of the module over scalars, applied to every element of arrays of one shape.
Called = Callable[..., Sequence[Array]]


@dataclass(frozen=True, slots=True)
class CustomCall:
    """A `stablehlo.custom_call` as its text states it.

    `attributes` holds all attributes by name: numbers, truth values, strings, tuples, mappings,
    and arrays for dense constants. `configuration` is the backend's part of them where that is a
    mapping, and is empty otherwise. `results` are the shapes and dtypes that the kernel's arrays
    must have. A layout lists the axes of a value from the fastest to the slowest, and is `None`
    where the text leaves it out; the arrays themselves are always in the order of the axes.
    `called` are the functions that the call names.
    """

    target: str
    attributes: Mapping[str, Any]
    configuration: Mapping[str, Any]
    operand_layouts: tuple[tuple[int, ...] | None, ...]
    result_layouts: tuple[tuple[int, ...] | None, ...]
    results: tuple[ArrayType, ...]
    called: tuple[Called, ...]
    exact: bool


# A kernel takes the call and one array an operand, and returns one array a result: the array
# itself where there is one result, a sequence of arrays otherwise. It must not write its operands.
CustomKernel = Callable[..., Any]
