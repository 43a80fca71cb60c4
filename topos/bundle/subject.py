"""Subjects: a plan with the names of its arguments and the values that stay, and its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from topos.bundle.naming import (
    Payload,
    Payloads,
    References,
    argument_names,
    by_name,
    names_of,
    state_by_name,
)
from topos.engine import Plan, Port
from topos.errors import BundleError, FeedError, ToposError
from topos.graph import Parameters, replay
from topos.op import Leaf
from topos.payload import ELEMENTS, TensorType
from topos.reading import Tensor


class Slot(NamedTuple):
    """An argument or a result of a plan: its name in the bundle, and its value where it stays."""

    name: str
    port: Port
    value: Tensor | None = None


class Subject(NamedTuple):
    """A plan to export: its arguments in the order of `@main`, and its results."""

    plan: Plan
    arguments: tuple[Slot, ...]
    results: tuple[Slot, ...]

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """The arguments that each call brings."""
        return tuple(slot for slot in self.arguments if slot.value is None)

    @property
    def resident(self) -> dict[str, Tensor]:
        """The values that stay, by name."""
        return {slot.name: slot.value for slot in self.arguments if slot.value is not None}


def subjects_of(
    plans: Sequence[Plan], parameters: Parameters | Payloads | None, resident: References | None
) -> tuple[Subject, ...]:
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


def fitted(name: str, wanted: TensorType, value: Payload) -> Tensor:
    """Returns a value of the type that is wanted; raises `FeedError` where it has another."""
    # An array brings its own element, numbers and lists take the one that is wanted.
    own = None if hasattr(value, "dtype") else wanted.element
    try:
        tensor = value if isinstance(value, Tensor) else Tensor(value, own)
    except ToposError as error:
        raise FeedError(f"{name!r} needs {wanted}: {error}") from None
    if tensor.type != wanted:
        raise FeedError(f"{name!r} needs {wanted}, got {tensor.type}")
    return tensor


def _subject(plan: Plan, state: Payloads, given: Payloads) -> Subject:
    if not isinstance(plan, Plan):
        raise BundleError(f"a bundle needs plans, got {type(plan).__name__}")
    signature, names = plan.signature(), argument_names(plan)
    for port in (*signature.arguments, *signature.results):
        if ELEMENTS.get(port.type.element.name) is not port.type.element:
            raise BundleError(f"a bundle needs elements of {', '.join(ELEMENTS)}, got {port}")
    slots = [Slot(names[port.symbol], port) for port in signature.arguments]
    values = dict(given)
    for slot in slots[: len(signature.parameters)]:
        if slot.name not in state:
            needs = f"parameter {slot.name!r} of {slot.port.type}"
            raise FeedError(f"an export needs {needs}, and no value has that name")
        values[slot.name] = state[slot.name]
    arguments = tuple(_held(slot, values) for slot in slots)
    own = names_of(signature.results, "result")
    results = tuple(Slot(name, port) for name, port in zip(own, signature.results, strict=True))
    return Subject(plan, arguments, results)


def _held(slot: Slot, values: Payloads) -> Slot:
    """Returns an argument with its value, where it has one."""
    if slot.name not in values:
        return slot
    return slot._replace(value=fitted(slot.name, slot.port.type, values[slot.name]))


Move = Callable[[int, Tensor], Tensor]
"""What becomes of the value of a node, by its position."""


def evaluated(
    subject: Subject, inputs: Mapping[str, Tensor], move: Move | None = None
) -> dict[str, Tensor]:
    """Returns the results of a subject by name: the oracle's bits where nothing moves.

    `move` takes the place of the value of every node but the constants, before it is read.
    """
    plan = subject.plan
    columns, last = plan.network.columns, _last_uses(plan)
    values: dict[int, Tensor] = {}
    given = {slot.port.symbol.position: _value(slot, inputs) for slot in subject.arguments}
    results = {slot.port.symbol.position for slot in subject.results}
    for index in plan.order:
        source = columns.forms[index].operation
        if isinstance(source, Leaf):
            assert source.payload is not None
            values[index] = Tensor.wrap(source.payload, source.type.element)
            continue
        if index in given:
            values[index] = given[index]
        replay(columns, [index], values)
        if move is not None:
            values[index] = move(index, values[index])
        for operand in set(columns.operands[index]):
            if last[operand] == index and operand not in results:
                del values[operand]
    return {slot.name: values[slot.port.symbol.position] for slot in subject.results}


def _value(slot: Slot, inputs: Mapping[str, Tensor]) -> Tensor:
    return inputs[slot.name] if slot.value is None else slot.value


def _last_uses(plan: Plan) -> dict[int, int]:
    """Returns the last node that reads each node of a plan."""
    operands = plan.network.columns.operands
    return {operand: index for index in plan.order for operand in operands[index]}
