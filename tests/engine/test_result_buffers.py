"""Result buffers: memory is given again where nothing refers to it, and never before."""

from __future__ import annotations

import numpy as np

from topos.engine.result_buffers import ResultBuffers

SHAPE, DTYPE = (1 << 15,), np.dtype(np.float32)


def test_an_array_that_anybody_holds_is_not_given_again() -> None:
    buffers = ResultBuffers([(SHAPE, DTYPE)] * 3)
    first = buffers.empty(SHAPE, DTYPE)
    view = first[3:].reshape(-1, 5)[::2].T
    address = first.ctypes.data
    del first
    second = buffers.empty(SHAPE, DTYPE)
    assert not np.may_share_memory(second, view)
    del view
    third = buffers.empty(SHAPE, DTYPE)
    assert third.ctypes.data == address
    assert not np.may_share_memory(second, third)


def test_only_as_many_as_two_runs_take_are_remembered() -> None:
    buffers = ResultBuffers([(SHAPE, DTYPE)])
    held = [buffers.empty(SHAPE, DTYPE) for _ in range(6)]
    addresses = {array.ctypes.data for array in held}
    assert len(addresses) == 6
    assert [len(arrays) for arrays in buffers._arrays.values()] == [2]


def test_small_arrays_and_other_kinds_are_new() -> None:
    small = ((8,), DTYPE)
    buffers = ResultBuffers([small])
    assert buffers._arrays == {}
    assert buffers.empty(*small).shape == (8,)
    assert buffers.empty((3, 2), np.dtype(np.int64)).dtype == np.int64
