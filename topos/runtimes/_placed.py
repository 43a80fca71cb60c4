"""Arrays that a runtime holds between calls, and when one may be held without a copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from topos.errors import ArgumentError
from topos.payload import storage
from topos.payload.storage import ALIGNMENT
from topos.runtimes._signature import ArrayType, ModuleSignature, fits, fitting

Array = npt.NDArray[Any]

HOST: Final = "the host"


class Placed:
    """An array that a runtime holds: bind it to any number of that runtime's executables.

    `type` is its shape and dtype, `place` says where it lies; what is held belongs to the runtime.
    """

    __slots__ = ("held", "place", "type")

    def __init__(self, type: ArrayType, place: str, held: Any) -> None:
        self.type, self.place, self.held = type, place, held

    def __repr__(self) -> str:
        return f"Placed({self.type} on {self.place})"


def aligned(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """Returns an uninitialized C-contiguous array at a multiple of 64 bytes.

    Fill it, then set `flags.writeable = False` on it and on its `base`: a runtime takes such an
    array over without a copy. Raises `ArgumentError` for extents or elements that no numpy array
    has, and for elements that are Python's objects.
    """
    try:
        extents, element = tuple(map(index, shape)), np.dtype(dtype)
        if min(extents, default=0) < 0:
            raise ValueError("an extent is negative")
        return storage.aligned(extents, element)
    # numpy refuses what it cannot hold in many ways, a view of objects among them.
    except (TypeError, ValueError, OverflowError) as error:
        got = f"{shape!r} of {dtype!r}"
        raise ArgumentError(f"aligned needs a shape and a dtype, got {got}: {error}") from error


def owned(array: Array) -> Array:
    """Returns the elements of `array`, aligned, read-only, and where no caller writes.

    That is `array` itself where it is aligned and C-contiguous and neither it nor an array that
    it views is writable, and otherwise a copy.
    """
    in_place = array.flags.c_contiguous and array.ctypes.data % ALIGNMENT == 0
    if in_place and _is_immutable(array):
        return array
    copy = aligned(array.shape, array.dtype)
    copy[...] = array
    copy.flags.writeable = False
    return copy


def placed_on_host(argument: npt.ArrayLike) -> Placed:
    """Returns `argument` held in this process's memory; raises `ArgumentError` for no array."""
    try:
        array = owned(np.asarray(argument))
    # An argument's own `__array__` may raise anything.
    except Exception as error:
        kind = type(argument).__name__
        raise ArgumentError(f"place needs an array, got {kind}: {error}") from error
    return Placed(ArrayType(array.shape, array.dtype), HOST, array)


def residents(
    signature: ModuleSignature,
    resident: Mapping[int, npt.ArrayLike | Placed],
    place: Callable[[Array], Placed],
    where: str | None,
) -> dict[int, Placed]:
    """Returns the arguments to bind, held `where` by `place` unless they are placed already.

    Without a `where` they may lie anywhere.

    Raises `ArgumentError` for what is no mapping, a position that is none, a type that does not
    fit, or an array that another runtime or device holds.
    """
    if not isinstance(resident, Mapping):
        raise ArgumentError(f"bind needs a mapping of positions to arrays, got {resident!r}")
    held = {}
    for position, given in resident.items():
        wanted = _type_at(signature, position)
        if not isinstance(given, Placed):
            given = place(fitting(position, given, wanted))
        if not fits(given.type, wanted):
            raise ArgumentError(f"argument {position} must be {wanted}, got {given.type}")
        if where is not None and given.place != where:
            raise ArgumentError(f"argument {position} must lie on {where}, got {given!r}")
        held[position] = given
    return held


def _type_at(signature: ModuleSignature, position: object) -> ArrayType:
    count = len(signature.arguments)
    if type(position) is not int or not 0 <= position < count:
        raise ArgumentError(f"bind needs argument positions below {count}, got {position!r}")
    return signature.arguments[position]


def _is_immutable(array: Array) -> bool:
    """Returns whether no array over this memory is writable; a foreign owner but bytes may be."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return owner is None or type(owner) is bytes
