"""The stablehlo backend: plans written as text, for an industrial runtime to execute."""

from __future__ import annotations

from typing import Final

from topos.backend.coverage import Coverage
from topos.backend.dispatch import Dispatch
from topos.backend.fidelity import Fidelity
from topos.backend.formula import Formula
from topos.backend.offer import Declined, Kernel
from topos.backend.precision import Precision
from topos.backend.status import Status
from topos.backend.task import Task

__all__ = ["COVERAGE", "absence", "offer", "status"]

_BOUND: Final = "the runtime's own; topos.runtimes.grade measures it"
COVERAGE: Final[dict[Formula, Coverage]] = {
    formula: Coverage(tuple(Precision), Fidelity.ENVELOPE, Dispatch.TEXT, _BOUND)
    for formula in Formula
}


def absence() -> str | None:
    """Returns `None`: emission is part of the package and needs nothing else."""
    return None


def status() -> Status:
    """Returns that plans are written; whether a runtime is there, its own status says."""
    return Status(True, "plans are written as text; topos.runtimes executes it")


def offer(formula: Formula, task: Task, exact: bool) -> Kernel | Declined:
    """Returns the reason: emission takes whole plans."""
    return Declined("it takes a whole plan, by Plan.compile")
