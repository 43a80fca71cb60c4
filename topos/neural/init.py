"""Initializers: functions from a shape to a payload, drawn from an explicit seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import numpy as np

from topos import Element, Symbol, Tape, Tensor, f32, f64
from topos.errors import ArgumentError, ShapeError
from topos.neural import stream
from topos.neural.formula import count, given, is_number

Shape = tuple[int, ...]


class Initializer(Protocol):
    """A function from a shape to a payload, the same payload each time it is called.

    Numbers are made in f64 and rounded to the element once. A module of many parameters gives
    each the initializer that `split` returns for its position.
    """

    def __call__(self, shape: Sequence[int], element: Element = f32) -> Tensor:
        """Returns the payload of `shape` in `element`, which has to be floating."""

    def split(self, position: int) -> Initializer:
        """Returns the initializer of the same distribution with a seed of its own."""


def demand_initializer(name: str, initializer: object) -> None:
    """Raises `ArgumentError` for what is no initializer: one that makes them is none yet."""
    parts = initializer, getattr(initializer, "split", None)
    if isinstance(initializer, type) or not all(map(callable, parts)):
        raise ArgumentError(
            f"{name} needs an initializer such as init.xavier(1), got {given(initializer)}"
        )


def recorded(tape: Tape, name: str, initializer: Initializer, shape: Shape) -> Symbol:
    """Records a parameter of a module called `name`, in the tape's element."""
    demand_initializer(name, initializer)
    if isinstance(initializer, _Unset):
        return tape.parameter(shape=shape).symbol
    return tape.parameter(initializer(shape, tape.element)).symbol


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Numbers of a distribution whose measure may depend on the shape."""

    seed: int
    draw: Callable[[int, Shape], stream.Numbers]

    def __call__(self, shape: Sequence[int], element: Element = f32) -> Tensor:
        extents = tuple(count("init", "extents", extent, least=0) for extent in shape)
        _demand_floating(element)
        numbers = self.draw(self.seed, extents).reshape(extents)
        return Tensor(numbers, f64).convert(element)

    def split(self, position: int) -> _Drawn:
        return _Drawn(stream.split(self.seed, count("split", "a position", position, 0)), self.draw)


@dataclass(frozen=True, slots=True)
class _Unset:
    """No numbers: a module records the parameter by its shape alone."""

    def __call__(self, shape: Sequence[int], element: Element = f32) -> Tensor:
        raise ArgumentError("init.unset makes no payload: it is for weights read from a checkpoint")

    def split(self, position: int) -> _Unset:
        return self


@dataclass(frozen=True, slots=True)
class _Constant:
    """One number everywhere."""

    number: float

    def __call__(self, shape: Sequence[int], element: Element = f32) -> Tensor:
        extents = tuple(count("init", "extents", extent, least=0) for extent in shape)
        _demand_floating(element)
        return Tensor(self.number, element).broadcast(extents)

    def split(self, position: int) -> _Constant:
        return self


def constant(number: float) -> Initializer:
    """Returns the initializer that fills a shape with `number`."""
    return _Constant(_finite("constant", "a number", number))


zeros: Final[Initializer] = _Constant(0.0)
ones: Final[Initializer] = _Constant(1.0)
unset: Final[Initializer] = _Unset()
"""Records a parameter by its shape alone, so that weights read from a checkpoint are held once."""


def uniform(seed: int, low: float = -1.0, high: float = 1.0) -> Initializer:
    """Returns the initializer of numbers between `low` and `high`, all as likely.

    A number is `low + (high - low) * u` with `u` of [0, 1); only the rounding to a narrow element
    reaches `high` itself.
    """
    bottom, top = _finite("uniform", "a low", low), _finite("uniform", "a high", high)
    if bottom > top:
        raise ArgumentError(f"uniform needs low of at most high, got {low!r} and {high!r}")
    return _Drawn(stream.seed_of(seed), partial(_uniform, low=bottom, high=top))


def normal(seed: int, deviation: float = 1.0) -> Initializer:
    """Returns the initializer of the normal distribution of mean zero and `deviation`."""
    measure = _finite("normal", "a deviation", deviation, least=0.0)
    return _Drawn(stream.seed_of(seed), partial(_normal, deviation=measure))


def xavier(seed: int) -> Initializer:
    """Returns the uniform initializer between plus and minus `sqrt(6 / (inputs + outputs))`.

    It keeps the variance of activations and of gradients (Glorot & Bengio, 2010, equation 16).
    Weights `[inputs, outputs]` and convolutions `[outputs, channels, ...]` are told by their rank;
    a window multiplies both counts.
    """
    return _Drawn(stream.seed_of(seed), _xavier)


def kaiming(seed: int) -> Initializer:
    """Returns the normal initializer of deviation `sqrt(2) / sqrt(inputs)`.

    It keeps the variance through rectifiers (He et al., 2015, equation 10); inputs are counted as
    for `xavier`.
    """
    return scaled(seed, math.sqrt(2.0))


def scaled(seed: int, gain: float = 1.0) -> Initializer:
    """Returns the normal initializer of deviation `gain / sqrt(inputs)`, counted as for `xavier`.

    A gain of one keeps the variance of a linear layer (LeCun et al., 1998, section 4.6).
    """
    measure = _finite("scaled", "a gain", gain, least=0.0)
    return _Drawn(stream.seed_of(seed), partial(_scaled, gain=measure))


def dropout(seed: int, rate: float) -> Initializer:
    """Returns the masks that drop each element with probability `rate` (Srivastava et al., 2014).

    A mask is zero where `u < rate` with `u` of [0, 1), else `1 / (1 - rate)`, so that the masked
    value has the mean of the unmasked one.
    """
    share = _finite("dropout", "a rate", rate, least=0.0)
    if share >= 1.0:
        raise ArgumentError(f"dropout needs a rate below 1.0, got {rate!r}")
    return _Drawn(stream.seed_of(seed), partial(_dropout, rate=share))


def _uniform(seed: int, shape: Shape, low: float, high: float) -> stream.Numbers:
    return low + (high - low) * stream.uniforms(seed, math.prod(shape))


def _normal(seed: int, shape: Shape, deviation: float) -> stream.Numbers:
    return deviation * stream.normals(seed, math.prod(shape))


def _xavier(seed: int, shape: Shape) -> stream.Numbers:
    inputs, outputs = _fans("xavier", shape)
    bound = math.sqrt(6.0 / (inputs + outputs))
    return _uniform(seed, shape, -bound, bound)


def _scaled(seed: int, shape: Shape, gain: float) -> stream.Numbers:
    inputs, _ = _fans("scaled", shape)
    return _normal(seed, shape, gain / math.sqrt(inputs))


def _dropout(seed: int, shape: Shape, rate: float) -> stream.Numbers:
    kept = stream.uniforms(seed, math.prod(shape)) >= rate
    return np.where(kept, 1.0 / (1.0 - rate), 0.0)


def _fans(name: str, shape: Shape) -> tuple[int, int]:
    """Returns how many inputs make an output, and how many outputs an input reaches."""
    if len(shape) < 2 or 0 in shape:
        raise ShapeError(f"{name} needs weights of two axes or more, none empty, got {shape}")
    if len(shape) == 2:
        return shape
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def _finite(name: str, what: str, number: float, least: float = -math.inf) -> float:
    if not is_number(number, least):
        bound = "" if least == -math.inf else f" of {least} or more"
        raise ArgumentError(f"{name} needs {what}{bound}, finite, got {number!r}")
    return float(number)


def _demand_floating(element: Element) -> None:
    if not isinstance(element, Element) or not element.differentiable:
        raise ArgumentError(f"init needs a floating element, got {element!r}")
