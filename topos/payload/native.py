"""The arithmetic of the built-in elements: the kernels whose bits are the spec."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from topos.payload import kernels
from topos.payload.arithmetic import Arithmetic, Array, Function

if TYPE_CHECKING:
    from topos.payload.element import Element


class _Kernel:
    """A function that is a kernel of the spec, whose family loads where it is first used."""

    def __init__(self, family: str, name: str = "") -> None:
        self._family, self._name = family, name
        self._kernel: Function | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    def __get__(self, arithmetic: object, owner: type) -> Function:
        if self._kernel is None:
            self._kernel = getattr(getattr(kernels, self._family), self._name)
        return self._kernel


class TruthArithmetic(Arithmetic):
    """What truth values have: comparisons, maxima and minima, and conversions of real numbers."""

    def conversion(self, source: Element, target: Element) -> Function | None:
        """Returns the conversion between two elements that are stored as real numbers."""
        both = (source.arithmetic, target.arithmetic)
        if not all(isinstance(each, TruthArithmetic) for each in both):
            return None
        return partial(_converted, target.dtype)

    maximum = _Kernel("arithmetic")
    minimum = _Kernel("arithmetic")
    max = _Kernel("reduction", "maximum")
    equal = _Kernel("comparison")
    not_equal = _Kernel("comparison")
    less = _Kernel("comparison")
    less_equal = _Kernel("comparison")
    greater = _Kernel("comparison")
    greater_equal = _Kernel("comparison")


class IntegerArithmetic(TruthArithmetic):
    """What integers have: sums and products that wrap."""

    add = _Kernel("arithmetic")
    subtract = _Kernel("arithmetic")
    multiply = _Kernel("arithmetic")
    negate = _Kernel("arithmetic")
    step = _Kernel("arithmetic")
    sum = _Kernel("reduction")
    matmul = _Kernel("product")
    scatter = _Kernel("selection")
    fold = _Kernel("window")


class FloatArithmetic(IntegerArithmetic):
    """What every floating format of numpy or of an extension has: one rounding an operation.

    Formats of fewer than 32 bits compute in float32, sums and products too, and round once. A
    subclass adds maps.
    """

    divide = _Kernel("arithmetic")


class IeeeArithmetic(FloatArithmetic):
    """What f64, f32, f16 and bf16 have: also the maps, powers and stable forms."""

    power = _Kernel("power")
    exp = _Kernel("maps")
    expm1 = _Kernel("maps")
    ln = _Kernel("maps")
    log1p = _Kernel("maps")
    sqrt = _Kernel("maps")
    rsqrt = _Kernel("maps")
    tanh = _Kernel("maps")
    logistic = _Kernel("maps")
    sin = _Kernel("maps")
    cos = _Kernel("maps")
    erf = _Kernel("maps")
    log_sum_exp = _Kernel("stable")
    log_softmax = _Kernel("stable")


def _converted(dtype: np.dtype[Any], array: Array) -> Array:
    # The kernels load where something is computed, not where it is recorded.
    return kernels.conversion.convert(array, dtype)


TRUTHS: Final = TruthArithmetic()
INTEGERS: Final = IntegerArithmetic()
FLOATS: Final = FloatArithmetic()
IEEE: Final = IeeeArithmetic()
NATIVE: Final[dict[type[Arithmetic], str]] = {
    TruthArithmetic: "any element",
    IntegerArithmetic: "a numeric element",
    FloatArithmetic: "a floating element",
    IeeeArithmetic: "f64, f32, f16 or bf16",
}
"""The arithmetics whose kernels are the spec's own, fewest functions first, and who has them."""
