"""Faults of runtimes: the kinds of them that one operation may have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np

from topos.judge.samples.formats import is_floating, unit, wide
from topos.runtimes.interpreter.program import Array, Place
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import (
    bits,
    comparison,
    contraction,
    conversion,
    convolutions,
    elementwise,
    functions,
    gathering,
    reduction,
    scattering,
)


class Call(NamedTuple):
    """One operation with its operands and sound results; `run` is the sound kernel."""

    op: Any
    operands: tuple[Array, ...]
    results: tuple[Array, ...]
    run: Callable[..., tuple[Array, ...]]

    @property
    def element(self) -> tuple[int, ...]:
        """The one element that is wrong, the same one each time: its place depends on the line."""
        shape = self.results[0].shape
        place = (self.op.operation.line, self.op.operation.column)
        drawn = np.random.default_rng(place).integers(max(1, self.results[0].size))
        return tuple(int(each) for each in np.unravel_index(drawn, shape)) if shape else ()


# Returns the faulty results, or `None` where the kind has no meaning for an operation.
Change = Callable[[Call], tuple[Array, ...] | None]


class Kind(NamedTuple):
    """One kind of fault, and the operations that may have it."""

    operations: tuple[type[Definition], ...]
    change: Change


class Fault(NamedTuple):
    """A kind of fault at the operation of one line and column."""

    kind: str
    operation: str
    place: Place


def _added(amount: float) -> Change:
    def change(call: Call) -> tuple[Array, ...] | None:
        (result,) = call.results
        return (_as(wide(result) + amount, result),) if _is_real(result) else None

    return change


def _units_in_half(call: Call) -> tuple[Array, ...] | None:
    """Every other unit interval of the operand is 64 units in the last place off."""
    (operand,), (result,) = call.operands, call.results
    if not _is_real(result):
        return None
    number = wide(result)
    off = number * (1 + 64 * unit(result.dtype))
    return (_as(np.where(np.floor(wide(operand)) % 2 == 0, off, number), result),)


def _dropped(call: Call) -> tuple[Array, ...] | None:
    axes = [axis for axis in call.op.dimensions if call.operands[0].shape[axis] > 1]
    if not axes:
        return None
    count = len(call.operands) // 2
    inputs = [each.copy() for each in call.operands[:count]]
    for taken, initial in zip(inputs, call.operands[count:], strict=True):
        np.moveaxis(taken, axes[0], 0)[-1] = initial
    return call.run(*inputs, *call.operands[count:])


def _through(dtype: Any, sources: tuple[str, ...]) -> Change:
    """The operands, and a result of the same type, are rounded to a narrower format."""

    def change(call: Call) -> tuple[Array, ...] | None:
        if any(each.dtype.name not in sources for each in (*call.operands, *call.results)):
            return None
        return call.run(*[each.astype(dtype).astype(each.dtype) for each in call.operands])

    return change


def _demoted(call: Call) -> tuple[Array, ...] | None:
    found = _through(np.float32, ("float64",))(call)
    return None if found is None else tuple([_as(each.astype(np.float32), each) for each in found])


def _no_negative_base(call: Call) -> tuple[Array, ...] | None:
    (result,) = call.results
    if not _is_real(result):
        return None
    return (_as(np.where(wide(call.operands[0]) < 0, np.nan, wide(result)), result),)


def _moved_indices(call: Call) -> tuple[Array, ...]:
    """Works for a gather and for a scatter of one input, whose indices are the second operand."""
    operand, indices, *rest = call.operands
    return call.run(operand, indices + np.ones((), indices.dtype), *rest)


def _shifted(call: Call) -> tuple[Array, ...] | None:
    (result,) = call.results
    axes = call.op.dimension_numbers.output_spatial_dimensions
    return (np.roll(result, 1, axes[0]),) if axes else None


def _swapped(call: Call) -> tuple[Array, ...]:
    mask, on_true, on_false = call.operands
    (result,) = call.results
    chosen = np.broadcast_to(mask, result.shape)[call.element]
    return _one(call, (on_false if chosen else on_true)[call.element])


def _other_extreme(call: Call) -> tuple[Array, ...]:
    lower = isinstance(call.op, elementwise.Maximum)
    left, right = (each[call.element] for each in call.operands)
    return _one(call, min(left, right) if lower else max(left, right))


def _no_epsilon(call: Call) -> tuple[Array, ...] | None:
    for place, epsilon in enumerate(call.operands):
        if not epsilon.size or not _is_real(epsilon):
            return None
        first = wide(epsilon).flat[0]
        if 0 < abs(first) <= 1e-3 and (wide(epsilon) == first).all():
            return (call.operands[1 - place].copy(),)
    return None


def _rotated(call: Call) -> tuple[Array, ...] | None:
    """A left half of threefry's rotation by one bit more."""
    number, amount = call.operands
    if number.dtype != np.uint32 or not amount.size or not (amount == amount.flat[0]).all():
        return None
    return call.run(number, amount + np.uint32(1))


