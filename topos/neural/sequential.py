"""Sequential: modules one after another."""

from __future__ import annotations

from topos import Tape, Value
from topos.errors import ArgumentError
from topos.neural.module import Module, Visitor, demand_module

__all__ = ["Sequential"]


class Sequential:
    """A chain of modules: the value that one returns is what the next is applied to.

    Every stage takes one value and returns one. A stage that returns more, as `BatchNorm` does in
    training, raises `ArgumentError`: its statistics would be lost, so it belongs in a module of
    one's own.
    """

    __slots__ = ("stages",)

    def __init__(self, *stages: Module) -> None:
        for position, stage in enumerate(stages):
            demand_module(f"Sequential at {position}", stage)
        if not stages:
            raise ArgumentError("Sequential needs one module or more, got none")
        self.stages: tuple[Module, ...] = stages

    def express(self, tape: Tape, value: Value) -> Value:
        """Records every stage in order."""
        for position, stage in enumerate(self.stages):
            value = stage.express(tape, value)
            if not isinstance(value, Value):
                title = f"{type(stage).__name__} at {position} returned {type(value).__name__}"
                raise ArgumentError(f"Sequential needs stages that return one value, {title}")
        return value

    def visit(self, visitor: Visitor) -> None:
        """Visits every stage by its position."""
        for position, stage in enumerate(self.stages):
            visitor.child(position, stage)
