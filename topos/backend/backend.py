"""Backends: the implementers of formulas, as data that every install answers alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from enum import Enum
from importlib import import_module
from typing import ClassVar, Final, cast

from topos.backend import tally
from topos.backend.device import failure_of
from topos.backend.formula import Formula, Precision, demand_formula, demand_precision
from topos.backend.task import GemmTask, MapTask, ReduceTask, Task, demand_task, precision_of
from topos.backend.terms import (
    NOT_COVERED,
    Coverage,
    Declined,
    Fidelity,
    Implementer,
    Kernel,
    Status,
)
from topos.errors import ArgumentError


class Backend(Enum):
    """What may serve a formula in place of the oracle's kernels.

    Each value names the module that implements it. Those in use serve the tasks they take, and
    whatever one declines goes to the next. `METAL` and `CUDA` are in use where somebody says so.
    """

    ACCELERATE = "accelerate"
    METAL = "metal"
    CUDA = "cuda"
    SIMD = "simd"
    NUMBA = "numba"
    FUSED = "fused"
    STABLEHLO = "stablehlo"

    ALL: ClassVar[tuple[Backend, ...]]

    @staticmethod
    def use(backends: Backends | None) -> None:
        """Chooses the backends of this process: of the oracle, and of entries that choose none.

        A sequence of backends or their names is all that is used; a mapping from them to truth
        values adds to what is used and takes from it; `None` restores the default, all but `METAL`
        and `CUDA`. Plans that were lowered before stay as they are. Raises `ArgumentError`.
        """
        chosen = None if backends is None else used(backends)
        _PROCESS[0] = _DEFAULT if chosen is None else chosen

    def coverage(self, formula: Formula) -> Coverage:
        """Returns the terms under which this backend may serve `formula`, here or elsewhere.

        Raises `ArgumentError` where `formula` is no `Formula`.
        """
        demand_formula(formula)
        row = self._implementer().TABLE.get(formula)
        return NOT_COVERED if row is None else row.coverage

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
        failure = failure_of(self.value) or self._implementer().absence()
        return self._implementer().status() if failure is None else Status(False, failure)

    def offer(self, formula: Formula, task: Task, *, exact: bool = False) -> Kernel | Declined:
        """Returns this backend's kernel for `task`, or the reason it declines."""
        demand_task(formula, task)
        row, precision = self._implementer().TABLE.get(formula), precision_of(task)
        if row is None or precision not in row.coverage.precisions:
            return Declined(f"it has no kernel for {formula.value} of {task.element}")
        if not row.coverage.admits(exact=exact):
            return Declined("an exact run takes no kernel that is only near the oracle's bits")
        failure = failure_of(self.value) or self._implementer().absence()
        return Declined(failure) if failure else row.make(task)

    def repays(self, formula: Formula, task: GemmTask | MapTask | ReduceTask) -> bool:
        """Returns whether the oracle, which computes node by node, asks for the kernel of `task`.

        Its bits are always the oracle's, and the task large enough to repay the kernel's first use.
        """
        row = self._implementer().TABLE[formula]
        if row.coverage.fidelity is not Fidelity.BIT_IDENTICAL:
            return False
        return (task.flops if isinstance(task, GemmTask) else task.size) >= row.repays

    @staticmethod
    def tallied() -> AbstractContextManager[tally.Tally]:
        """Counts what the runs inside a `with` block were served by, plans and the oracle alike.

        The block's name is a `Tally`, whose rows are `Service`. Blocks nest; other threads count
        for themselves.
        """
        return tally.tallied()

    def _implementer(self) -> Implementer:
        # A module is asked like an object that has its functions as methods.
        return cast(Implementer, import_module(f"topos.backend.{self.value}"))


Backend.ALL = tuple(Backend)
Backends = Iterable[Backend | str] | Mapping[Backend | str, bool]

# Nobody measured the sizes from which a device pays, so that somebody has to ask for one.
_DEFAULT: Final = tuple(each for each in Backend if each not in (Backend.METAL, Backend.CUDA))
# What a process uses is a fact of that process; an entry may choose for itself.
_PROCESS: Final[list[tuple[Backend, ...]]] = [_DEFAULT]


def used(backends: Backends | None = None) -> tuple[Backend, ...]:
    """Returns the backends that a choice amounts to; `None` is that of this process.

    A mapping changes that of this process. Raises `ArgumentError` where a backend is unknown.
    """
    process = _PROCESS[0]
    if backends is None:
        return process
    if isinstance(backends, str) or not isinstance(backends, Iterable):
        raise ArgumentError(
            "backends are a sequence of names, or a mapping from names to truth values,"
            f" got {backends!r}"
        )
    named = [_named(each) for each in backends]
    if not isinstance(backends, Mapping):
        return tuple(each for each in Backend if each in named)
    wanted = dict(zip(named, backends.values(), strict=True))
    return tuple(each for each in Backend if wanted.get(each, each in process))


def _named(backend: Backend | str) -> Backend:
    try:
        return Backend(backend)
    except ValueError:
        choices = ", ".join(repr(each.value) for each in Backend)
        raise ArgumentError(f"a backend is one of {choices}, got {backend!r}") from None
