"""Schedules: a plan's nodes as steps over slots, with releases that are really executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from topos.engine.liveness import releases
from topos.errors import ExecutionError
from topos.graph import Columns, Form
from topos.op import Array
from topos.payload import kernels

__all__ = ["Schedule", "Step"]


class Step(NamedTuple):
    """One evaluation: `slots[target] = kernel(*slots[operands])`, then `released` are dropped."""

    kernel: Callable[..., Array]
    operands: tuple[int, ...]
    target: int
    released: tuple[int, ...]


class Schedule:
    """The steps of a plan, in two spellings that give the same bits.

    The clean steps run numpy's ufuncs and hold as long as no value is a NaN; the hardware's
    invalid flag tells when one arises, and the run starts over with the canonicalizing steps.
    Slots are local to a run, so one schedule serves any number of threads.
    """

    def __init__(self, columns: Columns, order: Sequence[int], kept: set[int]) -> None:
        local = {index: slot for slot, index in enumerate(order)}
        freed = releases(columns, order, kept)
        specialized: dict[Form, Callable[..., Array]] = {}
        self.clean: list[Step] = []
        self.careful: list[Step] = []
        for index, dead in zip(order, freed, strict=True):
            operands = columns.operands[index]
            if not operands:
                continue
            form = columns.forms[index]
            if form not in specialized:
                specialized[form] = form.operation.specialize(*form.operands)
            slots = tuple([local[operand] for operand in operands])
            released = tuple([local[operand] for operand in dead])
            target = local[index]
            self.clean.append(Step(specialized[form], slots, target, released))
            self.careful.append(Step(form.operation.compute, slots, target, released))
        self._size = len(order)
        self._local = local

    def run(self, payloads: Mapping[int, Array], results: Sequence[int]) -> list[Array]:
        """Returns the values of the nodes `results`, given the array of every source."""
        kernels.subnormals.demand_subnormals()
        try:
            return self._run(payloads, results)
        except MemoryError:
            raise ExecutionError("the run needs more memory than this machine has") from None

    def _run(self, payloads: Mapping[int, Array], results: Sequence[int]) -> list[Array]:
        slots: list[Array | None] = [None] * self._size
        for index, array in payloads.items():
            slots[self._local[index]] = array
        wanted = [self._local[index] for index in results]
        clean = kernels.subnormals.reports_invalid_operations()
        if clean and not any(map(kernels.clean.has_nan, payloads.values())):
            try:
                with kernels.clean.raising():
                    return _execute(self.clean, slots.copy(), wanted)
            except FloatingPointError:
                pass
        return _execute(self.careful, slots, wanted)


def _execute(
    steps: Sequence[Step], slots: list[Array | None], wanted: Sequence[int]
) -> list[Array]:
    for kernel, operands, target, released in steps:
        if len(operands) == 2:
            left, right = operands
            slots[target] = kernel(slots[left], slots[right])
        else:
            slots[target] = kernel(*[slots[operand] for operand in operands])
        for slot in released:
            slots[slot] = None
    return [slots[slot] for slot in wanted]  # type: ignore[misc]  # Every result is filled.
