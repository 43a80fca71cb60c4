"""Subjects: what an export writes and the oracle evaluates, a plan or a module."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from topos.bundle.naming import Payload
from topos.errors import FeedError, ToposError
from topos.payload import TensorType, carried_element
from topos.reading import Tensor


class Slot(NamedTuple):
    """An argument or a result: its name in the bundle, its type, and its value where it stays."""

    name: str
    type: TensorType
    value: Tensor | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


class Subject(ABC):
    """A program to export: its arguments in the order of `@main`, and its results."""

    kind: ClassVar[str]
    """What a refusal calls it."""

    def __init__(self, arguments: tuple[Slot, ...], results: tuple[Slot, ...]) -> None:
        self.arguments, self.results = arguments, results

    @property
    @abstractmethod
    def text(self) -> str:
        """The module as StableHLO text."""

    @abstractmethod
    def evaluated(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns the results by name, in the oracle's bits."""

    @abstractmethod
    def moved(self, inputs: Mapping[str, Tensor], seed: tuple[int, ...]) -> dict[str, Tensor]:
        """Returns the results where every argument and every rounding is off, drawn from a seed."""

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """The arguments that each call brings."""
        return tuple(slot for slot in self.arguments if slot.value is None)

    @property
    def resident(self) -> dict[str, Tensor]:
        """The values that stay, by name."""
        return {slot.name: slot.value for slot in self.arguments if slot.value is not None}

    @property
    def signature(self) -> str:
        """The arguments and results, as a refusal tells them."""
        arguments, results = (
            ", ".join(map(str, slots)) for slots in (self.arguments, self.results)
        )
        return f"({arguments}) -> ({results})"


def held(slot: Slot, inputs: Mapping[str, Tensor]) -> Tensor:
    """Returns the value of an argument in a call."""
    return inputs[slot.name] if slot.value is None else slot.value


def fitted(name: str, wanted: TensorType, value: Payload) -> Tensor:
    """Returns a value of the type that is wanted; raises `FeedError` where it has another."""
    try:
        tensor = value if isinstance(value, Tensor) else _tensor(wanted, value)
    except ToposError as error:
        raise FeedError(f"{name!r} needs {wanted}: {error}") from None
    if tensor.type != wanted:
        raise FeedError(f"{name!r} needs {wanted}, got {tensor.type}")
    return tensor


def viewed(name: str, wanted: TensorType, value: Payload) -> Tensor:
    """Returns `fitted` of a value; an array is read where it lies, for weights may be large."""
    if isinstance(value, np.ndarray) and value.dtype == wanted.element.dtype:
        value = Tensor.wrap(value, wanted.element)
    return fitted(name, wanted, value)


def _tensor(wanted: TensorType, value: Payload) -> Tensor:
    # An array brings its own element, numbers and lists take the one that is wanted.
    dtype = getattr(value, "dtype", None)
    return Tensor(value, wanted.element if dtype is None else carried_element(dtype))
