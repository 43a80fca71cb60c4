"""Optimizers: how gradients and the current parameters become the next ones, for every reading."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol

from topos import Field, Gradients, Parameters, Symbol, Tensor, i32
from topos.errors import ArgumentError
from topos.neural.formula import R, given, in_element, repeated, wide, widest, zeros


class Slot(Field):
    """A table beside the parameters: one tensor for each, of its shape and wide element."""

    __slots__ = ()

    @classmethod
    def beside(cls, parameters: Field, payloads: Mapping[Symbol, Tensor]) -> Slot:
        """Returns the table of `payloads`, which name nodes of the recording of `parameters`."""
        return cls(parameters._columns, {at.position: own for at, own in payloads.items()})


@dataclass(frozen=True, slots=True)
class OptimizerState:
    """What an optimizer keeps between steps: an immutable value that each step replaces.

    `count` is the number of steps taken, an i32 of rank 0; `slots` are the optimizer's tables
    beside the parameters, by name.
    """

    count: Tensor
    slots: Mapping[str, Slot]

    def __repr__(self) -> str:
        return f"OptimizerState({self.count.item()} steps, {', '.join(self.slots) or 'no slots'})"


@dataclass(frozen=True, slots=True)
class Progress(Generic[R]):
    """Where a training stands, in one reading: parameters, steps taken, and each slot's tensors."""

    parameters: Mapping[Symbol, R]
    count: R
    slots: Mapping[str, Mapping[Symbol, R]]


class Optimizer(Protocol):
    """A rule of training, written once over the vocabulary: it computes and it records itself.

    An optimizer says what it keeps beside each parameter, what a step computes once, and how one
    parameter moves. All arithmetic is of the parameter's wide element: f32 for f16 and bf16, its
    own otherwise; the parameter is rounded back once. A subclass inherits `start` and `step`.
    """

    @property
    @abstractmethod
    def slots(self) -> tuple[str, ...]:
        """The names of what is kept beside each parameter; all of it starts as zeros."""

    @abstractmethod
    def scalars(self, count: R) -> tuple[R, ...]:
        """Returns the rank-0 values that a step computes once for all parameters.

        `count` is the number of steps before this one, a float of rank 0.
        """

    @abstractmethod
    def update(
        self, symbol: Symbol, parameter: R, gradient: R, kept: Sequence[R], scalars: Sequence[R]
    ) -> tuple[R, tuple[R, ...]]:
        """Returns the next value of one parameter, and of what is kept beside it.

        `kept` are the tensors of `slots`, in order; `scalars` come spread over the parameter.
        """

    def revised(self, gradients: Mapping[Symbol, R]) -> Mapping[Symbol, R]:
        """Returns the gradients that `update` gets: these, where nothing looks at all of them."""
        return gradients

    def start(self, parameters: Parameters) -> OptimizerState:
        """Returns the state before the first step: no steps, and zeros in every slot."""
        if not isinstance(parameters, Parameters):
            raise ArgumentError(f"start needs Parameters, got {given(parameters)}")
        blank = {symbol: zeros(payload.type) for symbol, payload in _trained(parameters)}
        slots = {name: Slot.beside(parameters, blank) for name in self.slots}
        return OptimizerState(Tensor(0, i32), slots)

    def step(
        self, parameters: Parameters, gradients: Gradients, state: OptimizerState
    ) -> tuple[Parameters, OptimizerState]:
        """Returns the parameters and the state after a step; what is not floating stays.

        Raises `ArgumentError` where the state is another optimizer's, `SymbolError` where it or the
        gradients are another recording's, `ReadError` where a parameter is in none of them.
        """
        demand_slots(f"a step of {type(self).__name__}", self.slots, state)
        payloads = dict(_trained(parameters))
        slots = {
            name: {symbol: slot.of(symbol) for symbol in payloads}
            for name, slot in state.slots.items()
        }
        slopes = {symbol: gradients.of(symbol) for symbol in payloads}
        after = advance(self, Progress(payloads, state.count, slots), slopes)
        tables = {name: Slot.beside(parameters, own) for name, own in after.slots.items()}
        replaced: dict[Symbol | str, Tensor] = dict(after.parameters.items())
        return parameters.with_payloads(replaced), OptimizerState(after.count, tables)


def demand_optimizer(name: str, optimizer: object) -> None:
    """Raises `ArgumentError` where `optimizer` is none: a class that was not called is none yet."""
    parts = ("slots", "scalars", "update", "revised")
    if isinstance(optimizer, type) or not all(hasattr(optimizer, part) for part in parts):
        raise ArgumentError(f"{name} needs an optimizer such as Adam(1e-3), got {given(optimizer)}")


def advance(
    optimizer: Optimizer, progress: Progress[R], gradients: Mapping[Symbol, R]
) -> Progress[R]:
    """Returns where a training stands after one step by `gradients`, in any reading."""
    parameters, names = progress.parameters, optimizer.slots
    raised = {at: in_element(gradients[at], wide(own.element)) for at, own in parameters.items()}
    slopes = optimizer.revised(raised)
    scalars = optimizer.scalars(in_element(progress.count, widest(parameters.values())))
    moved: dict[Symbol, R] = {}
    slots: dict[str, dict[Symbol, R]] = {name: {} for name in names}
    for symbol, parameter in parameters.items():
        own = in_element(parameter, wide(parameter.element))
        kept = [progress.slots[name][symbol] for name in names]
        everywhere = [repeated(scalar, own) for scalar in scalars]
        updated, after = optimizer.update(symbol, own, slopes[symbol], kept, everywhere)
        moved[symbol] = in_element(updated, parameter.element)
        for name, tensor in zip(names, after, strict=True):
            slots[name][symbol] = tensor
    return Progress(moved, progress.count + 1, slots)


def _trained(parameters: Parameters) -> list[tuple[Symbol, Tensor]]:
    return [(at, own) for at, own in parameters.items() if own.element.differentiable]


def demand_slots(who: str, slots: Collection[str], state: OptimizerState) -> None:
    """Raises `ArgumentError` where the tables of `state` are not called `slots`."""
    if set(state.slots) != set(slots):
        needs, held = (", ".join(names) or "none" for names in (slots, state.slots))
        raise ArgumentError(f"{who} needs a state with the slots {needs}, got {held}")
