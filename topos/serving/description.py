"""Descriptions: what a loaded bundle takes and answers, as its worker tells it."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import Any

import ml_dtypes  # noqa: F401  # numpy knows bfloat16 and its like by name only once this is loaded
import msgspec
import numpy as np

from topos.payload import Shape
from topos.serving.status import ModelPort

__all__ = ["Description", "PortForm", "ProgramForm"]


class PortForm(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """A named array of one program, rows included; `dtype` is numpy's name of it."""

    name: str
    shape: Shape
    dtype: str

    @cached_property
    def element(self) -> np.dtype[Any]:
        """The numpy dtype."""
        return np.dtype(self.dtype)

    @cached_property
    def size(self) -> int:
        """The bytes of the array."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.element.itemsize


class ProgramForm(msgspec.Struct, frozen=True, array_like=True):
    """What one call of a program takes and answers; `rows` is None where it has none."""

    rows: int | None
    inputs: tuple[PortForm, ...]
    results: tuple[PortForm, ...]


class Description(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """A bundle's programs, ascending by rows; `batched` where rows don't influence each other.

    One that is not batched has one program, and its calls no rows.
    """

    name: str
    version: str
    batched: bool
    programs: tuple[ProgramForm, ...]

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The declared batch sizes, ascending."""
        return tuple(each.rows for each in self.programs if each.rows is not None)

    @cached_property
    def largest(self) -> int:
        """The most rows of one call; one where calls have no rows of their own."""
        return self.rows[-1] if self.batched else 1

    @cached_property
    def inputs(self) -> tuple[ModelPort, ...]:
        """What a request brings, in order; shapes are those of one row where batched."""
        return self._ports(self.programs[0].inputs)

    @cached_property
    def results(self) -> tuple[ModelPort, ...]:
        """What an answer holds, in order; shapes are those of one row where batched."""
        return self._ports(self.programs[0].results)

    @cached_property
    def result_names(self) -> tuple[str, ...]:
        """The names of the results, in order."""
        return tuple(each.name for each in self.programs[0].results)

    def smallest(self, rows: int) -> int:
        """Returns the position of the smallest program that takes `rows` rows."""
        return bisect_left(self.rows, rows) if self.batched else 0

    def serves_as(self, other: Description) -> bool:
        """Returns whether requests admitted for `other` may be answered by this one."""
        same = (self.name, self.batched, self.programs)
        return same == (other.name, other.batched, other.programs)

    def _ports(self, forms: tuple[PortForm, ...]) -> tuple[ModelPort, ...]:
        first = 1 if self.batched else 0
        return tuple(ModelPort(each.name, each.shape[first:], each.element) for each in forms)
