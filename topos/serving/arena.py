"""Arenas: the memory through which the arrays of a call reach a worker and its results return."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.serving.description import Description, PortForm, ProgramForm

__all__ = ["Arena"]

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
