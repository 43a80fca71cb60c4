"""Rows: whether those of one call leave each other's results alone, to the bit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from topos.bundle.sample import Inputs, drawn
from topos.bundle.subject import Subject
from topos.bundle.walk import evaluated
from topos.errors import BundleError
from topos.payload import DIFFERENTIABLE
from topos.reading import Tensor

__all__ = ["Answers", "demand_independent", "demand_known"]

Answers = dict[int, dict[str, bytes]]
"""The bits of each result for a row of the pool, by its place there."""


def demand_independent(
    subject: Subject, inputs: Inputs, answered: Mapping[str, Tensor], seed: int
) -> None:
    """Raises `BundleError` where another first or last row changes the result of any other row."""
    rows = next(iter(answered.values())).shape[0]
    for changed in sorted({0, rows - 1}) if rows > 1 else ():
        again = evaluated(subject, _with_another(inputs, changed, seed))
        for name, before in answered.items():
            for row in range(rows):
                if row != changed and _row(before, row) != _row(again[name], row):
                    raise BundleError(
                        "a batched bundle needs rows that leave each other alone, and row"
                        f" {changed} of the inputs changes row {row} of {name!r}"
                    )


def demand_known(
    answers: Answers, rows: Mapping[int, int], answered: Mapping[str, Tensor], program: str
) -> None:
    """Holds the rows of a call against those of earlier programs, and adds them to `answers`.

    `rows` maps rows of the call to their places in the pool. Raises `BundleError` where they
    differ: then the programs are not one function at several numbers of rows.
    """
    for row, place in rows.items():
        own = {name: _row(result, row) for name, result in answered.items()}
        known = answers.setdefault(place, own)
        for name in own:
            if known[name] != own[name]:
                raise BundleError(
                    f"the plans need to be one function at several numbers of rows, and {program}"
                    f" answers another {name!r} for the same row"
                )


def _with_another(inputs: Inputs, row: int, seed: int) -> Inputs:
    """Returns inputs with one row replaced: floats by drawn ones, others by another row's."""
    replaced = {}
    for place, (name, value) in enumerate(inputs.items()):
        array = np.array(value.numpy())
        if value.element in DIFFERENTIABLE:
            one = value.type._replace(shape=value.shape[1:])
            array[row] = drawn(one, (seed, row, place, 1), name).numpy()
        else:
            array[row] = array[(row + 1) % len(array)]
        replaced[name] = Tensor.wrap(array, value.element)
    return replaced


def _row(value: Tensor, row: int) -> bytes:
    bits: bytes = value.numpy()[row].tobytes()
    return bits
