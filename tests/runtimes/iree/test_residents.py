"""What IREE's devices hold between calls: residents, states of loops, and nothing of a caller's."""

from __future__ import annotations

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.errors import ArgumentError, CompileError, ExecutionError, UnavailableError
from topos.runtimes import Executable, ExecutableMemory, aligned, load
from topos.runtimes.iree.device import SMALLEST_LENT, device_of

pytest.importorskip("iree.compiler")
pytest.importorskip("iree.runtime")

IREE = load("iree")

Array = npt.NDArray[Any]

# Larger than what is copied in; the last result is an argument, and the third writes into one.
STEP = """
func.func @main(%w: tensor<160x160xf32>, %x: tensor<160x160xf32>, %i: tensor<i32>)
    -> (tensor<160x160xf32>, tensor<f32>, tensor<160x160xf32>, tensor<160x160xf32>) {
  %0 = stablehlo.add %w, %x : tensor<160x160xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.maximum across dimensions = [0, 1]
    : (tensor<160x160xf32>, tensor<f32>) -> tensor<f32>
  %s = stablehlo.slice %x [0:1, 0:160] : (tensor<160x160xf32>) -> tensor<1x160xf32>
  %2 = stablehlo.dynamic_update_slice %w, %s, %i, %i
    : (tensor<160x160xf32>, tensor<1x160xf32>, tensor<i32>, tensor<i32>) -> tensor<160x160xf32>
  return %0, %1, %2, %x : tensor<160x160xf32>, tensor<f32>, tensor<160x160xf32>,
    tensor<160x160xf32>
}
"""
DIFFERENCE = """
func.func @main(%w: tensor<160x160xf32>, %x: tensor<160x160xf32>) -> tensor<160x160xf32> {
  %0 = stablehlo.subtract %x, %w : tensor<160x160xf32>
  return %0 : tensor<160x160xf32>
}
"""
SHAPE = (160, 160)
ZERO = np.int32(0)


def filled(value: float) -> Array:
    return np.full(SHAPE, value, np.float32)


def immutable(value: float) -> Array:
    """An array that a device may take over."""
    array = aligned(SHAPE, np.float32)
    array[...] = value
    for each in (array, array.base):
        assert each is not None
        each.flags.writeable = False
    return array


@pytest.fixture(scope="module", params=["local-sync", "local-task"])
def executables(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Executable, Executable, dict[str, Any]]:
    options = {"device": request.param}
    # One compilation is that of both devices.
    cache = tmp_path_factory.getbasetemp() / "iree"
    step, difference = (
        IREE.compile(text, options=options, cache=cache) for text in (STEP, DIFFERENCE)
    )
    return step, difference, options


Pair = tuple[Executable, Executable, dict[str, Any]]


def test_bound_arguments_are_checked_and_gone_from_the_signature(executables: Pair) -> None:
    step, *_ = executables
    bound = step.bind({1: filled(2.0)}).bind({1: ZERO})
    assert bound.signature.arguments == step.signature.arguments[:1]
    results = bound(filled(5.0))
    assert [each.tobytes() for each in results] == [
        each.tobytes() for each in step(filled(5.0), filled(2.0), ZERO)
    ]
    assert results[1] == 7.0
    with pytest.raises(ArgumentError, match=r"argument 2 must be int32\[\], got float32\[\]"):
        step.bind({2: np.float32(0)})
    with pytest.raises(ArgumentError, match=r"bind needs argument positions below 3, got 3"):
        step.bind({3: ZERO})


def test_a_bound_array_may_be_changed_afterwards(executables: Pair) -> None:
    _, difference, _ = executables
    weights = filled(1.0)
    bound = difference.bind({0: weights})
    weights[:] = 100.0
    assert (bound(filled(3.0))[0] == 2.0).all()


def test_one_placed_array_serves_several_executables(executables: Pair) -> None:
    step, difference, options = executables
    array = immutable(1.0)
    placed = IREE.place(array, options=options)
    # Taken over: it is the very memory.
    assert placed.held.memory is array
    first, second = step.bind({0: placed}), difference.bind({0: placed})
    del placed, array
    gc.collect()
    assert (first(filled(2.0), ZERO)[0] == 3.0).all()
    assert (second(filled(2.0))[0] == 1.0).all()


def test_an_array_of_another_device_is_refused(executables: Pair) -> None:
    _, difference, options = executables
    (other,) = {"local-sync", "local-task"} - {options["device"]}
    placed = IREE.place(filled(1.0), options={"device": other})
    message = (
        rf"argument 0 must lie on iree's {options['device']}, got Placed\(.* on iree's {other}"
    )
    with pytest.raises(ArgumentError, match=message):
        difference.bind({0: placed})


def test_threads_share_residents_and_two_executables(executables: Pair) -> None:
    step, difference, options = executables
    placed = IREE.place(immutable(1.0), options=options)
    first, second = step.bind({0: placed}), difference.bind({0: placed})

    def work(value: int) -> bool:
        added, largest, *_, same = first(filled(value), ZERO)
        (left,) = second(filled(value))
        ours = largest == value + 1 and (added == value + 1).all() and (same == value).all()
        return bool(ours and (left == value - 1).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(200)))


