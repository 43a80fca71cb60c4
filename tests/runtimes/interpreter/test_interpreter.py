"""The interpreter as a runtime: contract, ownership, threads, liveness, and XLA's results."""

from __future__ import annotations

import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from topos.engine import Numerics
from topos.errors import ArgumentError, CompileError
from topos.payload.kernels import maps
from topos.runtimes import ArrayType, ModuleSignature, load
from topos.runtimes.interpreter import RUNTIME, Interpreter, run_text
from topos.runtimes.interpreter import run as evaluate

Array = npt.NDArray[Any]

T = "tensor<2x3xf32>"


def main(body: str, arguments: str = f"%a: {T}", results: str = T) -> str:
    return f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}\n"


def test_it_is_found_by_its_name_and_ready() -> None:
    assert load("interpreter") is RUNTIME
    assert isinstance(RUNTIME, Interpreter)
    assert RUNTIME.name == "interpreter"
    assert RUNTIME.status().ready


def test_importing_it_loads_no_parser_and_a_run_only_the_families_that_it_needs() -> None:
    body = "%0 = stablehlo.add %a, %a : tensor<f32>\nreturn %0 : tensor<f32>"
    text = main(body, "%a: tensor<f32>", "tensor<f32>")
    code = (
        "import sys, numpy, topos.runtimes.interpreter as i;"
        "assert 'lark' not in sys.modules and 'topos.stablehlo.parser.parse' not in sys.modules;"
        f"i.run_text({text!r}, [numpy.float32(1)]); assert 'lark' in sys.modules;"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True
    )
    loaded = {name.rpartition(".") for name in done.stdout.split()}
    kernels = {name for folder, _, name in loaded if folder.endswith("interpreter.kernels")}
    assert kernels == {"conversion", "elementwise", "floats"}


def test_the_signature_has_shapes_and_dtypes() -> None:
    arguments = "%a: tensor<2x3xbf16>, %b: tensor<i1>, %c: tensor<0xui16>"
    text = main("return %b : tensor<i1>", arguments, "tensor<i1>")
    assert RUNTIME.compile(text).signature == ModuleSignature(
        (
            ArrayType((2, 3), np.dtype(ml_dtypes.bfloat16)),
            ArrayType((), np.dtype(np.bool_)),
            ArrayType((0,), np.dtype(np.uint16)),
        ),
        (ArrayType((), np.dtype(np.bool_)),),
    )


def test_arguments_are_checked_before_anything_runs() -> None:
    executable = RUNTIME.compile(main(f"return %a : {T}"))
    with pytest.raises(ArgumentError, match=r"^the module takes 1 arguments, got 0$"):
        executable()
    wanted = r"^argument 0 must be float32\[2, 3\], got int32\[2, 3\]$"
    with pytest.raises(ArgumentError, match=wanted):
        executable(np.zeros((2, 3), np.int32))


def test_exact_has_the_bits_of_the_oracle_and_fast_those_of_numpy() -> None:
    text = main(f"%0 = stablehlo.exponential %a : {T}\nreturn %0 : {T}")
    array = np.linspace(-3, 3, 6, dtype=np.float32).reshape(2, 3)
    exact, fast = (RUNTIME.compile(text, numerics=each)(array)[0] for each in ("exact", "fast"))
    assert exact.tobytes() == maps.exp(array).tobytes() == run_text(text, [array])[0].tobytes()
    assert fast.tobytes() == np.exp(array).tobytes()
    np.testing.assert_array_max_ulp(fast, exact, 2)


@pytest.mark.parametrize("steps", [-1, 2.5, "7", True])
def test_max_steps_is_a_whole_number(steps: object) -> None:
    with pytest.raises(CompileError, match="max_steps needs a whole number from 0 on"):
        RUNTIME.compile(main(f"return %a : {T}"), options={"max_steps": steps})


def test_every_result_is_an_array_of_its_own() -> None:
    body = f"""
    %c = stablehlo.constant dense<1.0> : {T}
    %t = stablehlo.transpose %a, dims = [1, 0] : ({T}) -> tensor<3x2xf32>
    %s = stablehlo.slice %a [0:1, 0:3] : ({T}) -> tensor<1x3xf32>
    %n = stablehlo.add %a, %c : {T}
    return %a, %c, %t, %s, %n, %n : {T}, {T}, tensor<3x2xf32>, tensor<1x3xf32>, {T}, {T}
    """
    executable = RUNTIME.compile(
        main(body, results=f"{T}, {T}, tensor<3x2xf32>, tensor<1x3xf32>, {T}, {T}")
    )
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    kept = array.copy()
    first = executable(array)
    bits = [result.tobytes() for result in first]
    for position, result in enumerate(first):
        assert result.flags.owndata
        assert result.flags.c_contiguous
        result[...] = -1.0
        others = [other.tobytes() for other in first[position + 1 :]]
        assert others == bits[position + 1 :]
    assert array.tobytes() == kept.tobytes()
    assert [result.tobytes() for result in executable(array)] == bits


