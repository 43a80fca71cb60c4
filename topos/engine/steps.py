"""The steps of a plan: which kernel computes which nodes, one by one or a pattern at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from topos.backend import Backend, Formula, Kernel, Precision, Service
from topos.engine.catalog import SHARED, Match, PatternKind, Standing, discover, elect
from topos.engine.catalog.kernels import home
from topos.engine.catalog.kernels.elementwise import Blocks
from topos.engine.catalog.kernels.row_update import Rows
from topos.engine.catalog.view import moves
from topos.engine.choices import Choice, Choices
from topos.graph import Columns, Form
from topos.op import Broadcast, BroadcastAlong, Map, Operation
from topos.payload import TensorType

ABSENT: Final = "the plan does not use the backend FUSED"


class Step(NamedTuple):
    """One evaluation of the nodes `targets` from the values of the nodes `operands`.

    A source and a view have no kernel. `name` is what its kernel is called, `fused` holds the nodes
    that it stands for beside its targets, and `service` is the row that it adds to a tally.
    """

    targets: tuple[int, ...]
    operands: tuple[int, ...]
    kernel: Kernel | None
    name: str
    fused: tuple[int, ...] = ()
    service: Service | None = None


def steps_of(
    columns: Columns,
    order: Sequence[int],
    kept: Iterable[int],
    choices: Choices,
    fused: dict[int, Step],
) -> list[Step]:
    """Returns the steps that compute the nodes `kept`, in the order of the recording.

    `fused` are the steps of elected patterns, by the node at which each runs.
    """
    answered = {node for step in fused.values() for node in step.targets}
    inside = {node for step in fused.values() for node in step.fused}
    known: dict[Form, Choice] = {}
    steps = []
    for index in order:
        if index in fused:
            steps.append(fused[index])
        # What only moves data may have readers outside of the pattern that it is in.
        elif index not in answered and (
            index not in inside or moves(columns.forms[index].operation)
        ):
            steps.append(_plain(columns, index, choices, known))
    return _demanded(steps, kept)


def _plain(columns: Columns, index: int, choices: Choices, known: dict[Form, Choice]) -> Step:
    form, operands = columns.forms[index], columns.operands[index]
    operation = form.operation
    name = operation.function.value if isinstance(operation, Map) else operation.name
    if not operands or operation.is_view:
        return Step((index,), operands, None, name)
    if form not in known:
        known[form] = choices.of(operation, form.operands)
    kernel, service, _ = known[form]
    if kernel.broadcasts:
        operands = tuple([_unspread(columns, operand) for operand in operands])
    return Step((index,), operands, kernel, name, (), service)


def _unspread(columns: Columns, index: int) -> int:
    """Returns the node that the one at `index` repeats along leading axes, or `index` itself."""
    operation: Operation = columns.forms[index].operation
    if isinstance(operation, Broadcast):
        return columns.operands[index][0]
    if isinstance(operation, BroadcastAlong) and operation.axes == tuple(
        range(len(operation.axes))
    ):
        return columns.operands[index][0]
    return index


def _demanded(steps: list[Step], kept: Iterable[int]) -> list[Step]:
    """Returns the steps that lead to `kept`: what every consumer unspreads or fuses is not run."""
    needed = set(kept)
    result = []
    for step in reversed(steps):
        if needed.isdisjoint(step.targets):
            continue
        needed.update(step.operands)
        result.append(step)
    result.reverse()
    return result


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
        function = home(match, types, choices) if Backend.FUSED in choices.backends else ABSENT
        if isinstance(function, str):
            return False
        if isinstance(function, Blocks | Rows):
            kernel = Kernel(function, True, isinstance(function, Blocks), function.over)
        else:
            # One result is written where the schedule says, and several are new arrays.
            kernel = Kernel(function, len(match.results) == 1)
        kernels[match] = kernel, Backend.FUSED
        return True

    return {
        match.place: _step(columns, match, *kernels[match])
        for match in elect(discover(columns, order), supports, kept)
    }


def fusing(
    columns: Columns, choices: Choices, fused: Iterable[Step]
) -> Callable[[Match], Standing]:
    """Returns what tells of a match whether it is among the `fused` steps of a plan."""
    taken = {(step.name, step.targets) for step in fused}

    def standing(match: Match) -> Standing:
        if (match.kind.value, match.results) in taken:
            return Standing(True, "one kernel")
        if Backend.FUSED not in choices.backends:
            return Standing(False, ABSENT)
        types = [columns.forms[operand].type for operand in match.operands]
        function = home(match, types, choices)
        return Standing(False, function if isinstance(function, str) else SHARED)

    return standing


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
