"""Smaller shapes: a module and its arguments with fewer elements along some axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from topos.judge.reproduction.chains import Part
from topos.runtimes.interpreter.program import Array
from topos.stablehlo import Module
from topos.stablehlo.dense import decoded, dense_of
from topos.stablehlo.dialect import definitions
from topos.stablehlo.ir import (
    Dense,
    Operation,
    Packed,
    Parameter,
    Region,
    Tensor,
    Type,
)

# The attributes that hold extents, beside those that number axes.
EXTENTS: Final = frozenset({"slice_sizes", "limit_indices", "window_dimensions", "fft_length"})
# So many elements around the worst one are tried; the first is a scalar.
WINDOWS: Final = (0, 1, 4, 8, 16, 64)

OfType = Callable[[Type], Type]
OfArray = Callable[[Array], Array]


def flattened(part: Part, worst: int, width: int) -> Part | None:
    """Returns a part that works element by element with `width` elements around number `worst`.

    With a width of 0 it works on scalars. `None` where another operation stands in it, or it has
    no more elements than that.
    """
    shape = _common_shape(part.module)
    size = 0 if shape is None else math.prod(each or 0 for each in shape)
    if shape is None or (size, len(shape)) <= (max(width, 1), 1 if width else 0):
        return None
    start = min(max(0, worst // max(width, 1) * width if width else worst), size - max(width, 1))
    new = (width,) if width else ()

    def of_type(type: Type) -> Type:
        if isinstance(type, Tensor) and type.shape == shape:
            return type._replace(shape=new)
        return type

    def of_array(array: Array) -> Array:
        if array.shape != shape:
            return array
        taken = array.reshape(-1)[start : start + max(width, 1)]
        return np.array(taken.reshape(new))

    module = retyped(part.module, of_type, of_array)
    return Part(module, tuple([of_array(each) for each in part.arguments]))


def _common_shape(module: Module) -> tuple[int | None, ...] | None:
    """Returns the one shape of all values beside scalars, where all is elementwise."""
    known, shapes = definitions(), set[tuple[int | None, ...]]()
    main = module.function()
    if len(module.functions) > 1 or main.body is None:
        return None
    for operation in main.body.blocks[0].operations[:-1]:
        defined = known.get(operation.name)
        if defined is None or not (defined.is_elementwise or defined.is_constant):
            return None
        shapes |= {getattr(type, "shape", ()) for type in operation.result_types}
    shapes |= {getattr(each.type, "shape", ()) for each in main.arguments}
    shapes -= {()}
    return shapes.pop() if len(shapes) == 1 else None


def extents(part: Part) -> list[int]:
    """Returns the extents of arguments and results, each once, the longest first."""
    main = part.module.function()
    shapes = [getattr(each.type, "shape", ()) for each in (*main.arguments, *main.results)]
    return sorted({n for shape in shapes for n in shape if n and n > 1}, reverse=True)


def everywhere(part: Part, extent: int, kept: Sequence[int]) -> Iterator[Part]:
    """Yields the part with every axis of an extent cut to the places `kept`.

    It is cut in the attributes that hold extents too, and then there not.
    """

    def of_type(type: Type) -> Type:
        if not isinstance(type, Tensor) or extent not in type.shape:
            return type
        return type._replace(shape=_replaced(type.shape, extent, len(kept)))

    def of_array(array: Array) -> Array:
        for axis, n in enumerate(array.shape):
            if n == extent:
                array = array.take(kept, axis)
        return array

    arguments = tuple([of_array(each) for each in part.arguments])
    for changed in (True, False):
        module = retyped(part.module, of_type, of_array, (extent, len(kept)) if changed else None)
        yield Part(module, arguments)


def retyped(
    module: Module, of_type: OfType, of_array: OfArray, sizes: tuple[int, int] | None = None
) -> Module:
    """Returns a module with other types and constants in all its functions and regions."""

    def parameters(given: Sequence[Parameter]) -> tuple[Parameter, ...]:
        return tuple([each._replace(type=of_type(each.type)) for each in given])

    def operation(each: Operation) -> Operation:
        kinds = each.operand_types
        return each._replace(
            attributes={
                key: _constant(value, of_type, of_array)
                for key, value in resized(each.attributes, sizes).items()
            },
            operand_types=None if kinds is None else tuple([of_type(kind) for kind in kinds]),
            result_types=tuple([of_type(kind) for kind in each.result_types]),
            regions=tuple([region(inner) for inner in each.regions]),
        )

    def region(given: Region) -> Region:
        blocks = [
            block._replace(
                arguments=parameters(block.arguments),
                operations=tuple([operation(each) for each in block.operations]),
            )
            for block in given.blocks
        ]
        return Region(tuple(blocks))

    functions = [
        each._replace(
            arguments=parameters(each.arguments),
            results=parameters(each.results),
            body=None if each.body is None else region(each.body),
        )
        for each in module.functions
    ]
    return module._replace(functions=tuple(functions))


def _constant(value: Any, of_type: OfType, of_array: OfArray) -> Any:
    if not isinstance(value, Dense) or not isinstance(value.type, Tensor):
        return value
    if of_type(value.type) == value.type:
        return value
    return dense_of(of_array(decoded(value)), value.type.element)


def resized(attributes: Any, sizes: tuple[int, int] | None) -> dict[str, Any]:
    """Returns attributes whose extents are changed from one number to another."""
    if sizes is None:
        return dict(attributes)
    return {
        key: _lengths(value, sizes) if key in EXTENTS else value
        for key, value in attributes.items()
    }


def _lengths(value: Any, sizes: tuple[int, int]) -> Any:
    if not isinstance(value, tuple):
        return value
    numbers = _replaced(value, *sizes)
    return Packed(numbers, value.element) if isinstance(value, Packed) else numbers


def _replaced(numbers: tuple[Any, ...], old: int, new: int) -> tuple[Any, ...]:
    return tuple([new if each == old else each for each in numbers])