def test_rank_zero_results_are_arrays() -> None:
    text = main("return %a : tensor<f32>", "%a: tensor<f32>", "tensor<f32>")
    (result,) = run_text(text, [np.float32(2)])
    assert type(result) is np.ndarray
    assert result.shape == ()


def test_a_value_leaves_after_its_last_use(monkeypatch: pytest.MonkeyPatch) -> None:
    text = main(
        f"%0 = stablehlo.abs %a : {T}\n%1 = stablehlo.sqrt %0 : {T}\n"
        f"%2 = stablehlo.ceil %1 : {T}\nreturn %2 : {T}"
    )
    evaluation: Any = evaluate.compiled(text)
    steps = evaluation._program.steps
    assert [step.dead for step in steps] == [(0,), (1,), (2,)]
    living: list[weakref.ref[Array]] = []

    def watched(kernel: Any) -> Any:
        def of(array: Array) -> Any:
            result = kernel(array)
            living.append(weakref.ref(result))
            return result

        return of

    watched_steps = tuple(step._replace(kernel=watched(step.kernel)) for step in steps)
    object.__setattr__(evaluation._program, "steps", watched_steps)
    results = evaluation(np.ones((2, 3), np.float32))
    assert [reference() is None for reference in living] == [True, True, False]
    assert results[0].tolist() == [[1.0] * 3] * 2


def test_threads_share_an_executable() -> None:
    text = main(
        f"%0 = stablehlo.multiply %a, %a : {T}\n%1 = stablehlo.subtract %0, %a : {T}\n"
        f"return %1 : {T}"
    )
    executable = RUNTIME.compile(text)

    def difference(number: int) -> bool:
        array = np.full((2, 3), number, np.float32)
        (result,) = executable(array)
        return bool((result != number * number - number).any())

    with ThreadPoolExecutor(4) as threads:
        assert not any(threads.map(difference, range(400)))


EXACT = {
    "add": f"%0 = stablehlo.add %a, %b : {T}",
    "divide": f"%0 = stablehlo.divide %a, %b : {T}",
    "maximum": f"%0 = stablehlo.maximum %a, %b : {T}",
    "sqrt": f"%1 = stablehlo.abs %a : {T}\n%0 = stablehlo.sqrt %1 : {T}",
    "select": (
        f"%1 = stablehlo.compare GT, %a, %b : ({T}, {T}) -> tensor<2x3xi1>\n"
        f"%0 = stablehlo.select %1, %a, %b : tensor<2x3xi1>, {T}"
    ),
    "pad": (
        f"%1 = stablehlo.slice %a [0:1, 1:3] : ({T}) -> tensor<1x2xf32>\n"
        "%2 = stablehlo.constant dense<7.0> : tensor<f32>\n"
        "%0 = stablehlo.pad %1, %2, low = [1, 0], high = [0, 0], interior = [0, 1]"
        f" : (tensor<1x2xf32>, tensor<f32>) -> {T}"
    ),
    "gather": (
        "%i = stablehlo.constant dense<[1, 5]> : tensor<2xi32>\n"
        '%0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],'
        " collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,"
        f" slice_sizes = array<i64: 1, 3>}}> : ({T}, tensor<2xi32>) -> {T}"
    ),
    "scatter": (
        "%i = stablehlo.constant dense<[1, 1]> : tensor<2xi32>\n"
        '%0 = "stablehlo.scatter"(%a, %i, %b) <{scatter_dimension_numbers = #stablehlo.scatter<'
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],"
        " index_vector_dim = 1>}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "%s = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %s : tensor<f32> })"
        f" : ({T}, tensor<2xi32>, {T}) -> {T}"
    ),
    "reduce": (
        "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "%1 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0]"
        f" : ({T}, tensor<f32>) -> tensor<3xf32>\n"
        f"%0 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<3xf32>) -> {T}"
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_an_operation_without_rounding_choices_equals_xla(name: str) -> None:
    pytest.importorskip("jax")
    text = main(f"{EXACT[name]}\nreturn %0 : {T}", f"%a: {T}, %b: {T}")
    random = np.random.default_rng(7)
    arrays = [random.standard_normal((2, 3)).astype(np.float32) for _ in range(2)]
    (ours,) = run_text(text, arrays)
    (theirs,) = load("xla").compile(text, numerics=Numerics.EXACT)(*arrays)
    assert ours.tobytes() == theirs.tobytes()
