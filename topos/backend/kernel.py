"""Kernels: a function over arrays, and how its result may be stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from topos.payload import kernels

Function = Callable[..., Any]


class Kernel(NamedTuple):
    """A function of arrays, `function(*operands)`, and what a schedule may ask of it.

    Where it `writes`, it takes `out=`, a C-contiguous array of the result's type, which it fills.
    Where it `broadcasts`, an operand of one number may come without its axes, and one that repeats
    along leading axes without those. The result may be written over an operand whose place is in
    `over`, if that has the result's type and layout and, but for a ufunc, is given once. Where it
    is `even`, numpy's loops have no fast path for a scalar operand, and a small constant comes
    filled out.
    """

    function: Function
    writes: bool = False
    broadcasts: bool = False
    over: tuple[int, ...] = ()
    even: bool = False

    @classmethod
    def of(cls, ufunc: np.ufunc) -> Kernel:
        """Returns an elementwise function of numpy's, which writes, broadcasts and overwrites."""
        # A comparison's result has another element than its operands, which a schedule checks.
        even = ufunc is np.maximum or ufunc is np.minimum
        return cls(ufunc, True, True, tuple(range(ufunc.nin)), even)

    def guarded(self) -> Kernel:
        """Returns a kernel that raises `FloatingPointError` where a result holds a NaN.

        For operands without one, under `numpy.errstate(invalid="raise")`; a ufunc does by itself.
        """
        if isinstance(self.function, np.ufunc):
            return self
        return Kernel(kernels.clean.guarded(self.function), self.writes)

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """Returns the result, in `out` where that is given."""
        if out is None:
            return self.function(*operands)
        if self.writes:
            return self.function(*operands, out=out)
        np.copyto(out, self.function(*operands))
        return out


class Declined(NamedTuple):
    """Why a backend leaves a task to the next in its chain."""

    reason: str
