"""Ranges: integers drawn for inputs whose least and greatest values the caller knows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from topos.bundle.naming import Payload, Payloads
from topos.bundle.sample import CALLS, rows_of
from topos.bundle.subject import Slot, Subject
from topos.errors import ArgumentError, FeedError
from topos.payload import Shape
from topos.reading import Tensor

Ranges = Mapping[str, tuple[int, int]]
"""The least integer of an input, and the one after the greatest, by its name."""


def with_drawn(
    subjects: Sequence[Subject],
    samples: Sequence[Payloads],
    ranges: Ranges,
    batched: bool,
    seed: int,
) -> list[Payloads]:
    """Returns samples in which each input of `ranges` that one leaves out is drawn from there.

    Raises `ArgumentError` for what is no range, and `FeedError` for one of no integer input.
    """
    inputs = {slot.name: slot for slot in subjects[0].inputs}
    for name, range in ranges.items():
        _demand_range(name, range, inputs)
    if not ranges:
        return list(samples)
    most = max(map(rows_of, subjects)) if batched else 0
    filled: list[Payloads] = []
    for call, given in enumerate(samples or [{}] * (1 if batched else CALLS)):
        own: dict[str, Payload] = dict(given)
        for place, (name, range) in enumerate(ranges.items()):
            if name not in given:
                slot = inputs[name]
                shape = slot.type.shape
                if batched:
                    shape = (_rows(given, CALLS * most), *shape[1:])
                own[name] = _drawn(slot, shape, range, (seed, call, place))
        filled.append(own)
    return filled


def _rows(given: Payloads, most: int) -> int:
    """Returns how many rows a sample has by what is given of it."""
    shapes = [np.shape(value) for value in given.values()]
    return int(shapes[0][0]) if shapes and shapes[0] else most


def _drawn(slot: Slot, shape: Shape, range: tuple[int, int], seed: Sequence[int]) -> Tensor:
    least, beyond = range
    words = np.random.PCG64([*seed]).random_raw(math.prod(shape)).astype(object)
    numbers = least + words % (beyond - least)
    return Tensor.wrap(numbers.astype(slot.type.element.dtype).reshape(shape), slot.type.element)


def _demand_range(name: str, range: Any, inputs: Mapping[str, Slot]) -> None:
    ends = range if isinstance(range, tuple | list) and len(range) == 2 else (0, 0)
    if [*map(type, ends)] != [int, int] or not ends[0] < ends[1]:
        needs = "a range is the least integer and the one after the greatest"
        raise ArgumentError(f"{needs}, got {range!r} for {name!r}")
    slot = inputs.get(name)
    dtype = None if slot is None else slot.type.element.dtype
    if slot is None or dtype is None or dtype.kind not in "iu":
        has = ", ".join(str(each) for each in inputs.values()) or "none"
        raise FeedError(f"a range is given for {name!r}, and the inputs are {has}")
    limits = np.iinfo(dtype)
    if not (limits.min <= ends[0] and ends[1] - 1 <= limits.max):
        raise FeedError(f"{slot} does not hold integers of {ends[0]} to {ends[1] - 1}")
