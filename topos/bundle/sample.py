"""Samples: inputs of a bundle with the results of the oracle, drawn from a seed or given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from topos.bundle.manifest import MOST_CALLS
from topos.bundle.naming import Payload, Payloads
from topos.bundle.subject import Slot, Subject, fitted
from topos.errors import BundleError, FeedError
from topos.neural import init
from topos.payload import DIFFERENTIABLE, Element, Shape, TensorType, size
from topos.reading import Tensor

Inputs = dict[str, Tensor]

CALLS: Final = 2
"""How many calls a sample has where none are given."""


def calls_of(subject: Subject, samples: Sequence[Payloads], seed: int) -> list[Inputs]:
    """Returns the inputs of each call: those given, and floats drawn for what is missing.

    Raises `FeedError` where one does not fit, where a name is of no input, or where integers are
    given none: nobody knows their range.
    """
    _demand_names(subject, samples)
    return [
        {
            slot.name: _one(slot, given, slot.type.shape, (seed, call, place))
            for place, slot in enumerate(subject.inputs)
        }
        for call, given in enumerate(samples or [{}] * CALLS)
    ]


def pool_of(subjects: Sequence[Subject], samples: Sequence[Payloads], seed: int) -> Inputs:
    """Returns rows of every input, of which programs of any number of rows take theirs.

    A sample may have any number of rows, the same for all its inputs. Raises as `calls_of` does.
    """
    first, most = subjects[0], max(map(rows_of, subjects))
    _demand_names(first, samples)
    parts: dict[str, list[Any]] = {slot.name: [] for slot in first.inputs}
    for call, given in enumerate(samples or [{}]):
        count = _count(given, CALLS * most)
        for place, slot in enumerate(first.inputs):
            shape = (count, *slot.type.shape[1:])
            own = _one(slot, given, shape, (seed, call, place), batched=True)
            parts[slot.name].append(own.numpy())
    return {
        slot.name: Tensor.wrap(np.concatenate(parts[slot.name]), slot.type.element)
        for slot in first.inputs
    }


def taken(pool: Inputs, rows: Sequence[int]) -> Inputs:
    """Returns the rows of a pool at some places, counted on from the start where it ends."""
    return {
        name: Tensor.wrap(own.numpy()[[row % own.shape[0] for row in rows]], own.element)
        for name, own in pool.items()
    }


def rows_of(subject: Subject) -> int:
    """Returns how many rows a program takes: the leading extent of all that a call brings or gets.

    Raises `BundleError` where they have none in common.
    """
    slots = (*subject.inputs, *subject.results)
    leading = {slot.type.shape[:1] for slot in slots}
    extents = [extent for shape in leading for extent in shape]
    if not subject.inputs or len(leading) > 1 or not extents or not all(extents):
        has = ", ".join(f"{slot.name}: {slot.type}" for slot in slots)
        raise BundleError(
            "a batched bundle needs inputs and results of one leading extent, got "
            f"{has}; give arguments without rows, such as weights, as resident"
        )
    return extents[0]


def is_drawable(element: Element) -> bool:
    """Returns whether values of an element may be made up.

    Those are floats, truth values, and integers of eight bits, which are the pixels of images, say;
    nobody knows the range of any wider integer.
    """
    return element in DIFFERENTIABLE or element.dtype.itemsize == 1


def drawn(type: TensorType, seed: Sequence[int]) -> Tensor:
    """Returns normal floats, truth values as likely as not, or all that eight bits can be."""
    if type.element.dtype.kind in "iu":
        words = np.random.PCG64([*seed]).random_raw(-(-size(type.shape) // 8))
        octets = words.view(type.element.dtype)[: size(type.shape)]
        return Tensor.wrap(octets.reshape(type.shape), type.element)
    start, *others = seed
    numbers = init.normal(start)
    for other in others:
        numbers = numbers.split(other)
    if type.element in DIFFERENTIABLE:
        return numbers(type.shape, type.element)
    return Tensor(numbers(type.shape).numpy() > 0)


def _one(
    slot: Slot, given: Payloads, shape: Shape, seed: Sequence[int], *, batched: bool = False
) -> Tensor:
    wanted = TensorType(shape, slot.type.element)
    if slot.name in given:
        return fitted(slot.name, wanted, given[slot.name])
    if not is_drawable(wanted.element):
        # The rows that would be drawn are those of no plan.
        has = f"{wanted._replace(shape=shape[1:])} a row" if batched else str(wanted)
        raise FeedError(
            f"a sample needs {slot.name!r} of {has} given, for no range of its integers is known: "
            f"samples=[{{{slot.name!r}: ...}}]"
        )
    return drawn(wanted, seed)


def _count(given: Payloads, default: int) -> int:
    """Returns how many rows a sample has."""
    shapes = [_shape(name, value) for name, value in given.items()]
    count = shapes[0][0] if shapes and shapes[0] else default
    if not count:
        raise FeedError("a sample needs one row or more, got none")
    return count


def _shape(name: str, value: Payload) -> Shape:
    try:
        return np.shape(value)
    except ValueError:
        raise FeedError(f"a sample needs {name!r} as an array, got rows of several sizes") from None


def _demand_names(subject: Subject, samples: Sequence[Payloads]) -> None:
    if len(samples) > MOST_CALLS:
        raise FeedError(f"a bundle needs {MOST_CALLS} samples at most, got {len(samples)}")
    names = [slot.name for slot in subject.inputs]
    for given in samples:
        for name in given:
            if name not in names:
                has = ", ".join(names) or "none"
                raise FeedError(f"a sample names {name!r}, and the inputs of a call are {has}")
