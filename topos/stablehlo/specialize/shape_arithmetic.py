"""Shape arithmetic: small integer tensors computed from known ones, as StableHLO says, wrapping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.stablehlo.definition import Definition
from topos.stablehlo.dense import decoded, listed
from topos.stablehlo.dialect.bits import And, Not, Or, Xor
from topos.stablehlo.dialect.comparison import Clamp, Compare, Select
from topos.stablehlo.dialect.constants import Constant, Iota
from topos.stablehlo.dialect.control import OptimizationBarrier
from topos.stablehlo.dialect.conversion import Convert
from topos.stablehlo.dialect.elementwise import (
    Abs,
    Add,
    Divide,
    Maximum,
    Minimum,
    Multiply,
    Negate,
    Remainder,
    Sign,
    Subtract,
)
from topos.stablehlo.dialect.layout import BroadcastInDim, Concatenate, Reshape, Transpose
from topos.stablehlo.dialect.slicing import Slice
from topos.stablehlo.ir import Dense, Operation, Tensor
from topos.stablehlo.resources import absent
from topos.stablehlo.shapes import size_of
from topos.stablehlo.types import dtype_of, extents, numbers_of

Array = npt.NDArray[Any]
# Returns the elements of the result; the type is the result's.
Fold = Callable[[Definition, Tensor, tuple[Array, ...]], Any]

# A list of sizes has one for each axis, of which there are at most 64; a padding has two.
_LARGEST: Final = 128
_INTEGERS: Final = frozenset(
    [*(f"{sign}{bits}" for sign in ("i", "ui") for bits in (8, 16, 32, 64)), "i1", "index"]
)


def is_number(type: object) -> bool:
    """Returns whether values of `type` may be numbers that a shape is computed from."""
    if not isinstance(type, Tensor) or type.element not in _INTEGERS:
        return False
    size = size_of(type.shape)
    return size is not None and size <= _LARGEST


def constant_of(value: object) -> Array | None:
    """Returns the elements of a constant that `is_number`, or `None` for any other."""
    if not isinstance(value, Dense) or not is_number(value.type) or absent(value):
        return None
    return decoded(value)


def constant(at: Operation, array: Array, type: Tensor) -> Operation:
    """Returns the constant that stands for an operation whose only result is known."""
    body = listed(array, type.element)
    return at._replace(
        name=Constant.operation_name,
        operands=(),
        attributes={"value": Dense(body, type, at.line, at.column, array)},
        regions=(),
        operand_types=(),
        result_types=(type,),
    )


def folds(definition: type[Definition]) -> bool:
    """Returns whether an operation is one that shapes are computed by; all of them are pure."""
    return definition in _FOLDS


def number(view: Definition, result: Tensor) -> Array | None:
    """Returns the elements of the result where those of all operands are known.

    There are none either where the operation has no defined value, as a division by zero.
    """
    known = tuple([operand for operand in view.constants if operand is not None])
    if len(known) < len(view.constants) or not is_number(result):
        return None
    with np.errstate(all="ignore"):
        made = _FOLDS[type(view)](view, result, known)
    if made is None:
        return None
    array = np.asarray(made).astype(dtype_of(numbers_of(result))).reshape(extents(result))
    array.setflags(write=False)
    return array


def _by(function: Callable[..., Any]) -> Fold:
    """A function of the elements alone, which numpy wraps as StableHLO does."""
    return lambda view, result, operands: function(*operands)


def _divide(dividend: Array, divisor: Array) -> Any:
    """The quotient, rounded towards zero."""
    if dividend.dtype == np.bool_ or not divisor.all():
        return None
    return (dividend - np.fmod(dividend, divisor)) // divisor


def _remainder(dividend: Array, divisor: Array) -> Any:
    return None if dividend.dtype == np.bool_ or not divisor.all() else np.fmod(dividend, divisor)


def _add(one: Array, other: Array) -> Any:
    return one | other if one.dtype == np.bool_ else one + other


def _multiply(one: Array, other: Array) -> Any:
    return one & other if one.dtype == np.bool_ else one * other


_DIRECTIONS: Final[Mapping[str, Callable[[Array, Array], Any]]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
}


def _compare(view: Definition, result: Tensor, operands: tuple[Array, ...]) -> Any:
    return _DIRECTIONS[view.word("comparison_direction")](*operands)


def _clamp(least: Array, operand: Array, most: Array) -> Any:
    return np.minimum(np.maximum(operand, least), most)


def _convert(view: Definition, result: Tensor, operands: tuple[Array, ...]) -> Any:
    return operands[0] != 0 if result.element == "i1" else operands[0]


def _same(view: Definition, result: Tensor, operands: tuple[Array, ...]) -> Any:
    return operands[0]


def _broadcast(view: Definition, result: Tensor, operands: tuple[Array, ...]) -> Any:
    shape = [1] * len(result.shape)
    for axis, extent in zip(view.integers("broadcast_dimensions"), operands[0].shape, strict=True):
        shape[axis] = extent
    return np.broadcast_to(operands[0].reshape(shape), extents(result))


def _concatenate(view: Definition, result: Tensor, operands: tuple[Array, ...]) -> Any:
    return np.concatenate(operands, axis=view.integer("dimension"))


def _slice(view: Definition, result: Tensor, operands: tuple[Array, ...]) -> Any:
    columns = [view.integers(key) for key in ("start_indices", "limit_indices", "strides")]
    return operands[0][tuple(map(slice, *columns))]


def _transpose(view: Definition, result: Tensor, operands: tuple[Array, ...]) -> Any:
    return operands[0].transpose(view.integers("permutation"))


def _iota(view: Definition, result: Tensor, operands: tuple[Array, ...]) -> Any:
    shape, along = extents(result), view.integer("iota_dimension")
    column = [-1 if axis == along else 1 for axis in range(len(shape))]
    return np.broadcast_to(np.arange(shape[along]).reshape(column), shape)


_FOLDS: Final[Mapping[type[Definition], Fold]] = {
    Abs: _by(np.abs),
    Add: _by(_add),
    And: _by(np.bitwise_and),
    BroadcastInDim: _broadcast,
    Clamp: _by(_clamp),
    Compare: _compare,
    Concatenate: _concatenate,
    Convert: _convert,
    Divide: _by(_divide),
    Iota: _iota,
    Maximum: _by(np.maximum),
    Minimum: _by(np.minimum),
    Multiply: _by(_multiply),
    Negate: _by(np.negative),
    Not: _by(np.invert),
    OptimizationBarrier: _same,
    Or: _by(np.bitwise_or),
    Remainder: _by(_remainder),
    Reshape: _same,
    Select: _by(np.where),
    Sign: _by(np.sign),
    Slice: _slice,
    Subtract: _by(np.subtract),
    Transpose: _transpose,
    Xor: _by(np.bitwise_xor),
}