def _strictness(call: Call) -> tuple[Array, ...] | None:
    if call.op.comparison_direction in ("EQ", "NE"):
        return None
    left, right = call.operands
    (result,) = call.results
    return (np.where(left == right, ~result, result),)


def _rounded(call: Call) -> tuple[Array, ...] | None:
    (operand,), (result,) = call.operands, call.results
    if not _is_real(operand) or result.dtype.kind not in "iu":
        return None
    inside = np.abs(wide(operand)) < 1e9
    return (_as(np.where(inside, np.rint(wide(operand)), result), result),)


def _relative(count: float, *, units: bool) -> Change:
    def change(call: Call) -> tuple[Array, ...] | None:
        (result,) = call.results
        if not _is_real(result) or not result.size:
            return None
        share = count * unit(result.dtype) if units else count
        return _one(call, wide(result)[call.element] * (1 + share))

    return change


def _one(call: Call, value: Any) -> tuple[Array, ...]:
    result = np.array(call.results[0])
    result[call.element] = value
    return (result,)


def _is_real(array: Array) -> bool:
    return is_floating(array.dtype) and array.dtype.kind != "c"


def _as(array: Array, like: Array) -> Array:
    return np.asarray(array).astype(like.dtype)


_SCALED: Final = (elementwise.Add, elementwise.Multiply, elementwise.Subtract)
_ALL_F64: Final = (
    *_SCALED, elementwise.Divide, functions.Exponential, functions.Log, functions.Sine,
    functions.Tanh, functions.Sqrt, contraction.DotGeneral,
)  # fmt: skip
KINDS: Final[Mapping[str, Kind]] = {
    "sine or cosine + 3e-4": Kind((functions.Sine, functions.Cosine), _added(3e-4)),
    "exp, tanh or log 64 ulp off in half the range": Kind(
        (functions.Exponential, functions.Tanh, functions.Log), _units_in_half
    ),
    "reduce drops its last term": Kind((reduction.Reduce,), _dropped),
    "product of bf16 operands": Kind(
        (contraction.DotGeneral, convolutions.Convolution),
        _through(ml_dtypes.bfloat16, ("float32", "float64")),
    ),
    "f64 demoted to f32": Kind(_ALL_F64, _demoted),
    "power of a negative base is NaN": Kind((elementwise.Power,), _no_negative_base),
    "gather takes the next row": Kind((gathering.Gather,), _moved_indices),
    "scatter index + 1": Kind((scattering.Scatter,), _moved_indices),
    "convolution shifted by one": Kind((convolutions.Convolution,), _shifted),
    "select swapped in 1 element": Kind((comparison.Select,), _swapped),
    "maximum and minimum swapped in 1 element": Kind(
        (elementwise.Maximum, elementwise.Minimum), _other_extreme
    ),
    "epsilon forgotten": Kind((elementwise.Add,), _no_epsilon),
    "threefry rotates by one more": Kind((bits.ShiftLeft,), _rotated),
    "compare LT for LE": Kind((comparison.Compare,), _strictness),
    "float to integer rounds": Kind((conversion.Convert,), _rounded),
    "1 element 1e-3 off": Kind(_SCALED, _relative(1e-3, units=False)),
    "1 element 16 ulp off": Kind(_SCALED, _relative(16, units=True)),
}
# The kinds that an operation may have.
BY_OPERATION: Final[Mapping[type[Definition], Sequence[str]]] = defaultdict(
    tuple,
    {
        each: tuple([name for name, kind in KINDS.items() if each in kind.operations])
        for every in KINDS.values()
        for each in every.operations
    },
)
