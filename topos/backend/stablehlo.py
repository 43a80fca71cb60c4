"""The stablehlo backend: plans written as text, for an industrial runtime to execute."""

from __future__ import annotations

from typing import Final

from topos.backend.formula import Formula, Precision
from topos.backend.task import Task
from topos.backend.terms import Coverage, Declined, Dispatch, Fidelity, Row, Status


def absence() -> str | None:
    """Returns `None`: emission is part of the package and needs nothing else."""
    return None


def status() -> Status:
    """Returns that plans are written; whether a runtime is there, its own status says."""
    return Status(True, "plans are written as text; topos.runtimes executes it")


def _declined(task: Task) -> Declined:
    return Declined("it takes a whole plan, by Plan.compile")


_BOUND: Final = "the runtime's own; topos certify measures it"
_TERMS: Final = Coverage(tuple(Precision), Fidelity.ENVELOPE, Dispatch.TEXT, _BOUND)
TABLE: Final = dict.fromkeys(Formula, Row(_TERMS, _declined))
