"""The vocabulary, spelled once: every method expresses one operation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import ClassVar, Final, Self, SupportsIndex

from topos import op
from topos.errors import ElementError
from topos.op import Direction, MapOperation, Operation
from topos.payload import Element, Shape, TensorType, axes_of, axis_of, integers, shape_of

Number = int | float
Axes = SupportsIndex | Sequence[SupportsIndex] | None

# One object for each operation without parameters: recording allocates no operation.
ADD: Final = op.Add()
SUB: Final = op.Sub()
MUL: Final = op.Mul()
DIV: Final = op.Div()
NEG: Final = op.Neg()
POWER: Final = op.Power()
MATMUL: Final = op.MatMul()
TRANSPOSE: Final = op.Transpose()
MAXIMUM: Final = op.Maximum()
MINIMUM: Final = op.Minimum()
STEP: Final = op.Step()
SELECT: Final = op.Select()
SUM: Final = op.Sum()
MAPS: Final = {function: op.Map(function) for function in MapOperation}
COMPARISONS: Final = {direction: op.Compare(direction) for direction in Direction}


class Recordable:
    """What a derivative rule, and any other algorithm over readings, may call.

    A reading implements `shape`, `element`, `express`, `fill` and `iota`. An operand may be a
    Python number, which stands for a constant of the other operand's shape and element; nothing
    else is promoted or broadcast.
    """

    __slots__ = ()
    # Without this, `numpy_scalar * value` would spread the value over an array of objects.
    __array_ufunc__: ClassVar[None] = None

    def __eq__(self, other: object) -> bool:
        # Two readings are equal where they are one object; a number would be silently unequal.
        if isinstance(other, Real):
            raise ElementError("== compares identities: record a comparison with equal")
        return self is other

    __hash__ = object.__hash__

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The extent along every axis."""

    @property
    @abstractmethod
    def element(self) -> Element:
        """The number format."""

    @abstractmethod
    def express(self, operation: Operation, *operands: Self) -> Self:
        """Computes or records `operation`: the one interception point."""

    @abstractmethod
    def fill(self, number: Number) -> Self:
        """Returns a constant of this value's shape and element, rounded once.

        An integer fits every element; a float needs a floating one.
        """

    @abstractmethod
    def iota(self, shape: Shape) -> Self:
        """Returns the i64 constant of each element's row-major position in `shape`."""

    def operand(self, other: Self | Number) -> Self:
        """Returns `other` as an operand beside this value: itself, or a literal filled out."""
        if isinstance(other, type(self)):
            return other
        if isinstance(other, Real):
            return self.fill(other)
        kind = type(self).__name__
        raise ElementError(f"an operand must be a {kind} or a number, got {type(other).__name__}")

    def value(self, other: Self | Number) -> Self:
        """Returns `other`, an operand that no number can stand for."""
        if isinstance(other, type(self)):
            return other
        kind = type(self).__name__
        raise ElementError(f"an operand must be a {kind}, got {type(other).__name__}")

    @property
    def type(self) -> TensorType:
        """The shape and the element."""
        return TensorType(self.shape, self.element)

    def __add__(self, other: Self | Number) -> Self:
        return self.express(ADD, self, other if type(other) is type(self) else self.operand(other))

    def __radd__(self, other: Number) -> Self:
        return self.express(ADD, self.operand(other), self)

    def __sub__(self, other: Self | Number) -> Self:
        return self.express(SUB, self, other if type(other) is type(self) else self.operand(other))

    def __rsub__(self, other: Number) -> Self:
        return self.express(SUB, self.operand(other), self)

    def __mul__(self, other: Self | Number) -> Self:
        return self.express(MUL, self, other if type(other) is type(self) else self.operand(other))

    def __rmul__(self, other: Number) -> Self:
        return self.express(MUL, self.operand(other), self)

    def __truediv__(self, other: Self | Number) -> Self:
        return self.express(DIV, self, other if type(other) is type(self) else self.operand(other))

    def __rtruediv__(self, other: Number) -> Self:
        return self.express(DIV, self.operand(other), self)

    def __pow__(self, other: Self | Number) -> Self:
        return self.express(POWER, self, self.operand(other))

    def __rpow__(self, other: Number) -> Self:
        return self.express(POWER, self.operand(other), self)

    def __neg__(self) -> Self:
        return self.express(NEG, self)

    def __matmul__(self, other: Self) -> Self:
        return self.express(MATMUL, self, self.value(other))

    def maximum(self, other: Self | Number) -> Self:
        """Returns the elementwise maximum; a tie's gradient goes to this value."""
        return self.express(MAXIMUM, self, self.operand(other))

    def minimum(self, other: Self | Number) -> Self:
        """Returns the elementwise minimum; a tie's gradient goes to this value."""
        return self.express(MINIMUM, self, self.operand(other))

    def step(self, threshold: Self | Number) -> Self:
        """Returns 1 where this value is at least `threshold`, else 0."""
        return self.express(STEP, self, self.operand(threshold))

    def exp(self) -> Self:
        """Returns the exponential."""
        return self.express(MAPS[MapOperation.EXP], self)

    def expm1(self) -> Self:
        """Returns the exponential less one, accurate near zero."""
        return self.express(MAPS[MapOperation.EXPM1], self)

    def ln(self) -> Self:
        """Returns the natural logarithm."""
        return self.express(MAPS[MapOperation.LN], self)

    def log1p(self) -> Self:
        """Returns the logarithm of one more, accurate near zero."""
        return self.express(MAPS[MapOperation.LOG1P], self)

    def sqrt(self) -> Self:
        """Returns the square root."""
        return self.express(MAPS[MapOperation.SQRT], self)

    def rsqrt(self) -> Self:
        """Returns the reciprocal of the square root; -inf at -0."""
        return self.express(MAPS[MapOperation.RSQRT], self)

    def tanh(self) -> Self:
        """Returns the hyperbolic tangent."""
        return self.express(MAPS[MapOperation.TANH], self)

    def logistic(self) -> Self:
        """Returns the logistic function, 1 / (1 + exp(-x))."""
        return self.express(MAPS[MapOperation.LOGISTIC], self)

    def sin(self) -> Self:
        """Returns the sine, of radians."""
        return self.express(MAPS[MapOperation.SIN], self)

    def cos(self) -> Self:
        """Returns the cosine, of radians."""
        return self.express(MAPS[MapOperation.COS], self)

    def erf(self) -> Self:
        """Returns the error function."""
        return self.express(MAPS[MapOperation.ERF], self)

    def equal(self, other: Self | Number) -> Self:
        """Returns the bool mask of `self == other`."""
        return self.express(COMPARISONS[Direction.EQUAL], self, self.operand(other))

    def not_equal(self, other: Self | Number) -> Self:
        """Returns the bool mask of `self != other`."""
        return self.express(COMPARISONS[Direction.NOT_EQUAL], self, self.operand(other))

    def less(self, other: Self | Number) -> Self:
        """Returns the bool mask of `self < other`."""
        return self.express(COMPARISONS[Direction.LESS], self, self.operand(other))

    def less_equal(self, other: Self | Number) -> Self:
        """Returns the bool mask of `self <= other`."""
        return self.express(COMPARISONS[Direction.LESS_EQUAL], self, self.operand(other))

    def greater(self, other: Self | Number) -> Self:
        """Returns the bool mask of `self > other`."""
        return self.express(COMPARISONS[Direction.GREATER], self, self.operand(other))

    def greater_equal(self, other: Self | Number) -> Self:
        """Returns the bool mask of `self >= other`."""
        return self.express(COMPARISONS[Direction.GREATER_EQUAL], self, self.operand(other))

    def select(self, on_true: Self | Number, on_false: Self | Number) -> Self:
        """Returns `on_true` where this bool mask holds, else `on_false`.

        A number stands for a constant of the other branch's element.
        """
        if isinstance(on_true, Real):
            other = self.value(on_false)
            return self.express(SELECT, self, other.operand(on_true), other)
        value = self.value(on_true)
        return self.express(SELECT, self, value, value.operand(on_false))

    def convert(self, element: Element) -> Self:
        """Returns this value in another element, rounded once."""
        return self.express(op.Convert(element), self)

    def transpose(self) -> Self:
        """Returns this value with its trailing two axes swapped."""
        return self.express(TRANSPOSE, self)

    def permute(self, axes: Sequence[SupportsIndex]) -> Self:
        """Returns this value with axis `axes[i]` at place `i`."""
        rank = len(self.shape)
        return self.express(
            op.Permute(tuple(axis_of("permute", axis, rank) for axis in axes)), self
        )

    def reshape(self, shape: Sequence[SupportsIndex]) -> Self:
        """Returns the same elements, in row-major order, under `shape`."""
        return self.express(op.Reshape(shape_of(shape)), self)

    def sum(self, axes: Axes = None) -> Self:
        """Returns the sum over `axes`, which leave the shape; by default over everything."""
        if axes is None:
            return self.express(SUM, self)
        return self.express(op.SumAlong(axes_of("sum", axes, len(self.shape))), self)

    def max(self, axes: Axes = None) -> Self:
        """Returns the maximum over `axes`, which leave the shape; by default over everything."""
        return self.express(op.MaxAlong(axes_of("max", axes, len(self.shape))), self)

    def broadcast(self, shape: Sequence[SupportsIndex]) -> Self:
        """Returns this rank-0 value spread over `shape`."""
        return self.express(op.Broadcast(shape_of(shape)), self)

    def broadcast_along(
        self, axes: Sequence[SupportsIndex], extents: Sequence[SupportsIndex]
    ) -> Self:
        """Returns this value repeated along new axes that stand at `axes` of the result."""
        lengths = shape_of(extents)
        rank = len(self.shape) + len(lengths)
        places = tuple(axis_of("broadcast_along", axis, rank) for axis in axes)
        if len(places) == len(lengths) > 0:
            places, lengths = zip(*sorted(zip(places, lengths, strict=True)), strict=True)
        return self.express(op.BroadcastAlong(places, lengths), self)

    def narrow(self, axis: SupportsIndex, start: int, extent: int) -> Self:
        """Returns `extent` slices along `axis`, from `start` on."""
        place = axis_of("narrow", axis, len(self.shape))
        starts, extents = [0] * len(self.shape), list(self.shape)
        starts[place], extents[place] = start, extent
        return self.box(starts, extents)

    def box(self, starts: Sequence[int], extents: Sequence[int]) -> Self:
        """Returns the box of `extents` that begins at `starts`, one of each an axis."""
        return self.express(
            op.Narrow(integers("narrow", starts), integers("narrow", extents)), self
        )

    def pad(self, low: Sequence[int], high: Sequence[int]) -> Self:
        """Returns this value with `low` zeros before and `high` zeros after, for each axis."""
        return self.express(op.Pad(integers("pad", low), integers("pad", high)), self)

    def concatenate(self, others: Sequence[Self], axis: SupportsIndex) -> Self:
        """Returns this value followed by `others` along `axis`."""
        place = axis_of("concatenate", axis, len(self.shape))
        return self.express(op.Concatenate(place), self, *map(self.value, others))

    def unfold(self, axis: SupportsIndex, size: int, step: int) -> Self:
        """Returns the windows of `size` every `step` along `axis`, their elements a last axis."""
        place, sizes = axis_of("unfold", axis, len(self.shape)), integers("unfold", (size, step))
        return self.express(op.Unfold(place, *sizes), self)

    def fold(self, axis: SupportsIndex, step: int, extent: int) -> Self:
        """Returns windows added where `unfold` took them from, along an axis of `extent`."""
        place, sizes = axis_of("fold", axis, len(self.shape)), integers("fold", (step, extent))
        return self.express(op.Fold(place, *sizes), self)

    def gather(self, indices: Self, axis: SupportsIndex) -> Self:
        """Returns the slices along `axis` that `indices` name, clamped to the ends."""
        place = axis_of("gather", axis, len(self.shape))
        return self.express(op.Gather(place), self, self.value(indices))

    def scatter(self, indices: Self, axis: SupportsIndex, extent: int) -> Self:
        """Returns zeros with an axis of `extent`, to which these slices are added by `indices`."""
        rank = len(self.shape) - len(self.value(indices).shape) + 1
        place = axis_of("scatter", axis, rank)
        (length,) = integers("scatter", (extent,))
        return self.express(op.Scatter(place, length), self, indices)

    def log_softmax(self, axis: SupportsIndex) -> Self:
        """Returns the logarithm of the softmax along `axis`."""
        return self.express(op.LogSoftmax(axis_of("log_softmax", axis, len(self.shape))), self)

    def log_sum_exp(self, axis: SupportsIndex) -> Self:
        """Returns the logarithm of the sum of exponentials over `axis`, which leaves the shape."""
        return self.express(op.LogSumExp(axis_of("log_sum_exp", axis, len(self.shape))), self)
