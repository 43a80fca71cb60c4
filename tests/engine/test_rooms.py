"""Rooms: memory is given again where nothing refers to it, and never before."""

from __future__ import annotations

import numpy as np

from topos.engine.rooms import Rooms

SHAPE, DTYPE = (1 << 15,), np.dtype(np.float32)


def test_an_array_that_anybody_holds_is_not_given_again() -> None:
    rooms = Rooms([(SHAPE, DTYPE)] * 3)
    first = rooms.empty(SHAPE, DTYPE)
    view = first[3:].reshape(-1, 5)[::2].T
    address = first.ctypes.data
    del first
    second = rooms.empty(SHAPE, DTYPE)
    assert not np.may_share_memory(second, view)
    del view
    third = rooms.empty(SHAPE, DTYPE)
    assert third.ctypes.data == address
    assert not np.may_share_memory(second, third)


def test_only_as_many_as_two_runs_take_are_remembered() -> None:
    rooms = Rooms([(SHAPE, DTYPE)])
    held = [rooms.empty(SHAPE, DTYPE) for _ in range(6)]
    addresses = {array.ctypes.data for array in held}
    assert len(addresses) == 6
    assert [len(arrays) for arrays in rooms._arrays.values()] == [2]


def test_small_arrays_and_other_kinds_are_new() -> None:
    small = ((8,), DTYPE)
    rooms = Rooms([small])
    assert rooms._arrays == {}
    assert rooms.empty(*small).shape == (8,)
    assert rooms.empty((3, 2), np.dtype(np.int64)).dtype == np.int64
