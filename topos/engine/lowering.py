"""Lowering: steps become instructions over slots, each value's storage decided beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from topos.engine.arena import Allocator
from topos.engine.layout import Layout, dense, viewed
from topos.engine.names import Names
from topos.engine.program import Buffer, Instruction, Program
from topos.engine.sharing import Sharing, sharing_of
from topos.engine.steps import Step, splat
from topos.graph import Columns
from topos.op import Array, Leaf
from topos.payload import TensorType, size

__all__ = ["lowered"]


@dataclass(slots=True)
class Storage:
    """Where values lie: under `name` a source or a fresh array, or a stretch of the arena."""

    name: str | None
    offset: int
    length: int
    death: int


@dataclass(slots=True)
class Value:
    """A node at run time: the slot that holds it, and its storage and layout where both are known.

    A value without a storage is whatever array a kernel answered, or a constant.
    """

    slot: str
    storage: Storage | None = None
    layout: Layout | None = None


def lowered(columns: Columns, steps: Sequence[Step], kept: Iterable[int]) -> Program:
    """Returns the program of `steps`, which answers the nodes `kept`."""
    wanted = list(kept)
    lowering = _Lowering(columns, steps, sharing_of(columns, steps, wanted))
    for position, step in enumerate(steps):
        lowering.add(position, step)
    return lowering.program(wanted)


@dataclass(slots=True)
class _Lowering:
    """The walk over the steps: what it has emitted, and what is alive."""

    columns: Columns
    steps: Sequence[Step]
    sharing: Sharing
    values: dict[int, Value] = field(default_factory=dict)
    storages: dict[int, Storage] = field(default_factory=dict)
    allocator: Allocator = field(default_factory=Allocator)
    names: Names = field(default_factory=Names)
    instructions: list[Instruction] = field(default_factory=list)
    sources: dict[str, int] = field(default_factory=dict)
    live: list[int] = field(default_factory=list)
    held: int = 0
    dying: dict[int, list[Storage]] = field(default_factory=dict)
    passing: dict[int, list[tuple[str, int]]] = field(default_factory=dict)

    def add(self, position: int, step: Step) -> None:
        """Emits `step`, then frees what nobody reads after it."""
        if not step.operands:
            self.values[step.targets[0]] = self._source(step.targets[0])
        elif step.kernel is None:
            self.values[step.targets[0]] = self._view(position, step)
        else:
            self._call(position, step)
        self._release(position)

    def program(self, wanted: list[int]) -> Program:
        """Returns what was emitted, answering the nodes `wanted`."""
        names = self.names
        return Program(
            self.instructions,
            names.functions,
            names.constants,
            names.buffers,
            self.allocator.size,
            self.sources,
            {node: self.values[node].slot for node in wanted},
            self.live,
        )

    def _source(self, index: int) -> Value:
        form = self.columns.forms[index]
        if isinstance(form.operation, Leaf):
            assert form.operation.payload is not None
            return Value(self.names.constant(form.operation.payload))
        name = f"s{len(self.sources)}"
        self.sources[name] = index
        # A run brings every source row-major.
        layout = dense(form.type.shape, form.type.element.dtype.itemsize)
        return Value(name, Storage(name, 0, 0, len(self.steps)), layout)

    def _view(self, position: int, step: Step) -> Value:
        """Returns the result of a view: at once where the operand is static, else by a call."""
        (index,), (operand,) = step.targets, step.operands
        value, form = self.values[operand], self.columns.forms[index]
        dtype = form.type.element.dtype
        if value.slot in self.names.constants:
            return Value(self.names.constant(form.operation.compute(self.names.constants[value.slot])))
        if value.storage is None or value.layout is None or not _has_buffer(form.type):
            return self._loose_view(position, step, value)
        layout = viewed(form.operation, value.layout, dtype.itemsize)
        if layout is None:
            return self._copied(position, step, value)
        if value.storage.name is None:
            return Value(self.names.buffer(Buffer(layout, dtype)), value.storage, layout)
        slot = f"v{index}"
        base = (value.storage.name, str(layout.offset), str(layout.strides))
        arguments = (str(layout.shape), self.names.dtype(dtype), *base)
        self._emit(self.names.plain(np.ndarray), arguments, None, (slot,), step)
        self._pass(slot, self.sharing.deaths[self.sharing.roots[index]], 0)
        return Value(slot, value.storage, layout)

    def _loose_view(self, position: int, step: Step, value: Value) -> Value:
        (index,) = step.targets
        operation, slot = self.columns.forms[index].operation, f"v{index}"
        function = self.names.function(operation.compute, operation.name)
        self._emit(function, (value.slot,), None, (slot,), step)
        self._pass(slot, self.sharing.deaths[self.sharing.roots[index]], 0)
        return Value(slot)

    def _copied(self, position: int, step: Step, value: Value) -> Value:
        """Returns the value under another shape, which no view has, as a copy."""
        (index,) = step.targets
        type = self.columns.forms[index].type
        death = self.sharing.deaths[self.sharing.roots[index]]
        storage = self._allocated(index, position, death)
        out = self._placed(index, storage)
        function = self.names.function(_copy_reshaped, "reshape")
        self._emit(function, (value.slot,), out.slot, (), step)
        assert out.layout == dense(type.shape, type.element.dtype.itemsize)._replace(
            offset=storage.offset
        )
        return out

    def _call(self, position: int, step: Step) -> None:
        kernel = step.kernel
        assert kernel is not None
        arguments = tuple([self._argument(operand, kernel.broadcasts) for operand in step.operands])
        name = self.columns.forms[step.targets[0]].operation.name
        if not kernel.writes:
            self._loose(position, step, self.names.function(kernel.function, name), arguments)
            return
        (index,) = step.targets
        line = self.sharing.line(index)
        if line not in self.storages:
            self.storages[line] = self._allocated(line, position, self.sharing.deaths[line])
        out = self._placed(index, self.storages[line])
        self._emit(self.names.function(kernel.function, name), arguments, out.slot, (), step)
        self.values[index] = out

    def _loose(
        self, position: int, step: Step, function: str, arguments: tuple[str, ...]
    ) -> None:
        slots = tuple([f"v{target}" for target in step.targets])
        for target, slot in zip(step.targets, slots, strict=True):
            self.values[target] = Value(slot)
            length = self._bytes(target)
            self._pass(slot, self.sharing.deaths[self.sharing.roots[target]], length)
            self.held += length
        self._emit(function, arguments, None, slots, step)

    def _argument(self, operand: int, broadcasts: bool) -> str:
        if broadcasts and (leaf := splat(self.columns, operand)) is not None:
            assert leaf.payload is not None
            return self.names.constant(leaf.payload.reshape(-1)[0].reshape(()))
        return self.values[operand].slot

    def _allocated(self, index: int, position: int, death: int) -> Storage:
        """Returns new storage for the node `index`: a fresh array where a run answers it."""
        type, length = self.columns.forms[index].type, self._bytes(index)
        self.held += length
        if death < len(self.steps):
            storage = Storage(None, self.allocator.allocate(length), length, death)
        else:
            storage = Storage(f"r{index}", 0, length, death)
            arguments = (str(type.shape), self.names.dtype(type.element.dtype))
            call = Instruction(self.names.plain(np.empty), arguments, None, (f"r{index}",), (), "")
            self.instructions.append(call)
            self.live.append(self.held)
        self.dying.setdefault(death, []).append(storage)
        return storage

    def _placed(self, index: int, storage: Storage) -> Value:
        """Returns the node `index`, row-major at the start of `storage`."""
        type = self.columns.forms[index].type
        layout = dense(type.shape, type.element.dtype.itemsize)._replace(offset=storage.offset)
        if storage.name is not None:
            return Value(storage.name, storage, layout)
        return Value(self.names.buffer(Buffer(layout, type.element.dtype)), storage, layout)

    def _pass(self, slot: str, death: int, length: int) -> None:
        self.passing.setdefault(death, []).append((slot, length))

    def _release(self, position: int) -> None:
        for storage in self.dying.pop(position, ()):
            self.held -= storage.length
            if storage.name is None:
                self.allocator.free(storage.offset, storage.length)
        gone = self.passing.pop(position, ())
        if not gone:
            return
        self.held -= sum(length for _, length in gone)
        last = self.instructions[-1]
        released = (*last.released, *(slot for slot, _ in gone))
        self.instructions[-1] = last._replace(released=released)

    def _emit(
        self,
        function: str,
        arguments: tuple[str, ...],
        out: str | None,
        targets: tuple[str, ...],
        step: Step,
    ) -> None:
        note = " ".join([f"%{target}" for target in step.targets])
        self.instructions.append(Instruction(function, arguments, out, targets, (), note))
        self.live.append(self.held)

    def _bytes(self, index: int) -> int:
        type = self.columns.forms[index].type
        return size(type.shape) * type.element.dtype.itemsize


def _has_buffer(type: TensorType) -> bool:
    """Returns whether a view of such a value can be made of any array: numpy knows its dtype."""
    return type.element.dtype.isbuiltin == 1 and 0 not in type.shape


def _copy_reshaped(array: Array, *, out: Array) -> Array:
    """Fills `out` with the elements of `array` in row-major order."""
    np.copyto(out.reshape(array.shape), array)
    return out
