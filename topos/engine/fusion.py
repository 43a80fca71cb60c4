"""Fusion: the patterns that a plan runs at home, each as one step."""

from __future__ import annotations

from collections.abc import Sequence

from topos.backend import Backend
from topos.engine.catalog import Match, discover, elect
from topos.engine.catalog.kernels import home
from topos.engine.catalog.kernels.elementwise import Blocks
from topos.engine.numerics import Numerics
from topos.engine.services import fused_service, own_batch_norm
from topos.engine.steps import Step
from topos.graph import Columns
from topos.op import Kernel

__all__ = ["fused_steps"]


def fused_steps(
    columns: Columns, order: Sequence[int], kept: Sequence[int], numerics: Numerics
) -> dict[int, Step]:
    """Returns the step of each elected pattern by its place: those with a kernel that pays.

    What is kept is never inside one.
    """
    kernels: dict[Match, Kernel] = {}
    own: set[Match] = set()

    def supports(match: Match) -> bool:
        types = [columns.forms[operand].type for operand in match.operands]
        kernel = own_batch_norm(match, types[0], exact=numerics is Numerics.EXACT)
        if kernel is not None:
            kernels[match] = kernel
            own.add(match)
            return True
        function = home(match, types, numerics)
        if function is None:
            return False
        if isinstance(function, Blocks):
            kernels[match] = Kernel(function, True, True, function.over)
        else:
            # One result is written where the schedule says, and several are new arrays.
            kernels[match] = Kernel(function, len(match.results) == 1)
        return True

    return {
        match.place: _step(columns, match, kernels[match], None if match in own else Backend.FUSED)
        for match in elect(discover(columns, order), supports, kept)
    }


def _step(columns: Columns, match: Match, kernel: Kernel, backend: Backend | None) -> Step:
    service = fused_service(match.kind, columns.forms[match.root].type, backend)
    name = match.kind.value
    return Step(match.results, match.operands, kernel, name, match.interior, service)
