"""Composites: formulas over the vocabulary, for any reading."""

from __future__ import annotations

import math
from collections.abc import Sequence

from topos.errors import ShapeError
from topos.op import R
from topos.payload import Shape, axes_of, axis_of, shape_of
from topos.reading.recordable import Axes


def relu(value: R) -> R:
    """Returns the larger of each element and zero; at zero the slope is one."""
    return value.maximum(0.0)


def absolute(value: R) -> R:
    """Returns the larger of each element and its negation; at zero the slope is one."""
    return value.maximum(-value)


def silu(value: R) -> R:
    """Returns `x * logistic(x)` (Elfwing et al., 2018)."""
    return value * value.logistic()


def gelu(value: R) -> R:
    """Returns `x * Phi(x)` with the normal distribution by `erf` (Hendrycks & Gimpel, 2016)."""
    return 0.5 * value * (1.0 + (value * math.sqrt(0.5)).erf())


def gelu_tanh(value: R) -> R:
    """Returns the tanh approximation of `gelu` (Hendrycks & Gimpel, 2016, section 2)."""
    inner = math.sqrt(2.0 / math.pi) * (value + 0.044715 * (value * value * value))
    return 0.5 * value * (1.0 + inner.tanh())


def mean(value: R, axes: Axes = None) -> R:
    """Returns the sum over `axes`, by default all, divided by the number of terms."""
    return value.sum(axes) / float(_terms("mean", value.shape, axes))


def variance(value: R, axes: Axes = None) -> R:
    """Returns the mean of the squared distances from the mean over `axes` (biased)."""
    places = axes_of("variance", axes, len(value.shape))
    extents = [value.shape[axis] for axis in places]
    centred = value - mean(value, places).broadcast_along(places, extents)
    return mean(centred * centred, axes)


def softmax(value: R, axis: int) -> R:
    """Returns the exponentials along `axis` divided by their sum, by way of `log_softmax`."""
    return value.log_softmax(axis).exp()


def broadcast_to(value: R, shape: Sequence[int]) -> R:
    """Returns `value` repeated to `shape`: missing leading axes and extents of one are filled."""
    wanted, own = shape_of(shape), value.shape
    leading = len(wanted) - len(own)
    pairs = zip(own, wanted[max(leading, 0) :], strict=False)
    if leading < 0 or any(extent not in (1, target) for extent, target in pairs):
        raise ShapeError(f"broadcast_to cannot spread {own} over {wanted}")
    if own == wanted:
        return value
    kept = [a for a, target in enumerate(wanted) if a >= leading and own[a - leading] == target]
    new = [axis for axis in range(len(wanted)) if axis not in kept]
    extents = [wanted[axis] for axis in kept]
    core = value if list(own) == extents else value.reshape(extents)
    return core.broadcast_along(new, [wanted[axis] for axis in new])


def concat(values: Sequence[R], axis: int) -> R:
    """Returns `values` joined along `axis`, in order."""
    if not values:
        raise ShapeError("concat needs one value or more, got none")
    return values[0].concatenate(values[1:], axis)


def stack(values: Sequence[R], axis: int) -> R:
    """Returns `values` of one shape side by side along a new axis."""
    if not values:
        raise ShapeError("stack needs one value or more, got none")
    place = axis_of("stack", axis, len(values[0].shape) + 1)
    lifted = [v.reshape((*v.shape[:place], 1, *v.shape[place:])) for v in values]
    return concat(lifted, place)


def _terms(name: str, shape: Shape, axes: Axes) -> int:
    count = math.prod(shape[axis] for axis in axes_of(name, axes, len(shape)))
    if count == 0:
        raise ShapeError(f"{name} needs one term or more, got {shape} over axes {axes}")
    return count
