"""Arithmetic: the functions that an element computes by, those of the user's own among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from topos.errors import ExecutionError
from topos.payload.shape import without

if TYPE_CHECKING:
    from topos.payload.element import Element

Array = npt.NDArray[Any]
Function = Callable[..., Array]

_UNARY: Final = "(array)"
_BINARY: Final = "(left, right)"
PRIMITIVES: Final[dict[str, str]] = {
    "literal": "(numbers)",
    **dict.fromkeys(("add", "subtract", "multiply", "divide"), _BINARY),
    "negate": _UNARY,
    **dict.fromkeys(("maximum", "minimum", "power"), _BINARY),
    **dict.fromkeys(("equal", "less", "less_equal"), _BINARY),
    **dict.fromkeys(("exp", "expm1", "ln", "log1p", "sqrt", "rsqrt", "tanh"), _UNARY),
    **dict.fromkeys(("logistic", "sin", "cos", "erf"), _UNARY),
}
"""What an arithmetic may define, with the arguments of each."""

DERIVED: Final[dict[str, tuple[str, ...]]] = {
    "subtract": ("add", "negate"),
    "not_equal": ("equal",),
    "greater": ("less",),
    "greater_equal": ("less_equal",),
    "step": ("greater_equal", "literal"),
    "sum": ("add",),
    "max": ("maximum",),
    "matmul": ("add", "multiply"),
    "scatter": ("add",),
    "fold": ("add",),
    "log_sum_exp": ("max", "subtract", "exp", "sum", "ln", "add"),
    "log_softmax": ("max", "subtract", "exp", "sum", "ln"),
}
"""What follows, each from the functions that it calls; an arithmetic may define it all the same."""


class Arithmetic:
    """What an element computes by: a subclass defines the functions that the element has.

    A function is elementwise: it takes arrays of the element's dtype, all of one shape, and
    returns a new one; a comparison returns truth values. `PRIMITIVES` has the names and arguments.
    What a subclass leaves out the element does not have, and recording it raises `ElementError`.
    The methods here follow from the others (`DERIVED`) in the order of the oracle.
    """

    functions: ClassVar[frozenset[str]] = frozenset()
    """The names of the functions that an element of this arithmetic has."""

    def __init_subclass__(cls) -> None:
        kinds = cls.__mro__[: cls.__mro__.index(Arithmetic)]
        own = {name for kind in kinds for name in (*PRIMITIVES, *DERIVED) if name in vars(kind)}
        # A function follows from those above it in the table too.
        for name, needed in DERIVED.items():
            if own.issuperset(needed):
                own.add(name)
        cls.functions = frozenset(own)

    def zero(self, dtype: np.dtype[Any]) -> Array:
        """Returns what sums begin with and padding is made of: by default the literal 0.

        Without literals it is the element whose bytes are zero.
        """
        if "literal" in self.functions:
            return self._literal(0)
        return np.zeros((), dtype)

    def start(self, dtype: np.dtype[Any]) -> Array:
        """Returns `zero`, once that is known to be one element."""
        return fitting("zero", self, self.zero(dtype), (), dtype)

    def spell(self, scalar: Any) -> str:
        """Returns one element as it is printed."""
        return str(scalar)

    def conversion(self, source: Element, target: Element) -> Function | None:
        """Returns what converts arrays of `source` to `target`, or `None` where nothing does.

        One of the two is an element of this arithmetic. The target's arithmetic is asked first.
        """
        return None

    def subtract(self, left: Array, right: Array) -> Array:
        """Returns `left + (-right)`."""
        return self._each("add", left, self._each("negate", right))

    def not_equal(self, left: Array, right: Array) -> Array:
        """Returns where `equal` does not hold."""
        differ: Array = np.logical_not(self._each("equal", left, right))
        return differ

    def greater(self, left: Array, right: Array) -> Array:
        """Returns where `right` is less than `left`."""
        return self._each("less", right, left)

    def greater_equal(self, left: Array, right: Array) -> Array:
        """Returns where `right` is at most `left`."""
        return self._each("less_equal", right, left)

    def step(self, left: Array, threshold: Array) -> Array:
        """Returns the literal 1 where `left` is at least `threshold`, else the literal 0."""
        reached = self._each("greater_equal", left, threshold)
        return np.where(reached, self._literal(1), self._literal(0))

    def sum(self, array: Array, axes: tuple[int, ...]) -> Array:
        """Returns zero plus the tree of halves over the flattened `axes` (rule 7 of the oracle)."""
        terms = _flattened(array, axes)
        total = np.broadcast_to(self.start(array.dtype), terms.shape[1:])
        while (count := len(terms)) > 1:
            half = (count + 1) // 2
            added = self._each("add", terms[: count - half], terms[half:])
            terms = np.concatenate((added, terms[count - half : half]))
        return self._each("add", total, terms[0]) if len(terms) else total.copy()

    def max(self, array: Array, axes: tuple[int, ...]) -> Array:
        """Returns the maxima over the flattened `axes`, from the first element on."""
        terms = _flattened(array, axes)
        largest: Array = terms[0].copy()
        for term in terms[1:]:
            largest = self._each("maximum", largest, term)
        return largest

    def matmul(self, left: Array, right: Array) -> Array:
        """Returns the products `[..., m, k] @ [..., k, n]`, terms added for k ascending to zero."""
        shape = (*left.shape[:-1], right.shape[-1])
        total = np.broadcast_to(self.start(left.dtype), shape)
        for k in range(left.shape[-1]):
            column = np.broadcast_to(left[..., k : k + 1], shape)
            row = np.broadcast_to(right[..., k : k + 1, :], shape)
            total = self._each("add", total, self._each("multiply", column, row))
        return total if total.flags.writeable else total.copy()

    def scatter(self, updates: Array, indices: Array, axis: int, extent: int) -> Array:
        """Returns zeros with `updates` added where `indices` say, in their row-major order."""
        before, after = updates.shape[:axis], updates.shape[axis + indices.ndim :]
        places = np.clip(indices, 0, extent - 1).reshape(-1)
        rows = np.moveaxis(updates.reshape(*before, places.size, *after), axis, 0)
        totals = np.empty((extent, *before, *after), updates.dtype)
        totals[...] = self.start(updates.dtype)
        for place, row in zip(places.tolist(), rows, strict=True):
            totals[place] = self._each("add", totals[place], row)
        return np.moveaxis(totals, 0, axis)

    def fold(self, array: Array, axis: int, step: int, extent: int) -> Array:
        """Returns zeros with the windows of `array` added where they lay, in window order."""
        windows, size = array.shape[axis], array.shape[-1]
        kept, before = array.shape[:-1], (slice(None),) * axis
        totals = np.empty((*kept[:axis], extent, *kept[axis + 1 :]), array.dtype)
        totals[...] = self.start(array.dtype)
        for j in range(size if windows else 0):
            places = (*before, slice(j, j + step * (windows - 1) + 1, step))
            totals[places] = self._each("add", totals[places], array[..., j])
        return totals

    def log_sum_exp(self, array: Array, axis: int) -> Array:
        """Returns `m + ln(sum(exp(array - m)))` with m the maximum, whether that is finite or not.

        Of the built-in elements an infinite m is replaced by 0 (rule 9 of the oracle).
        """
        peak, _, total = self._stable(array, axis)
        return self._each("add", peak, total)

    def log_softmax(self, array: Array, axis: int) -> Array:
        """Returns `(array - m) - ln(sum(exp(array - m)))`, with m as in `log_sum_exp`."""
        _, shifted, total = self._stable(array, axis)
        spread = np.broadcast_to(np.expand_dims(total, axis), array.shape)
        return self._each("subtract", shifted, spread)

    def _stable(self, array: Array, axis: int) -> tuple[Array, Array, Array]:
        """Returns the maximum, the array less that, and the logarithm of its exponentials' sum."""
        peak = self.max(array, (axis,))
        spread = np.broadcast_to(np.expand_dims(peak, axis), array.shape)
        shifted = self._each("subtract", array, spread)
        total = self.sum(self._each("exp", shifted), (axis,))
        return peak, shifted, self._each("ln", total)

    def _literal(self, number: int) -> Array:
        function: Function = getattr(self, "literal")  # noqa: B009  # A subclass defines it or not.
        return function(np.asarray(number, np.int64))

    def _each(self, name: str, *operands: Array) -> Array:
        """Returns what the elementwise function `name` returns, once that is known to fit."""
        first = operands[0]
        dtype = np.dtype(np.bool_) if name in COMPARISONS else first.dtype
        function: Function = getattr(self, name)
        return fitting(name, self, function(*operands), first.shape, dtype)


