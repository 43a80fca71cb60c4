"""What XLA holds between calls: bound arguments, placed arrays, and the state of a loop."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.texts import PRODUCT, SUM
from topos.errors import ArgumentError, ExecutionError
from topos.runtimes import Placed, aligned, load

pytest.importorskip("jax")

Array = npt.NDArray[Any]

XLA = load("xla")
SIZE = 4096
STEP = """
func.func @main(%w: tensor<4096xf32>, %x: tensor<4096xf32>)
    -> (tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>) {
  %0 = stablehlo.add %w, %x : tensor<4096xf32>
  return %0, %0, %w : tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>
}
"""


def taken_over(value: float) -> Array:
    """Returns an array that a runtime need not copy."""
    array = aligned((SIZE,), np.float32)
    array[:] = value
    assert isinstance(array.base, np.ndarray)
    array.base.flags.writeable = array.flags.writeable = False
    return array


def writable(value: float) -> Array:
    array = aligned((SIZE,), np.float32)
    array[:] = value
    return array


def read_only_view(value: float) -> Array:
    view = writable(value)[:]
    view.flags.writeable = False
    return view


def address(placed: Placed) -> int:
    pointer: int = placed.held.unsafe_buffer_pointer()
    return pointer


def test_an_aligned_read_only_array_is_placed_where_it_is() -> None:
    array = taken_over(1.0)
    placed = XLA.place(array)
    assert address(placed) == array.ctypes.data
    assert repr(placed) == "Placed(float32[4096] on xla cpu:0)"


@pytest.mark.parametrize("make", [writable, read_only_view])
def test_an_array_that_someone_can_write_is_placed_as_a_copy(make: Callable[..., Array]) -> None:
    array = make(1.0)
    held, bound = XLA.compile(STEP).bind({0: XLA.place(array)}), XLA.compile(STEP).bind({0: array})
    owner = array if array.flags.writeable else array.base
    assert isinstance(owner, np.ndarray)
    owner.view(np.uint8)[:] = 0xFF
    for each in (held, bound):
        assert (each(writable(2.0))[0] == 3.0).all()


def test_several_executables_share_what_is_placed() -> None:
    placed = XLA.place(taken_over(1.0))
    first, second = (XLA.compile(text).bind({0: placed}) for text in (STEP, STEP + "\n"))
    assert first._resident[0] is second._resident[0] is placed  # type: ignore[attr-defined]


def test_results_are_never_the_residents() -> None:
    array = taken_over(1.0)
    result = XLA.compile(STEP).bind({0: XLA.place(array)})(writable(2.0))[2]
    assert not np.shares_memory(result, array)


@pytest.mark.parametrize("positions", [(0,), (1,), (2,), (0, 2), (2, 1), (0, 1, 2), ()])
def test_any_arguments_may_be_bound(positions: tuple[int, ...]) -> None:
    text = SUM.replace("%b: tensor<4xf32>", "%b: tensor<4xf32>, %c: tensor<4xf32>")
    text = text.replace("%0 = ", "%1 = stablehlo.multiply %b, %c : tensor<4xf32>\n%0 = ")
    text = text.replace("%a, %b :", "%a, %1 :")
    arrays = [np.full(4, value, np.float32) for value in (3, 5, 7)]
    bound = XLA.compile(text).bind({position: arrays[position] for position in positions})
    free = [arrays[position] for position in range(3) if position not in positions]
    assert len(bound.signature.arguments) == len(free)
    assert bound(*free)[0].tolist() == [38.0] * 4
    if free:
        again = bound.bind({0: free[0]})
        assert again(*free[1:])[0].tolist() == [38.0] * 4


def test_wide_elements_are_held_whole() -> None:
    text = SUM.replace("f32", "i64")
    large = np.full(4, 2**40 + 1)
    executable = XLA.compile(text)
    for bound in (executable.bind({0: large}), executable.bind({0: XLA.place(large)})):
        assert bound(large)[0].tolist() == [2**41 + 2] * 4
        assert bound.bind({0: large})()[0].tolist() == [2**41 + 2] * 4


def test_a_free_argument_is_told_by_its_own_position() -> None:
    bound = XLA.compile(SUM).bind({0: np.ones(4, np.float32)})
    with pytest.raises(ArgumentError, match=r"^argument 0 must be float32\[4\], got float32\[2\]$"):
        bound(np.ones(2, np.float32))


def test_what_another_runtime_holds_is_refused() -> None:
    placed = load("interpreter").place(np.ones(4, np.float32))
    message = r"^argument 0 must lie on xla cpu:0, got Placed\(float32\[4\] on the host\)$"
    with pytest.raises(ArgumentError, match=message):
        XLA.compile(SUM).bind({0: placed})


def test_text_is_no_array_to_place() -> None:
    with pytest.raises(ArgumentError, match=r"^xla cannot hold an array of str"):
        XLA.place("words")


def test_a_loop_steps_in_the_memory_of_its_state() -> None:
    loop: Any = XLA.compile(STEP).loop({0: 0}, {0: np.zeros(SIZE, np.float32)})
    assert loop.executable._loaded.executable.get_compiled_memory_stats().alias_size_in_bytes == (
        4 * SIZE
    )
    loop(writable(1.0))
    before = loop._state[0]
    pointer = before.unsafe_buffer_pointer()
    loop(writable(1.0))
    assert before.is_deleted()
    assert loop._state[0].unsafe_buffer_pointer() == pointer


def test_what_a_loop_gave_stays_as_it_was() -> None:
    start = taken_over(0.0)
    loop = XLA.compile(STEP).loop({0: 0}, {0: start})
    given = [(loop(writable(1.0)), loop.state()[0]) for _ in range(5)]
    for step, ((later, earlier), state) in enumerate(given):
        assert (later == step + 1).all()
        assert (earlier == step).all()
        assert (state == step + 1).all()
    assert (start == 0.0).all()


@pytest.mark.parametrize("element", [np.float64, np.int64, ml_dtypes.bfloat16, np.bool_])
def test_a_loop_carries_every_element(element: npt.DTypeLike) -> None:
    names = {"float64": "f64", "int64": "i64", "bfloat16": "bf16", "bool": "i1"}
    text = SUM.replace("f32", names[np.dtype(element).name])
    loop = XLA.compile(text).loop({1: 0}, {1: np.zeros(4, element)})
    for step in range(1, 4):
        assert loop(np.ones(4, element)) == ()
        assert (loop.state()[1].astype(int) == min(step, 9 if element is not np.bool_ else 1)).all()


def test_a_loop_without_a_result_has_read_its_arguments() -> None:
    # XLA leaves a product of this size to another thread, and reads aligned arguments in place.
    size = 600
    text = PRODUCT.replace("64x64xf64", f"{size}x{size}xf32")
    argument, start = aligned((size, size), np.float32), np.ones((size, size), np.float32)
    loop = XLA.compile(text).loop({0: 0}, {0: start})
    for _ in range(5):
        argument[:] = np.eye(size)
        loop(argument)
        argument[:] = 0.0
    assert (loop.state()[0] == 1.0).all()


def test_a_loop_gives_no_resident_away() -> None:
    bound = XLA.compile(STEP).bind({0: np.ones(SIZE, np.float32)})
    loop = bound.loop({0: 1}, {0: np.zeros(SIZE, np.float32)})
    for _ in range(3):
        loop()
    assert (loop.state()[0] == 3.0).all()
    assert (bound(writable(1.0))[0] == 2.0).all()


def test_threads_take_turns_at_a_loop() -> None:
    loop = XLA.compile(SUM).loop({0: 0}, {0: np.zeros(4, np.float32)})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: loop(np.ones(4, np.float32)), range(200)))
    assert loop.state()[0].tolist() == [200.0] * 4


def test_a_step_that_fails_leaves_no_state() -> None:
    loop: Any = XLA.compile(SUM).loop({0: 0}, {0: np.zeros(4, np.float32)})
    # As a runtime does that lost a buffer in the middle of a step.
    loop._state[0].delete()
    with pytest.raises(ExecutionError, match=r"^xla failed to run the module: "):
        loop(np.ones(4, np.float32))
    for use in (loop.state, lambda: loop(np.ones(4, np.float32))):
        with pytest.raises(ExecutionError, match=r"^the loop has no state since a call failed: "):
            use()


def test_memory_and_cost_are_those_of_the_module() -> None:
    executable = XLA.compile(STEP)
    memory, cost = executable.memory(), executable.cost()
    assert memory is not None
    assert cost is not None
    assert memory.arguments == 2 * 4 * SIZE
    assert 3 * 4 * SIZE <= memory.results < 3 * 4 * SIZE + 100
    assert memory.code > 0
    assert cost.flops == SIZE
    assert cost.bytes_accessed >= 3 * 4 * SIZE
    assert executable.bind({0: taken_over(1.0)}).memory() == memory
