"""Sources: constants, parameters and inputs, the nodes that have no operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Never

from topos.op.operation import Array, Cotangents, Operation, R
from topos.payload import TensorType, demand_possible


class Source(Operation, name="source", arity=0, introduces_nan=False):
    """A node without operands, equal only to itself."""

    __slots__ = ("payload", "type")

    type: TensorType
    payload: Array | None
    """The constant, the initial or the default payload; `None` where a run must feed it."""

    def __init__(self, type: TensorType, payload: Array | None) -> None:
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "payload", payload)
        object.__setattr__(self, "_hash", id(self))

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = Operation.__hash__

    def __reduce__(self) -> Any:
        return type(self), (self.type, self.payload)

    def parameters(self) -> str:
        """Returns the payload where it is one number."""
        if self.payload is None or self.payload.size != 1:
            return ""
        scalar = self.payload.reshape(())[()]
        element = self.type.element
        return f"{scalar}" if element.native else element.arithmetic.spell(scalar)

    def infer(self, *operands: TensorType) -> TensorType:
        """Returns the type the source was recorded with."""
        demand_possible(self.name, self.type.shape, self.type.element.dtype.itemsize)
        return self.type

    def compute(self, *operands: Array) -> Never:
        """Never called: a source's value comes from the tape, the parameters or the feeds."""
        raise AssertionError("a source has no value rule")

    def backward(self, operands: Sequence[R], output: R, gradient: R) -> Cotangents[R]:
        """Returns no cotangents: a source has no operands."""
        return ()


class Leaf(Source, name="leaf", arity=0, introduces_nan=False):
    """A constant of the spec."""

    __slots__ = ()


class Parameter(Source, name="parameter", arity=0, introduces_nan=False):
    """A weight: its payload is the initial state, which the caller owns and steps."""

    __slots__ = ()


class Input(Source, name="input", arity=0, introduces_nan=False):
    """A value fed to each run, with an optional default payload."""

    __slots__ = ()
