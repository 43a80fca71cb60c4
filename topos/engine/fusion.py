"""Fusion: the patterns that a plan runs at home, each as one step."""

from __future__ import annotations

from collections.abc import Sequence

from topos.backend import Backend, Formula, Kernel, Precision, Service
from topos.engine.catalog import Match, PatternKind, discover, elect
from topos.engine.catalog.kernels import home
from topos.engine.catalog.kernels.elementwise import Blocks
from topos.engine.choices import Choices
from topos.engine.steps import Step
from topos.graph import Columns
from topos.payload import TensorType


def fused_steps(
    columns: Columns, order: Sequence[int], kept: Sequence[int], choices: Choices
) -> dict[int, Step]:
    """Returns the step of each elected pattern by its place: those with a kernel that pays.

    What is kept is never inside one.
    """
    kernels: dict[Match, tuple[Kernel, Backend | None]] = {}

    def supports(match: Match) -> bool:
        types = [columns.forms[operand].type for operand in match.operands]
        own = _own(match, types[0], choices)
        if own is not None:
            kernels[match] = own, None
            return True
        function = home(match, types, choices) if Backend.FUSED in choices.backends else None
        if function is None:
            return False
        if isinstance(function, Blocks):
            kernel = Kernel(function, True, True, function.over)
        else:
            # One result is written where the schedule says, and several are new arrays.
            kernel = Kernel(function, len(match.results) == 1)
        kernels[match] = kernel, Backend.FUSED
        return True

    return {
        match.place: _step(columns, match, *kernels[match])
        for match in elect(discover(columns, order), supports, kept)
    }


def _own(match: Match, operand: TensorType, choices: Choices) -> Kernel | None:
    """Returns the kernel that an element of the user's own has for a normalization of rows."""
    rows = len(operand.shape) == 2 and match.kind is PatternKind.BATCH_NORM_TRAINING
    if not rows or match.form.feature != 1:
        return None
    return choices.batch_norm(operand, match.form.epsilon)


def _step(columns: Columns, match: Match, kernel: Kernel, backend: Backend | None) -> Step:
    precision = Precision.of(columns.forms[match.root].type.element.dtype)
    service = Service(Formula(match.kind.value), precision, backend)
    name = match.kind.value
    return Step(match.results, match.operands, kernel, name, match.interior, service)
