"""Elementwise operations at home: all of them for a block of elements before the next block.

Each operation runs the kernel that it would have as a node, over parts of the same arrays, so that
every element has the same bits; those of several operands all take shapes that broadcast. What
lies between them has the length of a block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from topos.backend import Dispatch, Kernel
from topos.engine.catalog.elementwise import UNIT, Elementwise
from topos.engine.choices import Choice, Choices
from topos.op import Array
from topos.payload import Shape, TensorType, size

# The bytes of one block of every array together. Half as many lose a tenth to the calls.
_BYTES: Final = 1 << 21


class _Call(NamedTuple):
    """A kernel, where its operands lie among the values, and the room that it fills, if any.

    The rooms are the scratch and then the block of the result.
    """

    function: Callable[..., Array]
    places: tuple[int, ...]
    room: int | None


@dataclass(frozen=True, slots=True)
class Blocks:
    """The kernel over blocks of `step` elements, or rows where an operand repeats.

    It may write its result over the operands whose places are in `over`; where it does not, the
    block of the result serves as the room `spare`. Scratch belongs to a call of the kernel, so that
    many threads may be in it at once.
    """

    form: Elementwise
    result: np.dtype[Any]
    calls: tuple[_Call, ...]
    scratch: tuple[np.dtype[Any], ...]
    spare: int | None
    step: int
    over: tuple[int, ...]

    def __call__(self, *operands: Array, out: Array | None = None) -> Array:
        answer = np.empty(self.form.shape, self.result) if out is None else out
        grid, step = _grid(self.form), self.step
        flat = answer.reshape(grid)
        pairs = zip(operands, self.form.spreads, strict=True)
        wholes = [_laid(operand, spread, grid) for operand, spread in pairs]
        apart = any(np.may_share_memory(answer, operand) for operand in operands)
        spare = None if apart else self.spare
        rooms = [
            flat[:step] if room == spare else np.empty((step, *grid[1:]), dtype)
            for room, dtype in enumerate(self.scratch)
        ]
        for start in range(0, grid[0], step):
            target = flat[start : start + step]
            if len(target) < step:
                rooms = [room[: len(target)] for room in rooms]
            if spare is not None:
                rooms[spare] = target
            values = [whole[start : start + step] if whole.ndim else whole for whole in wholes]
            self._fill(values, [*rooms, target])
        return answer

    def _fill(self, values: list[Array], rooms: Sequence[Array]) -> None:
        """Computes one block from the parts `values` of the operands, the result in the last."""
        for function, places, room in self.calls:
            arguments = [values[place] for place in places]
            if room is None:
                values.append(function(*arguments))
            else:
                function(*arguments, out=rooms[room])
                values.append(rooms[room])
        if self.calls[-1].room is None:
            np.copyto(rooms[-1], values[-1])


def home(form: Elementwise, types: Sequence[TensorType], choices: Choices) -> Blocks | str:
    """Returns the kernel; where a device computes a map, the nodes are left to it."""
    forms = {call.form for call in form.calls}
    chosen = {each: choices.of(each.operation, each.operands) for each in forms}
    if any(map(_is_remote, chosen.values())):
        return "a device computes one of its maps"
    kernels = [chosen[call.form].kernel for call in form.calls]
    calls, scratch = _called(form, kernels)
    result = form.calls[-1].form.type.element.dtype
    spare = _spare(form, kernels[-1], calls, scratch)
    pairs = zip(types, form.spreads, strict=True)
    dtypes = [type.element.dtype for type, spread in pairs if spread == "whole"]
    dtypes += [dtype for room, dtype in enumerate((*scratch, result)) if room != spare]
    step = _step(form, sum(dtype.itemsize for dtype in dtypes))
    return Blocks(form, result, calls, scratch, spare, step, _over(form, kernels[-1]))


def _is_remote(chosen: Choice) -> bool:
    service = chosen.service
    if service is None or service.backend is None:
        return False
    return service.backend.coverage(service.formula).dispatch is Dispatch.DEVICE


def _called(
    form: Elementwise, kernels: Sequence[Kernel]
) -> tuple[tuple[_Call, ...], tuple[np.dtype[Any], ...]]:
    """Returns the calls and the scratch that they fill."""
    deaths = {place: i for i, call in enumerate(form.calls) for place in call.places}
    scratch, calls = _Scratch(), []
    for i, (call, kernel) in enumerate(zip(form.calls, kernels, strict=True)):
        dying = [place for place in dict.fromkeys(call.places) if deaths[place] == i]
        room = None
        if kernel.writes and i + 1 < len(kernels):
            over = [place for place in dying if _may_overwrite(kernel, call.places, place)]
            room = scratch.taken(len(form.spreads) + i, call.form.type.element.dtype, over)
        calls.append(_Call(kernel.function, call.places, room))
        scratch.give_back(dying)
    if kernels[-1].writes:
        calls[-1] = calls[-1]._replace(room=len(scratch.dtypes))
    return tuple(calls), tuple(scratch.dtypes)


class _Scratch:
    """The rooms of the values alive, each taken again after the last reader of what it holds."""

    def __init__(self) -> None:
        self.dtypes: list[np.dtype[Any]] = []
        self._held: dict[int, int] = {}
        self._free: dict[np.dtype[Any], list[int]] = {}

    def taken(self, place: int, dtype: np.dtype[Any], over: Sequence[int]) -> int:
        """Returns the room of the value at `place`: that of one of `over`, a free or a new one."""
        free = self._free.setdefault(dtype, [])
        held = [each for each in over if each in self._held]
        early = [each for each in held if self.dtypes[self._held[each]] == dtype]
        if early:
            free.append(self._held.pop(early[0]))
        elif not free:
            free.append(len(self.dtypes))
            self.dtypes.append(dtype)
        self._held[place] = free.pop()
        return self._held[place]

    def give_back(self, places: Sequence[int]) -> None:
        """Frees the rooms of the values at `places`, where they have any."""
        for room in [self._held.pop(place) for place in places if place in self._held]:
            self._free.setdefault(self.dtypes[room], []).append(room)


def _may_overwrite(kernel: Kernel, places: Sequence[int], place: int) -> bool:
    """Returns whether a result may be written over the operand at `place`, one of `places`."""
    once = places.count(place) == 1 or isinstance(kernel.function, np.ufunc)
    return once and places.index(place) in kernel.over


def _spare(
    form: Elementwise, kernel: Kernel, calls: Sequence[_Call], scratch: Sequence[np.dtype[Any]]
) -> int | None:
    """Returns a room that `kernel`, the last, may read while it fills the block of the result."""
    places, operands = calls[-1].places, len(form.spreads)
    read = {calls[place - operands].room: place for place in places if place >= operands}
    for room, dtype in enumerate(scratch):
        safe = room not in read or _may_overwrite(kernel, places, read[room])
        if dtype == form.calls[-1].form.type.element.dtype and (safe or not kernel.writes):
            return room
    return None


def _over(form: Elementwise, kernel: Kernel) -> tuple[int, ...]:
    """Returns the operands of which no part is read after that part of the result is written.

    `kernel` is the last, the only one that writes the result; if it does not, that is copied.
    """
    places = form.calls[-1].places
    return tuple(
        place
        for place, spread in enumerate(form.spreads)
        if spread == "whole"
        and (place not in places or not kernel.writes or _may_overwrite(kernel, places, place))
    )


def _grid(form: Elementwise) -> Shape:
    """Returns the shape in which the leading axis is cut into blocks."""
    elements = size(form.shape)
    return (elements // form.columns, form.columns) if form.columns else (elements,)


def _laid(operand: Array, spread: str, grid: Shape) -> Array:
    """Returns `operand` over `grid`; a number without axes."""
    match spread:
        case "row":
            return np.broadcast_to(operand.reshape(grid[1:]), grid)
        case "column":
            return np.broadcast_to(operand.reshape(grid[0], 1), grid)
        case "number":
            return operand.reshape(-1)[:1].reshape(())
    return operand.reshape(grid)


def _step(form: Elementwise, width: int) -> int:
    """Returns how many elements or rows a block has, of arrays `width` bytes an element wide."""
    columns = form.columns or 1
    unit = UNIT // math.gcd(UNIT, columns)
    return max(_BYTES // (width * columns) // unit, 1) * unit
