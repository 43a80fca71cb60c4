"""Descriptions: what a loaded bundle takes and returns, and the memory that its calls share."""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import ml_dtypes  # noqa: F401  # numpy knows bfloat16 and its like by name only once this is loaded
import msgspec
import numpy as np
import numpy.typing as npt

from topos.payload import Shape
from topos.serving.status import ModelPort


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

    One that is not batched has one program, and its calls no rows. `notes` tell what became of
    compiled forms.
    """

    name: str
    version: str
    batched: bool
    programs: tuple[ProgramForm, ...]
    notes: tuple[str, ...] = ()

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


Array = npt.NDArray[Any]

# Runtimes read arrays at such an address in place; a mapping itself begins at a page.
ALIGNMENT: Final = 64


class Arena:
    """One call's inputs and results for each program of a bundle, as views of one memory.

    A worker runs one call at a time, so that all programs share the bytes. Both sides of a worker
    lay it out from the same description.
    """

    def __init__(self, description: Description, memory: mmap.mmap) -> None:
        views = [_views(program, memory) for program in description.programs]
        self.inputs = [inputs for inputs, _ in views]
        self.results = [results for _, results in views]

    @staticmethod
    def size(description: Description) -> int:
        """Returns the bytes that the arena of `description` needs."""
        return max(_size(each.inputs) + _size(each.results) for each in description.programs) or 1


def _views(program: ProgramForm, memory: mmap.mmap) -> tuple[list[Array], list[Array]]:
    inputs = _arrays(program.inputs, memory, 0)
    return inputs, _arrays(program.results, memory, _size(program.inputs))


def _arrays(forms: Sequence[PortForm], memory: mmap.mmap, start: int) -> list[Array]:
    arrays = []
    for form in forms:
        data = np.frombuffer(memory, np.uint8, form.size, start)
        arrays.append(data.view(form.element).reshape(form.shape))
        start += _padded(form.size)
    return arrays


def _size(forms: Sequence[PortForm]) -> int:
    return sum(_padded(form.size) for form in forms)


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
