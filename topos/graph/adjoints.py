"""Recorded reverse mode: the derivative rules writing ordinary nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from topos.errors import ElementError, ShapeError, SymbolError
from topos.graph.columns import Columns, reverse
from topos.graph.symbol import Symbol
from topos.graph.value import Value

if TYPE_CHECKING:
    from topos.graph.tape import Tape


class Adjoints:
    """One gradient symbol for each `wrt`, in its order, of one recorded differentiation."""

    __slots__ = ("_columns", "_gradients", "_wrt")

    def __init__(
        self, columns: Columns, wrt: Sequence[Symbol], gradients: Mapping[Symbol, Symbol]
    ) -> None:
        self._columns, self._wrt, self._gradients = columns, tuple(wrt), dict(gradients)

    def roots(self) -> tuple[Symbol, ...]:
        """Returns the gradients' symbols, in the order of `wrt`."""
        return tuple(self._gradients[symbol] for symbol in self._wrt)

    def wrt(self) -> tuple[Symbol, ...]:
        """Returns the symbols that the target was differentiated with respect to."""
        return self._wrt

    def of(self, reference: Symbol | Value | str) -> Symbol:
        """Returns the symbol of the gradient with respect to `reference`."""
        symbol = reference.symbol if isinstance(reference, Value) else reference
        position = self._columns.resolve(symbol, len(self._columns.forms))
        try:
            return self._gradients[Symbol(self._columns.origin, position)]
        except KeyError:
            title = self._columns.title(position)
            raise SymbolError(f"{title} is not among the values differentiated for") from None

    def __repr__(self) -> str:
        labels = self._columns.labels
        pairs = (
            f"d/d{labels.get(at.position, at)}: {root}" for at, root in self._gradients.items()
        )
        return f"Adjoints({', '.join(pairs)})"


def differentiate(tape: Tape, target: int, wrt: Sequence[int]) -> Adjoints:
    """Records the gradients of the node `target` with respect to the nodes `wrt`.

    A node that the target does not depend on receives a recorded constant of zeros.
    """
    columns = tape.columns
    demand_differentiable(columns, target)
    for index in wrt:
        if not columns.forms[index].type.element.differentiable:
            element = columns.forms[index].type.element
            raise ElementError(
                f"differentiate needs floating values, got {columns.title(index)} of {element}"
            )
    relevant = _dependents(columns, wrt, target)
    seed = Value(tape, target).fill(1.0)
    gradients = reverse(columns, lambda index: Value(tape, index), target, seed, relevant)
    roots = {}
    for index in wrt:
        gradient = gradients[index] if index in gradients else Value(tape, index).fill(0.0)
        _name(tape, gradient, target, index)
        roots[Symbol(columns.origin, index)] = gradient.symbol
    return Adjoints(columns, [Symbol(columns.origin, index) for index in wrt], roots)


def _name(tape: Tape, gradient: Value, target: int, wrt: int) -> None:
    """Names `gradient` after what it is, where both have names and this one is free."""
    labels = tape.columns.labels
    position = gradient.symbol.position
    # A constant may be shared with other expressions and is nobody's gradient alone.
    if not tape.columns.operands[position]:
        return
    if target in labels and wrt in labels and position not in labels:
        name = f"d{labels[target]}/d{labels[wrt]}"
        if name not in tape.columns.names:
            gradient.named(name)


def demand_differentiable(columns: Columns, target: int) -> None:
    """Raises where the node `target` is not a rank-0 floating value."""
    type = columns.forms[target].type
    if type.shape != ():
        raise ShapeError(f"a gradient needs a rank-0 target, got {type} {columns.title(target)}")
    if not type.element.differentiable:
        raise ElementError(f"a gradient needs a floating target, got {type}")


def _dependents(columns: Columns, wrt: Sequence[int], target: int) -> set[int]:
    """Returns the nodes up to `target` that depend on any of `wrt`."""
    dependents = set(wrt)
    if not wrt:
        return dependents
    operands = columns.operands
    for index in range(min(wrt) + 1, target + 1):
        if not dependents.isdisjoint(operands[index]):
            dependents.add(index)
    return dependents
