"""Runs: what one execution computed, and the engine's reverse scan over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Never, Self

import numpy as np

from topos.backend import computed, count
from topos.engine.choices import Choice, Choices
from topos.errors import PostureError, ReadError
from topos.graph import Adjoints, Field, Network, Symbol, reverse
from topos.graph.adjoints import demand_differentiable
from topos.op import Array, Operation
from topos.payload import Element, Shape, TensorType, kernels
from topos.payload.kernels.clean import has_nan
from topos.payload.storage import iota
from topos.reading import Number, Recordable, Tensor


class ScanTensor(Tensor):
    """A tensor that computes each operation as its plan would, node by node, and counts its tasks.

    An exact one takes a task's kernel where no operand and no result holds a NaN; everything else
    is the oracle's own.
    """

    __slots__ = ("_choices",)

    _choices: Choices

    @classmethod
    def within(cls, array: Array, element: Element, choices: Choices) -> Self:
        """Returns a tensor that shares `array` and computes as `choices` say."""
        tensor = cls.wrap(array, element)
        tensor._choices = choices
        return tensor

    def express(self, operation: Operation, *operands: Self) -> Self:
        choices = self._choices
        types = tuple([operand.type for operand in operands])
        choice = choices.of(operation, types)
        arrays = [operand._array for operand in operands]
        if choices.exact:
            array = _exactly(choice, arrays)
            if array is None:
                array = computed(operation, arrays, types)
        else:
            with np.errstate(all="ignore"):
                array = _called(choice, arrays)
        return self.within(array, choice.result.element, choices)

    def fill(self, number: Number) -> Self:
        filled = super().fill(number)
        filled._choices = self._choices
        return filled

    def iota(self, shape: Shape) -> Self:
        counted = Tensor(iota(shape))
        return self.within(counted.numpy(), counted.element, self._choices)


def _exactly(choice: Choice, arrays: list[Array]) -> Array | None:
    """Returns the oracle's bits by the kernel of a task, `None` where it is not known to have them.

    It has them where neither an operand nor the result holds a NaN.
    """
    if choice.service is None or not kernels.subnormals.reports_invalid_operations():
        return None
    if any(map(has_nan, arrays)):
        return None
    try:
        with kernels.clean.raising():
            return _called(choice, arrays)
    except FloatingPointError:
        return None


def _called(choice: Choice, arrays: list[Array]) -> Array:
    kernel, result = choice.kernel, choice.result
    if kernel.writes:
        array = np.empty(result.shape, result.element.dtype)
        kernel.function(*arrays, out=array)
    else:
        array = kernel.function(*arrays)
    if choice.service is not None:
        count([choice.service])
    return array


class Run:
    """The readable values of one forward run.

    `retained` holds what the derivative rules read, where the entry declared a backward. A scan of
    a plan's run computes as `choices` say, which are the plan's; any other is the oracle's.
    """

    __slots__ = ("_choices", "_network", "_retained", "_values")

    def __init__(
        self,
        network: Network,
        values: Mapping[int, Tensor],
        retained: Mapping[int, Tensor] | None,
        choices: Choices | None = None,
    ) -> None:
        self._network, self._values, self._retained = network, values, retained
        self._choices = choices

    def of(self, reference: Symbol | str) -> Tensor:
        """Returns the value of a declared root or observe; raises `ReadError` for another."""
        columns = self._network.columns
        if type(reference) is Symbol and reference.origin == columns.origin:
            # What this run holds, it may answer without asking what the symbol is.
            held = self._values.get(reference.position)
            if held is not None:
                return held
        index = self._network.symbol(reference).position
        try:
            return self._values[index]
        except KeyError:
            title = self._network.columns.title(index)
            raise ReadError(f"{title} was not declared: make it a root or observe it") from None

    def backward(self, target: Symbol | str) -> Field:
        """Returns the gradients of the rank-0 `target` by the engine's reverse scan.

        The field has an entry for each floating node up to `target` and each floating source:
        zeros where the target does not depend on it. A scan of a plan's run offers its products,
        maps and reductions to the element, then to the backends, and counts them in the open
        tallies. Raises `PostureError` where the run kept nothing to scan.
        """
        if self._retained is None:
            raise PostureError(
                "backward needs an entry with backward=True, got a forward-only or compiled one"
            )
        columns, index = self._network.columns, self._network.symbol(target).position
        if index not in self._values:
            title = columns.title(index)
            raise ReadError(f"{title} was not declared: a backward target is a root or observed")
        demand_differentiable(columns, index)
        kernels.subnormals.demand_subnormals()
        seed = self._own(self._values[index]).fill(1.0)
        scanned = reverse(columns, self._reading, index, seed)
        gradients = {node: _plain(gradient) for node, gradient in scanned.items()}
        for node in range(self._network.length):
            type = columns.forms[node].type
            if node > index and columns.operands[node]:
                continue
            if node not in gradients and type.element.differentiable:
                gradients[node] = Tensor(0.0, type.element).broadcast(type.shape)
        return Field(columns, gradients)

    def recorded_gradients(self, adjoints: Adjoints) -> Field:
        """Returns recorded gradients, which this run read, as a field over what they are for."""
        if not isinstance(adjoints, Adjoints):
            kind = type(adjoints).__name__
            raise ReadError(f"recorded gradients are read by their Adjoints, got {kind}")
        gradients = {symbol.position: self.of(adjoints.of(symbol)) for symbol in adjoints.wrt()}
        return Field(self._network.columns, gradients)

    def symbols(self) -> tuple[Symbol, ...]:
        """Returns the symbols of the readable values, in the order of the entry's results."""
        origin = self._network.columns.origin
        return tuple(Symbol(origin, index) for index in self._values)

    def _reading(self, index: int) -> Tensor:
        assert self._retained is not None
        held = self._retained.get(index)
        # The reads contract says that no rule looks at a value that was not retained.
        if held is None:
            return Unretained(self._network.columns.forms[index].type)  # type: ignore[return-value]
        return self._own(held)

    def _own(self, value: Tensor) -> Tensor:
        """Returns `value` as a reading that computes as this run did."""
        if self._choices is None:
            return value
        return ScanTensor.within(value.numpy(), value.element, self._choices)

    def __repr__(self) -> str:
        labels = self._network.columns.labels
        entries = (
            f"{labels.get(index, f'%{index}')}: {value.type}"
            for index, value in self._values.items()
        )
        return f"Run({', '.join(entries)})"


def _plain(value: Tensor) -> Tensor:
    return value if type(value) is Tensor else Tensor.wrap(value.numpy(), value.element)


class Unretained(Recordable):
    """A value that a run freed: its type is known, and reading it breaks the reads contract."""

    __slots__ = ("_type",)

    def __init__(self, type: TensorType) -> None:
        self._type = type

    @property
    def shape(self) -> Shape:
        return self._type.shape

    @property
    def element(self) -> Element:
        return self._type.element

    def express(self, operation: Operation, *operands: Recordable) -> Never:
        raise AssertionError(f"{operation.name} read a value that no reads contract names")

    def fill(self, number: Number) -> Never:
        raise AssertionError("a rule filled from a value that no reads contract names")

    def iota(self, shape: Shape) -> Never:
        raise AssertionError("a rule counted from a value that no reads contract names")
