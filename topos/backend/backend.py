"""Backends: the implementers of formulas, as data that every install answers alike."""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import Enum
from importlib import import_module
from typing import ClassVar, cast

from topos.backend import poison, tally
from topos.backend.coverage import NOT_COVERED, Coverage
from topos.backend.formula import Formula, demand_formula
from topos.backend.offer import Declined, Implementer, Kernel
from topos.backend.precision import Precision, demand_precision
from topos.backend.status import Status
from topos.backend.task import Task, demand_task, precision_of

__all__ = ["Backend"]


class Backend(Enum):
    """What may serve a formula in place of the oracle's kernels.

    Each value names the module that implements it. None needs to be switched on: a backend that
    is ready serves the tasks it takes, and whatever it declines goes to the next.
    """

    ACCELERATE = "accelerate"
    METAL = "metal"
    CUDA = "cuda"
    SIMD = "simd"
    NUMBA = "numba"
    FUSED = "fused"
    STABLEHLO = "stablehlo"

    ALL: ClassVar[tuple[Backend, ...]]

    def coverage(self, formula: Formula) -> Coverage:
        """Returns the terms under which this backend may serve `formula`, here or elsewhere.

        Raises `ArgumentError` where `formula` is no `Formula`.
        """
        demand_formula(formula)
        return self._implementer().COVERAGE.get(formula, NOT_COVERED)

    def serves(self, formula: Formula, precision: Precision) -> bool:
        """Returns whether this backend has a kernel for `formula` at `precision`.

        Raises `ArgumentError` where `formula` is no `Formula` or `precision` no `Precision`.
        """
        demand_precision(precision)
        return precision in self.coverage(formula).precisions

    def compiled(self) -> bool:
        """Returns whether this install has the system and the packages that the backend needs."""
        return self._implementer().absence() is None

    def status(self) -> Status:
        """Returns whether this backend is ready, or the reason it declines everything.

        The first answer may take seconds: the backend is tried out, and its kernels compile.
        """
        failure = poison.reason(self) or self._implementer().absence()
        return self._implementer().status() if failure is None else Status(False, failure)

    def offer(self, formula: Formula, task: Task, *, exact: bool = False) -> Kernel | Declined:
        """Returns this backend's kernel for `task`, or the reason it declines."""
        demand_task(formula, task)
        precision = precision_of(task)
        if precision is None or not self.serves(formula, precision):
            return Declined(f"it has no kernel for {formula.value} of {task.element}")
        if not self.coverage(formula).admits(exact=exact):
            return Declined("an exact run takes no kernel that is only near the oracle's bits")
        failure = poison.reason(self) or self._implementer().absence()
        return Declined(failure) if failure else self._implementer().offer(formula, task, exact)

    @staticmethod
    def tallied() -> AbstractContextManager[tally.Tally]:
        """Counts what the plans that run inside a `with` block were served by.

        The block's name is a `Tally`, whose rows are `Service`. Blocks nest; other threads count
        for themselves.
        """
        return tally.tallied()

    def _implementer(self) -> Implementer:
        # A module is asked like an object that has its functions as methods.
        return cast(Implementer, import_module(f"topos.backend.{self.value}"))


Backend.ALL = tuple(Backend)
