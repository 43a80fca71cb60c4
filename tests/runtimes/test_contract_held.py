"""What every runtime keeps of the contract on what is held: residents, loops, compiled forms."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.answers import THREE, Answer, Told
from tests.runtimes.require import require
from topos import runtimes
from topos.errors import ArgumentError, CompileError, ExecutionError, UnsupportedError
from topos.runtimes import ArrayType, Executable, ModuleSignature, Runtime

COUNTED = """
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>, %c: tensor<f32>)
    -> (tensor<f32>, tensor<3xf32>) {
  %0 = stablehlo.add %a, %b : tensor<3xf32>
  return %c, %0 : tensor<f32>, tensor<3xf32>
}
"""
TWO, HALF = np.full(3, 2.0, np.float32), np.float32(0.5)


@pytest.fixture(scope="module", params=[*runtimes.names(), "xla isolated", "iree isolated"])
def counted(request: pytest.FixtureRequest) -> tuple[Runtime, Executable]:
    name, _, isolated = request.param.partition(" ")
    require(name)
    runtime = runtimes.load(name)
    if isolated:
        assert runtime.worker is not None
        runtime = runtime.worker
    return runtime, runtime.compile(COUNTED)


def test_bound_arguments_are_the_runtimes_own(counted: tuple[Runtime, Executable]) -> None:
    runtime, executable = counted
    mine, placed = THREE.copy(), runtime.place(TWO)
    bound = executable.bind({1: mine, 0: placed})
    mine[:] = 9.0
    assert bound.signature == ModuleSignature(
        executable.signature.arguments[2:], executable.signature.results
    )
    for _ in range(2):
        half, total = bound(HALF)
        assert half == 0.5
        assert total.tolist() == [3.0] * 3
    again = bound.bind({0: HALF})
    assert again()[1].tolist() == [3.0] * 3
    assert executable(TWO, TWO, HALF)[1].tolist() == [4.0] * 3


@pytest.mark.parametrize(
    ("resident", "message"),
    [
        ({3: THREE}, r"bind needs argument positions below 3, got 3"),
        ({-1: THREE}, r"bind needs argument positions below 3, got -1"),
        ({"a": THREE}, r"bind needs argument positions below 3, got 'a'"),
        ({0: THREE[:2]}, r"argument 0 must be float32\[3\], got float32\[2\]"),
        ({0: [[1.0], []]}, r"argument 0 must be float32\[3\], got list: .*"),
        (5, r"bind needs a mapping of positions to arrays, got 5"),
        ([], r"bind needs a mapping of positions to arrays, got \[\]"),
        (None, r"bind needs a mapping of positions to arrays, got None"),
    ],
)
def test_only_what_fits_is_bound(
    counted: tuple[Runtime, Executable], resident: Any, message: str
) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}$"):
        counted[1].bind(resident)


def test_what_is_placed_fits_too(counted: tuple[Runtime, Executable]) -> None:
    placed = counted[0].place(THREE[:2])
    assert placed.type == ArrayType((2,), np.dtype(np.float32))
    with pytest.raises(ArgumentError, match=r"^argument 0 must be float32\[3\], got float32\[2\]$"):
        counted[1].bind({0: placed})


def test_no_array_is_placed(counted: tuple[Runtime, Executable]) -> None:
    with pytest.raises(ArgumentError, match=r"^place needs an array, got list: "):
        counted[0].place([[1.0], []])


def test_a_loop_keeps_its_state(counted: tuple[Runtime, Executable]) -> None:
    start = np.zeros(3, np.float32)
    loop = counted[1].loop({1: 1}, {1: start})
    start[:] = 9.0
    for _ in range(3):
        (half,) = loop(TWO, HALF)
        assert half == 0.5
    state = loop.state()
    assert [*state] == [1]
    assert state[1].tolist() == [6.0] * 3
    state[1][:] = 9.0
    assert loop.state()[1].tolist() == [6.0] * 3
    with pytest.raises(ArgumentError, match=r"^argument 1 must be float32\[\], got float32\[3\]$"):
        loop(TWO, THREE)
    with pytest.raises(ArgumentError, match=r"^the module takes 2 arguments, got 1$"):
        loop(TWO)
    assert loop.state()[1].tolist() == [6.0] * 3
    with pytest.raises(ExecutionError, match=r"^a loop lives in its process: pickle its state$"):
        pickle.dumps(loop)


@pytest.mark.parametrize(
    ("carried", "state", "message"),
    [
        ({3: 1}, {3: THREE}, r"a loop needs argument positions below 3, got 3"),
        ({0: 2}, {0: THREE}, r"a loop needs result positions below 2, got 2"),
        ({0: 0}, {0: THREE}, r".* argument 0, float32\[3\], got result 0, float32\[\]"),
        ({0: 1, 1: 1}, {0: THREE, 1: THREE}, r".* one result for each carried argument, got .*"),
        ({0: 1}, {}, r"a loop needs a state for arguments \[0\], got \[\]"),
        ({0: 1}, {0: HALF}, r"argument 0 must be float32\[3\], got float32\[\]"),
        ({0: 1}, {"a": THREE, 0: THREE}, r".* a state for arguments \[0\], got \['a', 0\]"),
        (5, 5, r"a loop needs a mapping by positions as carried, got 5"),
        ([0], [THREE], r"a loop needs a mapping by positions as carried, got \[0\]"),
        ({0: 0}, 5, r"a loop needs a mapping by positions as state, got 5"),
    ],
)
def test_a_loop_needs_a_state_that_its_results_follow(
    counted: tuple[Runtime, Executable],
    carried: Any,
    state: Any,
    message: str,
) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}$"):
        counted[1].loop(carried, state)


class Failing(Answer):
    """An executable that answers once."""

    def execute(self, arguments: list[npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], ...]:
        if not self.results:
            raise ExecutionError("no memory today")
        (result,), self.results = self.results, ()
        return (result,)


def test_a_loop_that_failed_says_so_from_then_on() -> None:
    loop = Failing(THREE).loop({0: 0}, {0: THREE})
    loop()
    with pytest.raises(ExecutionError, match=r"^no memory today$"):
        loop()
    for use in (loop, loop.state):
        message = r"^the loop has no state since a call failed: .*no memory today.*$"
        with pytest.raises(ExecutionError, match=message):
            use()


def test_a_compiled_form_is_the_same_module(counted: tuple[Runtime, Executable]) -> None:
    runtime, executable = counted
    again = runtime.deserialize(executable.serialize())
    assert again.signature == executable.signature
    assert again(TWO, THREE, HALF)[1].tolist() == [3.0] * 3
    assert again.bind({0: TWO})(THREE, HALF)[1].tolist() == [3.0] * 3


def test_other_bytes_are_no_compiled_form(counted: tuple[Runtime, Executable]) -> None:
    runtime, executable = counted
    data = executable.serialize()
    for other in (b"", data[:-1], b"x" + data[1:], data + b"x"):
        with pytest.raises(CompileError, match=r"cannot load these bytes: they are damaged or no"):
            runtime.deserialize(other)


def test_a_cache_is_a_folder_that_may_hold_anything(
    counted: tuple[Runtime, Executable], tmp_path: Path
) -> None:
    runtime, _ = counted
    for _ in range(2):
        executable = runtime.compile(COUNTED, cache=tmp_path)
        assert executable(TWO, THREE, HALF)[1].tolist() == [3.0] * 3
    for entry in tmp_path.iterdir():
        entry.write_bytes(b"anything")
    assert runtime.compile(COUNTED, cache=tmp_path)(TWO, THREE, HALF)[1].tolist() == [3.0] * 3


def test_an_executable_without_a_compiled_form_says_so() -> None:
    with pytest.raises(UnsupportedError, match=r"^serialize needs a compiled form, got Answer$"):
        Answer(THREE).serialize()
    with pytest.raises(UnsupportedError, match=r"^the told runtime has no compiled form to load$"):
        Told(lambda _: Answer(THREE)).deserialize(b"")
    assert Answer(THREE).memory() is None
    assert Answer(THREE).bind({0: THREE}).cost() is None


@pytest.mark.parametrize("size", [1, 1000])
def test_aligned_memory_is_taken_over_only_when_no_one_can_write_it(size: int) -> None:
    array = runtimes.aligned((size, 2), np.float64)
    assert array.ctypes.data % 64 == 0
    assert array.shape == (size, 2)
    assert array.dtype == np.float64
    array[:] = 1.0
    place = runtimes.load("interpreter").place
    array.flags.writeable = False
    assert place(array).held is not array
    assert isinstance(array.base, np.ndarray)
    array.base.flags.writeable = False
    assert place(array).held is array
    assert place(array[:0]).type.shape == (0, 2)
    assert place(array.T if size > 1 else array[:, 1:]).held.flags.c_contiguous


@pytest.mark.parametrize(
    ("shape", "dtype", "reason"),
    [
        ((-1,), np.float32, "an extent is negative"),
        ((2, -3, 0), np.float32, "an extent is negative"),
        (5, np.float32, "'int' object is not iterable"),
        ((1.5,), np.float32, "'float' object cannot be interpreted as an integer"),
        ((2**40, 2**40), np.float32, ".*"),
        ((1,) * 65, np.float32, ".*"),
        ((3,), "nope", "data type 'nope' not understood"),
        ((3,), object, r"Cannot change data-type for array of references\."),
        ((3,), "U", ".*"),
    ],
)
def test_aligned_memory_has_a_shape_and_elements(shape: Any, dtype: Any, reason: str) -> None:
    message = f"^aligned needs a shape and a dtype, got .* of .*: {reason}$"
    with pytest.raises(ArgumentError, match=message):
        runtimes.aligned(shape, dtype)


@pytest.mark.parametrize("name", runtimes.names())
@pytest.mark.parametrize("options", [{"nope": 1}, {"max_steps": 5}])
def test_a_place_has_no_unknown_option(name: str, options: dict[str, Any]) -> None:
    require(name)
    with pytest.raises(CompileError, match=rf"{name}.* options?.* got .*{min(options)}"):
        runtimes.load(name).place(THREE, options=options)
    with pytest.raises(ArgumentError, match=r"^options need a mapping of names to values, got 5$"):
        runtimes.load(name).place(THREE, options=5)  # type: ignore[arg-type]