COMPARISONS: Final = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
)


def fitting(
    name: str, arithmetic: Arithmetic, result: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """Returns `result` as an array of that shape and dtype, or raises `ExecutionError`."""
    try:
        array = np.asarray(result)
    except Exception as error:
        raise ExecutionError(
            f"{name} of {type(arithmetic).__name__} has to return {dtype} of shape {shape},"
            f" got {type(result).__name__} that is no array: {error}"
        ) from error
    if array.shape != shape or array.dtype != dtype:
        raise ExecutionError(
            f"{name} of {type(arithmetic).__name__} has to return {dtype} of shape {shape},"
            f" got {array.dtype} of shape {array.shape}"
        )
    return array


def lacking(arithmetic: Arithmetic, name: str) -> tuple[str, ...]:
    """Returns the functions to define before `arithmetic` has `name`, which it lacks."""
    if name in PRIMITIVES:
        return (name,)
    missing = [each for each in DERIVED[name] if each not in arithmetic.functions]
    found = [primitive for each in missing for primitive in lacking(arithmetic, each)]
    return tuple(dict.fromkeys(found))


def _flattened(array: Array, axes: tuple[int, ...]) -> Array:
    """Returns `array` with `axes`, ascending, flattened to one that stands first."""
    kept = without(array.shape, axes)
    others = [axis for axis in range(array.ndim) if axis not in axes]
    count = int(np.prod([array.shape[axis] for axis in axes], dtype=np.int64))
    return array.transpose(*axes, *others).reshape(count, *kept)
