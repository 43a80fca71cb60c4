"""How far a recorded formula and its gradients are from the same formula in jax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from topos import Element, Tape, Tensor, Value

Array = npt.NDArray[Any]


class Case(NamedTuple):
    """A formula here and in jax over drawn operands, and the units that are granted.

    `integers` counts trailing operands that are indices below `below`. `units` are granted to
    values and gradients alike.
    """

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    shapes: Sequence[tuple[int, ...]]
    units: float
    integers: int = 0
    below: int = 1

    def operands(self, element: Element, seed: int = 0) -> list[Array]:
        """Returns the operands that `seed` draws, floating ones first."""
        random = np.random.default_rng(seed)
        floating = len(self.shapes) - self.integers
        drawn = [random.standard_normal(shape) for shape in self.shapes[:floating]]
        chosen = [random.integers(0, self.below, shape) for shape in self.shapes[floating:]]
        return [*(np.asarray(each, element.dtype) for each in drawn), *chosen]


def units(ours: Array, theirs: Array) -> float:
    """Returns the largest difference, in units in the last place of the largest element.

    An element near zero is what larger terms left when they cancelled; its own unit says nothing
    about either side's arithmetic.
    """
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    assert np.isfinite(ours).all()
    largest = np.abs(theirs).max(initial=0.0)
    difference = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max(initial=0.0)
    return float(difference / np.spacing(largest if largest else ours.dtype.type(1)))


def weighted(value: Any, of: Callable[[Array], Any], element: Element) -> Any:
    """Returns the sum of `value` times fixed numbers, so that every gradient entry matters."""
    fixed = np.random.default_rng(3).uniform(0.5, 1.5, value.shape)
    return (value * of(np.asarray(fixed, element.dtype))).sum()


def recorded(case: Case, element: Element, seed: int = 0) -> list[Array]:
    """Returns the oracle's value of the formula, then its recorded gradient by each operand."""
    tape = Tape(element=element)
    operands = [tape.input(Tensor(each)) for each in case.operands(element, seed)]
    value: Value = case.ours(*operands)
    floating = operands[: len(operands) - case.integers]
    adjoints = tape.differentiate(weighted(value, tape.leaf, element), floating)
    read = [value.symbol, *adjoints.roots()]
    run = tape.into_network().forward()
    return [run.of(symbol).numpy() for symbol in read]


def foreign(cases: Sequence[Case], element: Element, seeds: int) -> list[list[list[Array]]]:
    """Returns for each seed and case jax's value, then its gradient by each operand.

    One compilation of everything takes a fraction of the time of one for every formula.
    """
    jax = pytest.importorskip("jax")

    def traced(case: Case, operands: Sequence[Any]) -> list[Any]:
        def loss(*arguments: Any) -> Any:
            value = case.theirs(*arguments)
            return weighted(value, jax.numpy.asarray, element), value

        floating = tuple(range(len(operands) - case.integers))
        (_, value), gradients = jax.value_and_grad(loss, floating, has_aux=True)(*operands)
        return [value, *gradients]

    with jax.enable_x64(True):
        # The machine code need not be fast.
        compiled = jax.jit(
            lambda drawn: [*map(traced, cases, drawn)],
            compiler_options={"xla_backend_optimization_level": 0},
        )
        runs = [compiled([case.operands(element, seed) for case in cases]) for seed in range(seeds)]
        return [[[np.asarray(each) for each in result] for result in run] for run in runs]


def furthest(case: Case, element: Element, seed: int, theirs: Sequence[Array]) -> float:
    """Returns the units between the two, at the worst of value and gradients."""
    return max(map(units, recorded(case, element, seed), theirs))


def computed(ours: Callable[..., Any], operands: Sequence[Array]) -> Array:
    """Returns what the formula computes on tensors, without a tape."""
    array: Array = ours(*map(Tensor, operands)).numpy()
    return array
