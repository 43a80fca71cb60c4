"""Schedules: a plan as a flat function over slots and a pool of arenas for its buffers."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import cached_property

import numpy as np

from topos.backend import computed, count, summed
from topos.engine.choices import Choices
from topos.engine.copies import Copies
from topos.engine.description import Memory
from topos.engine.liveness import releases
from topos.engine.lowering import lowered
from topos.engine.program import Program
from topos.engine.result_buffers import ResultBuffers
from topos.engine.source_text import Function, function_of, text_of
from topos.engine.steps import Step, steps_of
from topos.errors import ExecutionError
from topos.graph import Columns
from topos.op import Array, Leaf
from topos.payload import kernels
from topos.payload.kernels.clean import has_nan
from topos.payload.storage import row_major

_CACHE_LINE = 64


class Schedule:
    """The program of a plan, compiled once, and the oracle's rules for runs with a NaN.

    An exact program computes with numpy's own kernels, which give the oracle's bits as long as no
    value is a NaN; the hardware's invalid flag tells when one arises, and the run starts over with
    the rules that canonicalize. A fast program runs whatever the values are.

    A run takes an arena from the pool, or makes one, and returns it: any number of threads may run
    at once, and runs one after another reuse the same memory.
    """

    def __init__(
        self,
        columns: Columns,
        order: Sequence[int],
        kept: Sequence[int],
        choices: Choices,
        fused: dict[int, Step],
    ) -> None:
        self._columns, self._order, self._kept = columns, order, kept
        self._exact = choices.exact
        self.steps = steps_of(columns, order, kept, choices, fused)
        self.program: Program = lowered(columns, self.steps, kept)
        buffers = ResultBuffers(self.program.allocated)
        self._function: Function = function_of(self.program, {"empty": buffers.empty})
        self._services = summed(step.service for step in self.steps if step.service is not None)
        self.copies = Copies(columns)
        self._arenas: list[list[Array]] = []

    def run(self, payloads: Mapping[int, Array], clean: Container[int] = ()) -> list[Array]:
        """Returns the values of the nodes kept, in their order.

        `payloads` holds the array of each source that is no constant; those at the positions
        `clean` are known to hold no NaN.
        """
        kernels.subnormals.demand_subnormals()
        try:
            return self._exactly(payloads, clean) if self._exact else self._quickly(payloads)
        except ExecutionError:
            # A function of an element of the user's own failed: node by node it tells at which.
            self._carefully({**self._constants, **payloads})
            raise
        except MemoryError:
            raise ExecutionError("the run needs more memory than this machine has") from None

    def text(self) -> str:
        """Returns the program as the text of a Python function."""
        return text_of(self.program)

    def memory(self) -> Memory:
        """Returns what a run holds, in bytes."""
        program = self.program
        copied = self.copies.noted()
        return Memory(tuple(program.live), program.arena, tuple(program.beside), copied)

    def _quickly(self, payloads: Mapping[int, Array]) -> list[Array]:
        with np.errstate(all="ignore"):
            results = self._run(payloads)
        count(self._services)
        return results

    def _exactly(self, payloads: Mapping[int, Array], clean: Container[int]) -> list[Array]:
        reported = kernels.subnormals.reports_invalid_operations()
        unknown = (array for index, array in payloads.items() if index not in clean)
        if reported and not self._held_nan and not any(map(has_nan, unknown)):
            try:
                with kernels.clean.raising():
                    results = self._run(payloads)
            except FloatingPointError:
                pass
            else:
                count(self._services)
                return results
        return self._carefully({**self._constants, **payloads})

    def _run(self, payloads: Mapping[int, Array]) -> list[Array]:
        # The layouts of all views were decided for row-major sources.
        sources = [
            array if array.flags.c_contiguous else self._row_major(index, array)
            for index, array in ((at, payloads[at]) for at in self.program.sources.values())
        ]
        try:
            arena = self._arenas.pop()
        except IndexError:
            arena = self._arena()
        try:
            return list(self._function(sources, arena))
        finally:
            self._arenas.append(arena)

    def _row_major(self, index: int, array: Array) -> Array:
        self.copies.demand_layout(index, array)
        return row_major(array)

    def _arena(self) -> list[Array]:
        """Returns the buffers of the program over a new block, which they keep alive."""
        room = np.empty(self.program.arena + _CACHE_LINE, np.uint8)
        start = -room.ctypes.data % _CACHE_LINE
        block = room[start:]
        return [buffer.within(block) for buffer in self.program.buffers.values()]

    @cached_property
    def _constants(self) -> dict[int, Array]:
        pairs = ((index, self._columns.forms[index].operation) for index in self._order)
        return {
            index: operation.payload
            for index, operation in pairs
            if isinstance(operation, Leaf) and operation.payload is not None
        }

    @cached_property
    def _held_nan(self) -> bool:
        """Whether a constant holds a NaN."""
        return any(map(has_nan, self._constants.values()))

    def _carefully(self, values: dict[int, Array]) -> list[Array]:
        """Returns the values of the nodes kept, by the oracle, from `values` of the sources."""
        forms, operands = self._columns.forms, self._columns.operands
        for index, released in zip(self._order, self._released, strict=True):
            if operands[index]:
                arrays = [values[operand] for operand in operands[index]]
                form = forms[index]
                try:
                    values[index] = computed(form.operation, arrays, form.operands)
                except ExecutionError as error:
                    error.add_note(f"at {self._columns.title(index)}")
                    raise
                for operand in released:
                    del values[operand]
        return [values[index] for index in self._kept]

    @cached_property
    def _released(self) -> list[tuple[int, ...]]:
        return releases(self._columns, self._order, set(self._kept))
