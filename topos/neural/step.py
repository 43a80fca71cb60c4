"""The recorded training step: loss, gradients and the optimizer's update on one tape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from topos import Adjoints, Parameters, Run, Signature, Symbol, Tape, Tensor, Value, i32
from topos.errors import ArgumentError, SymbolError
from topos.neural.formula import given, zeros
from topos.neural.matching import Names, named
from topos.neural.optimizer import (
    Optimizer,
    OptimizerState,
    Progress,
    Slot,
    advance,
    demand_optimizer,
    demand_slots,
)

STATE: Final = "optimizer"


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """The symbols of one recorded step: what trains, what the optimizer keeps, what comes next.

    `parameters` are the trained ones in recording order; `count` and `slots` name the parameters
    of the tape that hold the optimizer's state, by slot and trained parameter. `following` is the
    next value of each parameter, trained or state, in the order of the emitted arguments.
    """

    name: str
    loss: Symbol
    adjoints: Adjoints
    parameters: tuple[Symbol, ...]
    count: Symbol
    slots: Mapping[str, Mapping[Symbol, Symbol]]
    following: Mapping[Symbol, Symbol]

    def roots(self) -> tuple[Symbol, ...]:
        """Returns what an entry of the step declares: new parameters, new state, loss."""
        return (*self.following.values(), self.loss)

    def advanced(self, parameters: Parameters, run: Run) -> Parameters:
        """Returns the parameters, the state among them, that follow `parameters` by `run`."""
        moved: dict[Symbol | str, Tensor] = {at: run.of(new) for at, new in self.following.items()}
        return parameters.with_payloads(moved)

    def state(self, parameters: Parameters) -> OptimizerState:
        """Returns the optimizer's state that `parameters` hold, as `Optimizer.step` takes it."""
        slots = {
            name: Slot.beside(parameters, {at: parameters.of(held) for at, held in own.items()})
            for name, own in self.slots.items()
        }
        return OptimizerState(parameters.of(self.count), slots)

    def with_state(self, parameters: Parameters, state: OptimizerState) -> Parameters:
        """Returns `parameters` with `state` in the place of the optimizer's state they hold."""
        demand_slots("this step", self.slots, state)
        payloads: dict[Symbol | str, Tensor] = {self.count: state.count}
        for name, own in self.slots.items():
            payloads |= {held: state.slots[name].of(at) for at, held in own.items()}
        return parameters.with_payloads(payloads)

    def named(self, names: Names) -> list[tuple[str, Symbol]]:
        """Returns the names of parameters, followed by those that the state beside them has."""
        pairs = named(names)
        entries = [*pairs, (f"{self.name}/count", self.count)]
        for slot, held in self.slots.items():
            entries += [(f"{self.name}/{slot}/{own}", held[at]) for own, at in pairs if at in held]
        return entries

    def donations(self, signature: Signature) -> dict[int, int]:
        """Returns the result that may take the buffer of an argument, by their positions.

        Each trained or state parameter gives its buffer to its own next value, which has its
        type. Nothing else is donated: an input is the caller's, and stays.
        """
        results = {port.symbol: place for place, port in enumerate(signature.results)}
        return {
            place: results[self.following[port.symbol]]
            for place, port in enumerate(signature.arguments)
            if self.following.get(port.symbol) in results
        }


def record_step(
    tape: Tape,
    loss: Value | Symbol | str,
    parameters: Iterable[Value | Symbol | str],
    optimizer: Optimizer,
    *,
    name: str = STATE,
) -> RecordedStep:
    """Records the gradients of the rank-0 `loss` and the optimizer's update of `parameters`.

    The optimizer's state becomes parameters of the tape, after the trained ones: the count
    `<name>/count`, and `<name>/<slot>/<parameter>` where the trained parameter has a name. A plan
    over `roots()` emits as (parameters, state, batch) -> (parameters, state, loss), where what
    follows `w` is named `next/w`. The bits are those of `Optimizer.step` by the same gradients.
    Two steps of one tape need two names.
    Raises `SymbolError`, the tape as it was, where what trains is no parameter or a name is taken.
    """
    demand_optimizer("record_step", optimizer)
    if isinstance(parameters, Value | Symbol | str) or not isinstance(parameters, Iterable):
        raise ArgumentError(
            "record_step needs a sequence of parameters, such as topos.parameters(module), got"
            f" {given(parameters)}"
        )
    trained = sorted({tape.position(each): each for each in parameters}.items())
    if not trained:
        raise ArgumentError("record_step needs one parameter or more, got none")
    _demand_recordable(tape, [at for at, _ in trained], optimizer, name)
    adjoints = tape.differentiate(loss, [each for _, each in trained])
    symbols = adjoints.wrt()
    weights = {at: tape.value(at) for at in symbols}
    count = tape.parameter(Tensor(0, i32), name=f"{name}/count")
    slots = {slot: _slot(tape, f"{name}/{slot}", weights) for slot in optimizer.slots}
    slopes = {at: tape.value(adjoints.of(at)) for at in symbols}
    after = advance(optimizer, Progress(weights, count, slots), slopes)
    following = {at: after.parameters[at].symbol for at in symbols}
    following[count.symbol] = after.count.symbol
    for slot, held in slots.items():
        following |= {held[at].symbol: after.slots[slot][at].symbol for at in symbols}
    _name_following(tape, following)
    kept = {slot: {at: own.symbol for at, own in held.items()} for slot, held in slots.items()}
    target = loss.symbol if isinstance(loss, Value) else tape.value(loss).symbol
    return RecordedStep(name, target, adjoints, symbols, count.symbol, kept, following)


def _demand_recordable(
    tape: Tape, positions: Iterable[int], optimizer: Optimizer, name: str
) -> None:
    """Raises `SymbolError` where what trains is no parameter, or a name of the state is taken."""
    columns, wanted = tape.columns, [f"{name}/count"]
    for at in positions:
        kind = columns.forms[at].operation.name
        if kind != "parameter":
            raise SymbolError(f"record_step trains parameters, got the {kind} {columns.title(at)}")
        if at in columns.labels:
            wanted += [f"{name}/{slot}/{columns.labels[at]}" for slot in optimizer.slots]
    for each in wanted:
        if each in columns.names:
            raise SymbolError(f"the name {each!r} is already taken")


def _slot(tape: Tape, name: str, weights: Mapping[Symbol, Value]) -> dict[Symbol, Value]:
    """Records one slot of the optimizer's state: a parameter of zeros beside each weight."""
    labels = tape.columns.labels
    return {
        at: tape.parameter(
            zeros(weight.type),
            name=f"{name}/{labels[at.position]}" if at.position in labels else None,
        )
        for at, weight in weights.items()
    }


def _name_following(tape: Tape, following: Mapping[Symbol, Symbol]) -> None:
    """Names the next value of each named parameter after it, where that name is free."""
    columns = tape.columns
    for before, after in following.items():
        name = f"next/{columns.labels.get(before.position)}"
        if before.position in columns.labels and name not in columns.names:
            tape.value(after).named(name)
