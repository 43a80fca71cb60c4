"""Kernels, and the terms on which a backend has one: how near to the oracle, and where it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from topos.backend.formula import Formula, Precision
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


class Fidelity(Enum):
    """From strongest to weakest; exact runs admit the first two."""

    BIT_IDENTICAL = "the oracle's bits, always"
    COMPOSED = "the bits of the composition it replaces, under the same numerics"
    ENVELOPE = "within a stated bound in units in the last place"

    @property
    def exact(self) -> bool:
        """Whether an exact run admits it."""
        return self is not Fidelity.ENVELOPE


class Dispatch(Enum):
    """Where the numbers go: a copy to a device costs time, and text leaves the process."""

    HOST = "called on the host's arrays"
    DEVICE = "copied to a device and back"
    TEXT = "written as a module for a runtime"


class Coverage(NamedTuple):
    """The precisions that a backend may serve a formula at, how near to the oracle, and where.

    It says what the backend has a kernel for; a tally says what it did serve. `bound` states the
    envelope in words. Without a kernel there are no precisions, and the terms are `None`.
    """

    precisions: tuple[Precision, ...]
    fidelity: Fidelity | None
    dispatch: Dispatch | None
    bound: str = ""

    def admits(self, *, exact: bool) -> bool:
        """Returns whether a run of that posture may use the kernel."""
        return self.fidelity is not None and (self.fidelity.exact or not exact)


NOT_COVERED: Final = Coverage((), None, None)


class Row(NamedTuple):
    """One formula in a backend's table: its terms, and what makes the kernel of a task of it.

    The oracle, which has no plan to prepare, asks for tasks of `repays` flops or elements and more:
    there what the kernel saves repays its first use.
    """

    coverage: Coverage
    make: Callable[[Any], Kernel | Declined]
    repays: int = 0


class Status(NamedTuple):
    """Whether a backend or a runtime is ready, with its version or the reason it is not."""

    ready: bool
    detail: str


class Implementer(Protocol):
    """What the module of a backend has; loading it loads no foreign package."""

    TABLE: Mapping[Formula, Row]

    def absence(self) -> str | None:
        """Returns what this install lacks, or `None`; looks without loading it."""

    def status(self) -> Status:
        """Returns whether the backend serves here, tried out, or why it does not."""
