"""Plans as subjects: their values bound by name, and walks over their nodes."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import Final

from topos.bundle.movement import moved_by_one
from topos.bundle.naming import (
    Payloads,
    References,
    argument_names,
    by_name,
    names_of,
    state_by_name,
)
from topos.bundle.subject import Slot, Subject, held, viewed
from topos.engine import Plan
from topos.errors import BundleError, FeedError
from topos.graph import Form, Parameters, replay
from topos.op import Convert, Leaf, Source
from topos.payload import DIFFERENTIABLE, ELEMENTS
from topos.reading import Tensor

# An argument of more bytes is moved at each use, and not kept in between.
KEPT_BYTES: Final = 1 << 24


class PlanSubject(Subject):
    """A plan to export."""

    kind = "plan"

    def __init__(self, plan: Plan, arguments: tuple[Slot, ...], results: tuple[Slot, ...]) -> None:
        super().__init__(arguments, results)
        self.plan = plan

    @property
    def text(self) -> str:
        return self.plan.emit_stablehlo()

    def evaluated(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self._walked(inputs, None)

    def moved(self, inputs: Mapping[str, Tensor], seed: tuple[int, ...]) -> dict[str, Tensor]:
        forms = self.plan.network.columns.forms
        rounding = {index for index in self.plan.order if _rounds(forms[index])}
        return self._walked(inputs, partial(_moved_one, rounding, seed))

    def _walked(self, inputs: Mapping[str, Tensor], move: Move | None) -> dict[str, Tensor]:
        """Returns the results by name: the oracle's bits where nothing moves.

        `move` takes the place of the value of every node but the constants, before it is read.
        """
        plan, signature = self.plan, self.plan.signature()
        columns, last = plan.network.columns, _last_uses(plan)
        values: dict[int, Tensor] = {}
        pairs = zip(signature.arguments, self.arguments, strict=True)
        given = {port.symbol.position: held(slot, inputs) for port, slot in pairs}
        results = [port.symbol.position for port in signature.results]
        kept = frozenset(results)
        for index in plan.order:
            source = columns.forms[index].operation
            if isinstance(source, Leaf):
                assert source.payload is not None
                values[index] = Tensor.wrap(source.payload, source.type.element)
            if isinstance(source, Source):
                continue
            operands = set(columns.operands[index])
            # Read where it is used: all moved weights at once would take their memory again.
            for operand in operands & given.keys() - values.keys():
                values[operand] = _moved(move, operand, given[operand])
            replay(columns, [index], values)
            values[index] = _moved(move, index, values[index])
            for operand in operands - kept:
                again = operand in given and values[operand].numpy().nbytes > KEPT_BYTES
                if again or last[operand] == index:
                    del values[operand]
        for index in kept & given.keys() - values.keys():
            values[index] = _moved(move, index, given[index])
        return {slot.name: values[at] for slot, at in zip(self.results, results, strict=True)}


def subjects_of(
    plans: Sequence[Plan], parameters: Parameters | Payloads | None, resident: References | None
) -> tuple[PlanSubject, ...]:
    """Returns the plans with the values of their parameters and of the `resident` inputs.

    Parameters of one of the plans' recordings go by symbol there and by name everywhere else.
    Raises `FeedError` where a value is missing, of another type, or of no input of any plan, and
    `BundleError` where a plan has an element that no bundle can hold.
    """
    state = state_by_name(plans, parameters)
    given = {} if resident is None else by_name(plans, resident, "resident values")
    subjects = tuple(_subject(plan, state, given) for plan in plans)
    inputs = [port.symbol for plan in plans for port in plan.signature().inputs]
    known = {name for plan in plans for at, name in argument_names(plan).items() if at in inputs}
    for name in given:
        if name not in known:
            has = ", ".join(sorted(known)) or "none"
            raise FeedError(f"resident values name {name!r}, and the plan's inputs are {has}")
    return subjects


def _subject(plan: Plan, state: Payloads, given: Payloads) -> PlanSubject:
    if not isinstance(plan, Plan):
        raise BundleError(f"a bundle needs plans, got {type(plan).__name__}")
    signature, names = plan.signature(), argument_names(plan)
    for port in (*signature.arguments, *signature.results):
        if ELEMENTS.get(port.type.element.name) is not port.type.element:
            raise BundleError(f"a bundle needs elements of {', '.join(ELEMENTS)}, got {port}")
    slots = [Slot(names[port.symbol], port.type) for port in signature.arguments]
    values = dict(given)
    for slot in slots[: len(signature.parameters)]:
        if slot.name not in state:
            needs = f"parameter {slot.name!r} of {slot.type}"
            raise FeedError(f"an export needs {needs}, and no value has that name")
        values[slot.name] = state[slot.name]
    arguments = tuple(_filled(slot, values) for slot in slots)
    own = names_of(signature.results, "result")
    pairs = zip(own, signature.results, strict=True)
    return PlanSubject(plan, arguments, tuple(Slot(name, port.type) for name, port in pairs))


def _filled(slot: Slot, values: Payloads) -> Slot:
    """Returns an argument with its value, where it has one."""
    if slot.name not in values:
        return slot
    return slot._replace(value=viewed(slot.name, slot.type, values[slot.name]))


Move = Callable[[int, Tensor], Tensor]
"""What becomes of the value of a node, by its position."""


def _moved(move: Move | None, index: int, value: Tensor) -> Tensor:
    return value if move is None else move(index, value)


def _moved_one(
    rounding: Container[int], seed: tuple[int, ...], index: int, value: Tensor
) -> Tensor:
    return moved_by_one(value, (*seed, index)) if index in rounding else value


def _rounds(form: Form) -> bool:
    """Returns whether a value is the rounding of another one: computed, or brought from outside."""
    if form.type.element not in DIFFERENTIABLE:
        return False
    if isinstance(form.operation, Convert):
        return form.operands[0].element in DIFFERENTIABLE
    # What makes no NaN of numbers moves data, compares or chooses, and rounds nothing.
    return isinstance(form.operation, Source) or form.operation.introduces_nan


def _last_uses(plan: Plan) -> dict[int, int]:
    """Returns the last node that reads each node of a plan."""
    operands = plan.network.columns.operands
    return {operand: index for index in plan.order for operand in operands[index]}