def test_a_loop_keeps_its_state_on_the_device(executables: Pair) -> None:
    step, *_ = executables
    first = filled(1.0)
    loop = step.loop({0: 0}, {0: first})
    first[:] = 50.0
    for number in range(1, 4):
        largest, written, same = loop(filled(number), ZERO)
        assert (same == number).all()
    assert largest == 7.0
    # The row came from the last argument, the rest from the state before.
    assert written[0, 0] == 3.0
    assert (written[1:] == 4.0).all()
    state = loop.state()[0]
    assert (state == 7.0).all()
    state[:] = 0.0
    loop(filled(1.0), ZERO)
    assert (loop.state()[0] == 8.0).all()


def test_a_state_that_is_an_argument_outlives_it(executables: Pair) -> None:
    step, *_ = executables
    loop = step.loop({0: 3}, {0: filled(1.0)})
    argument = aligned(SHAPE, np.float32)
    argument[...] = 6.0
    assert argument.nbytes >= SMALLEST_LENT
    loop(argument, ZERO)
    argument[:] = -1.0
    del argument
    assert (loop.state()[0] == 6.0).all()


def test_lent_memory_is_only_read(executables: Pair, tmp_path: Path) -> None:
    step, _, options = executables
    path = tmp_path / "weights"
    filled(1.0).tofile(path)
    # Pages that a write would end this process at; files are mapped at the start of a page.
    mapped = np.asarray(np.memmap(path, np.float32, "r", shape=SHAPE))
    assert device_of(options["device"]).lent(mapped).memory is mapped
    added, _, written, _ = step(mapped, filled(2.0), ZERO)
    assert (added == 3.0).all()
    assert (written[0] == 2.0).all()


def test_arrays_in_any_order_are_copied_in(executables: Pair) -> None:
    _, difference, _ = executables
    array = np.arange(160 * 160, dtype=np.float32).reshape(SHAPE)
    (result,) = difference(array.T, array[::-1, ::-1])
    assert result.tobytes() == (array[::-1, ::-1] - array.T).tobytes()


def test_memory_is_what_the_module_allocates(executables: Pair) -> None:
    step, *_ = executables
    size, memory = 160 * 160 * 4, step.memory()
    assert memory is not None
    assert memory.arguments == 2 * size + 4
    assert memory.results == 3 * size + 4
    assert step.bind({0: filled(1.0)}).memory() == memory
    assert memory.code > 1000
    assert step.cost() is None


def test_temporaries_are_what_lies_between() -> None:
    text = """
    func.func @main(%a: tensor<64x64xf32>) -> tensor<f32> {
      %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<64x64xf32>, tensor<f32>) -> tensor<f32>
      return %2 : tensor<f32>
    }
    """
    memory = IREE.compile(text).memory()
    assert isinstance(memory, ExecutableMemory)
    # At least one product at a time; IREE keeps both.
    assert 64 * 64 * 4 <= memory.temporaries <= 3 * 64 * 64 * 4


@pytest.mark.parametrize(
    "options", [{"device": "cuda"}, {"device": 3}, {"device": np.array([1, 2])}]
)
def test_a_device_is_one_of_two(options: dict[str, Any]) -> None:
    message = r"^iree has the devices local-sync and local-task, got "
    with pytest.raises(CompileError, match=message):
        IREE.compile(DIFFERENCE, options=options)
    with pytest.raises(CompileError, match=message):
        IREE.place(ZERO, options=options)
    with pytest.raises(CompileError, match=r"^iree has the option device here, got 'speed'$"):
        IREE.place(ZERO, options={"speed": 1})


def test_a_device_that_iree_has_not_is_told() -> None:
    with pytest.raises(UnavailableError, match=r"^iree cannot open its device local-nope: "):
        device_of("local-nope")


def test_what_no_buffer_holds_is_not_placed() -> None:
    with pytest.raises(ArgumentError, match=r"cannot hold an array of str\d*\[1\]$"):
        IREE.place(["text"])


def test_a_failure_of_the_runtime_is_told(
    executables: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, difference, options = executables

    def failing(*_: Any) -> None:
        raise IndexError("RESOURCE_EXHAUSTED; no memory today")

    bound, loop = difference.bind({0: filled(1.0)}), difference.loop({0: 0}, {0: filled(1.0)})
    monkeypatch.setattr(device_of(options["device"]), "called", failing)
    for run in (bound, loop):
        with pytest.raises(ExecutionError, match=r"^iree failed to run the module: RESOURCE_EXH"):
            run(filled(1.0))
    with pytest.raises(ExecutionError, match="the loop has no state since a call failed"):
        loop.state()


def test_a_fork_calls_what_runs_in_its_own_thread() -> None:
    program = (
        "import os, numpy as np\n"
        "from topos.errors import ExecutionError\nfrom topos.runtimes import load\n"
        f"text = {DIFFERENCE!r}\narray = np.ones((160, 160), np.float32)\n"
        "sync, task = (load('iree').compile(text, options={'device': device})\n"
        "              for device in ('local-sync', 'local-task'))\n"
        "assert not sync(array, array)[0].any() and not task(array, array)[0].any()\n"
        "if not (child := os.fork()):\n"
        "    assert not sync(array, array)[0].any()\n"
        "    try: task(array, array)\n"
        "    except ExecutionError as error:\n"
        "        assert 'stayed in the process that this one is a fork of' in str(error)\n"
        "        os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
