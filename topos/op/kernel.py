"""Kernels of a plan: a function over arrays, and how its result may be stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from topos.payload import TensorType

__all__ = ["Kernel", "kernel_of", "wide_kernel"]

Function = Callable[..., npt.NDArray[Any]]


class Kernel(NamedTuple):
    """A function of arrays, `function(*operands)`, and what a schedule may ask of it.

    Where it `writes`, it takes `out=`, a C-contiguous array of the result's type, which it fills.
    Where it `broadcasts`, an operand of one number may come without its axes, and one that repeats
    along leading axes without those. The result may be written over an operand whose place is in
    `over`, if that has the result's type and layout and, but for a ufunc, is given once. Where it
    is `even`, it is as slow with one number as numpy's loops are that have no vectors for that, and
    a small constant comes filled out.
    """

    function: Function
    writes: bool = False
    broadcasts: bool = False
    over: tuple[int, ...] = ()
    even: bool = False


def kernel_of(function: Function) -> Kernel:
    """Returns `function` as a kernel: one of numpy's ufuncs writes, broadcasts and overwrites."""
    if not isinstance(function, np.ufunc):
        return Kernel(function)
    # A comparison's result has another element than its operands, which a schedule checks.
    even = function is np.maximum or function is np.minimum
    return Kernel(function, True, True, tuple(range(function.nin)), even)


def wide_kernel(
    function: Function,
    otherwise: Function,
    operand: TensorType,
    *,
    broadcasts: bool = False,
    over: tuple[int, ...] = (),
) -> Kernel:
    """Returns `function`, which writes, for operands of f32 and f64, and else `otherwise`.

    The flags are those of a function that is no ufunc.
    """
    dtype = operand.element.dtype
    if dtype != np.float32 and dtype != np.float64:
        return Kernel(otherwise)
    if isinstance(function, np.ufunc):
        return kernel_of(function)
    return Kernel(function, True, broadcasts, over)
