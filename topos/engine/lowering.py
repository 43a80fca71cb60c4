"""Lowering: steps become instructions over slots, each value's storage decided beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topos.backend import Kernel
from topos.engine.catalog.view import is_splat
from topos.engine.layout import Allocator, Layout, dense, viewed
from topos.engine.liveness import Sharing, sharing_of
from topos.engine.program import Buffer, Instruction, Names, Program
from topos.engine.steps import Step
from topos.graph import Columns
from topos.op import Array, Leaf
from topos.payload import Shape, TensorType, size

# A constant of so many bytes is filled out where that is faster than to repeat one number.
_FILLED = 1 << 16


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
    splats: dict[int, Array] = field(default_factory=dict)
    numbers: dict[tuple[int, bool], str] = field(default_factory=dict)
    storages: dict[int, Storage] = field(default_factory=dict)
    placed: dict[tuple[str | int, int], tuple[str, Layout]] = field(default_factory=dict)
    allocator: Allocator = field(default_factory=Allocator)
    names: Names = field(default_factory=Names)
    instructions: list[Instruction] = field(default_factory=list)
    sources: dict[str, int] = field(default_factory=dict)
    allocated: list[tuple[Shape, np.dtype[Any]]] = field(default_factory=list)
    reused: dict[int, int] = field(default_factory=dict)
    live: list[int] = field(default_factory=list)
    beside: list[int] = field(default_factory=list)
    held: int = 0
    outside: int = 0
    dying: dict[int, list[Storage]] = field(default_factory=dict)
    passing: dict[int, list[tuple[str, int]]] = field(default_factory=dict)

    def add(self, position: int, step: Step) -> None:
        """Emits `step`, then frees what nobody reads after it."""
        if not step.operands:
            self.values[step.targets[0]] = self._source(step.targets[0])
        elif step.kernel is None:
            self.values[step.targets[0]] = self._view(step)
        else:
            self._call(step)
        self._release(position)

    def program(self, wanted: list[int]) -> Program:
        """Returns what was emitted, answering the nodes `wanted`."""
        names = self.names
        return Program(
            self.instructions,
            names.functions,
            names.constants,
            names.literals,
            names.buffers,
            self.allocator.size,
            self.sources,
            {node: self.values[node].slot for node in wanted},
            self.allocated,
            self.reused,
            self.live,
            self.beside,
        )

    def _source(self, index: int) -> Value:
        form = self.columns.forms[index]
        if isinstance(form.operation, Leaf):
            payload = form.operation.payload
            assert payload is not None
            if is_splat(payload):
                self.splats[index] = payload
            return Value(self.names.constant(payload))
        name = f"s{len(self.sources)}"
        self.sources[name] = index
        # A run brings every source row-major.
        layout = dense(form.type.shape, form.type.element.dtype.itemsize)
        return Value(name, Storage(name, 0, 0, len(self.steps)), layout)

    def _view(self, step: Step) -> Value:
        """Returns the result of a view: at once where the operand is static, else by a call."""
        (index,), (operand,) = step.targets, step.operands
        value, form = self.values[operand], self.columns.forms[index]
        dtype = form.type.element.dtype
        constant = self.names.constants.get(value.slot)
        if constant is not None:
            return Value(self.names.constant(form.operation.compute(constant)))
        if value.storage is None or value.layout is None or not _has_buffer(form.type):
            return self._loose_view(step, value)
        layout = viewed(form.operation, value.layout, dtype.itemsize)
        if layout is None:
            return self._copied(step, value)
        if value.storage.name is None:
            return Value(self.names.buffer(Buffer(layout, dtype)), value.storage, layout)
        slot, literal = self.names.numbered("v"), self.names.literal
        base = (value.storage.name, literal(layout.offset), literal(layout.strides))
        arguments = (literal(layout.shape), self.names.dtype(dtype), *base)
        self._emit(self.names.plain(np.ndarray), arguments, None, (slot,), step)
        self._pass(slot, self.sharing.deaths[self.sharing.roots[index]], 0)
        return Value(slot, value.storage, layout)

    def _loose_view(self, step: Step, value: Value) -> Value:
        (index,) = step.targets
        operation, slot = self.columns.forms[index].operation, self.names.numbered("v")
        function = self.names.function(operation.compute, operation.name)
        self._emit(function, (value.slot,), None, (slot,), step)
        self._pass(slot, self.sharing.deaths[self.sharing.roots[index]], 0)
        return Value(slot)

    def _copied(self, step: Step, value: Value) -> Value:
        """Returns the value under another shape, which no view has, as a copy."""
        (index,) = step.targets
        type = self.columns.forms[index].type
        death = self.sharing.deaths[self.sharing.roots[index]]
        storage = self._allocated(index, death)
        out = self._placed(index, storage)
        function = self.names.function(_copy_reshaped, "reshape")
        self._emit(function, (value.slot,), out.slot, (), step)
        assert out.layout == dense(type.shape, type.element.dtype.itemsize)._replace(
            offset=storage.offset
        )
        return out

    def _call(self, step: Step) -> None:
        kernel = step.kernel
        assert kernel is not None
        values, splats = self.values, self.splats
        if kernel.broadcasts and splats:
            arguments = tuple(
                [
                    self._number(operand, kernel) if operand in splats else values[operand].slot
                    for operand in step.operands
                ]
            )
        else:
            arguments = tuple([values[operand].slot for operand in step.operands])
        function = self.names.function(kernel.function, step.name)
        if not kernel.writes:
            self._loose(step, function, arguments)
            return
        (index,) = step.targets
        line = self.sharing.line(index)
        if line not in self.storages:
            self.storages[line] = self._allocated(line, self.sharing.deaths[line])
        else:
            heirs = self.sharing.heirs
            self.reused[index] = next(each for each in step.operands if heirs.get(each) == line)
        out = self._placed(index, self.storages[line])
        self._emit(function, arguments, out.slot, (), step)
        self.values[index] = out

    def _number(self, operand: int, kernel: Kernel) -> str:
        """Returns the constant that fills `operand`: alone, or filled out for an even kernel."""
        payload = self.splats[operand]
        filled = kernel.even and payload.nbytes <= _FILLED
        if (operand, filled) not in self.numbers:
            number = np.asarray(payload.reshape(-1)[0])
            # Not ascontiguousarray, which makes a scalar an array of one axis.
            array = np.array(payload, order="C") if filled else number
            self.numbers[operand, filled] = self.names.constant(array)
        return self.numbers[operand, filled]

    def _loose(self, step: Step, function: str, arguments: tuple[str, ...]) -> None:
        slots = tuple([self.names.numbered("v") for _ in step.targets])
        for target, slot in zip(step.targets, slots, strict=True):
            self.values[target] = Value(slot)
            length = self._bytes(target)
            self._pass(slot, self.sharing.deaths[self.sharing.roots[target]], length)
            self.held += length
            self.outside += length
        self._emit(function, arguments, None, slots, step)

    def _allocated(self, index: int, death: int) -> Storage:
        """Returns new storage for the node `index`: a fresh array where a run answers it."""
        type, length = self.columns.forms[index].type, self._bytes(index)
        self.held += length
        if death < len(self.steps):
            storage = Storage(None, self.allocator.allocate(length), length, death)
        else:
            self.outside += length
            name = self.names.numbered("r")
            storage = Storage(name, 0, length, death)
            arguments = (self.names.literal(type.shape), self.names.dtype(type.element.dtype))
            self.allocated.append((type.shape, type.element.dtype))
            call = Instruction(self.names.plain(np.empty), arguments, None, (name,), (), ())
            self._append(call)
        self.dying.setdefault(death, []).append(storage)
        return storage

    def _placed(self, index: int, storage: Storage) -> Value:
        """Returns the node `index`, row-major at the start of `storage`."""
        type = self.columns.forms[index].type
        # A form has one object for its type, and hashing what it holds takes longer.
        key = storage.name or storage.offset, id(type)
        if key not in self.placed:
            layout = dense(type.shape, type.element.dtype.itemsize)._replace(offset=storage.offset)
            slot = storage.name or self.names.buffer(Buffer(layout, type.element.dtype))
            self.placed[key] = slot, layout
        slot, layout = self.placed[key]
        return Value(slot, storage, layout)

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
        freed = sum(length for _, length in gone)
        self.held -= freed
        self.outside -= freed
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
        self._append(Instruction(function, arguments, out, targets, (), step.targets))

    def _append(self, instruction: Instruction) -> None:
        self.instructions.append(instruction)
        self.live.append(self.held)
        self.beside.append(self.outside)

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
