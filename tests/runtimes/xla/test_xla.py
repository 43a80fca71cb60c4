"""The XLA adapter, run on real modules."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.texts import PRODUCT, SUM
from topos.engine import Numerics
from topos.errors import (
    ArgumentError,
    CompileError,
    ParseError,
    UnavailableError,
    UnsupportedError,
    VerifyError,
)
from topos.runtimes import load
from topos.runtimes.xla.module import brief

pytest.importorskip("jax")

Array = npt.NDArray[Any]

XLA = load("xla")

MULTIPLY_ADD = """
func.func @main(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.multiply %a, %b : tensor<f64>
  %1 = stablehlo.add %0, %c : tensor<f64>
  return %1 : tensor<f64>
}
"""
LARGE = """
func.func @main(%a: tensor<2000000xf32>) -> (tensor<2000000xf32>, tensor<2000000xf32>) {
  %0 = stablehlo.tanh %a : tensor<2000000xf32>
  return %0, %a : tensor<2000000xf32>, tensor<2000000xf32>
}
"""


def test_a_ready_status_names_the_versions() -> None:
    ready, detail = XLA.status()
    assert ready
    assert detail.startswith("jax ")
    assert ", jaxlib " in detail


def test_status_imports_no_jax() -> None:
    program = (
        "import sys\nfrom topos.runtimes import load\n"
        "assert load('xla').status().ready and load('reference').status().ready\n"
        "assert not {'jax', 'jaxlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_a_function_without_a_body_is_refused() -> None:
    with pytest.raises(VerifyError, match=r"^a function needs a body to run, and @main has none$"):
        XLA.compile("func.func private @main(tensor<f32>) -> tensor<f32>")


def test_a_message_is_cut_off_before_its_dump() -> None:
    lines = [str(line) for line in range(8)]
    assert brief(ValueError("\n".join(["", *lines]))) == "\n".join(lines[:6])
    assert brief(ValueError(" ")) == "ValueError"


def test_products_of_small_integers_are_exact() -> None:
    a, b = np.random.default_rng(0).integers(-9, 9, (2, 64, 64)).astype(np.float64)
    (result,) = XLA.compile(PRODUCT)(a, b)
    assert result.tobytes() == (a @ b).tobytes()


SCALED = """
func.func @main(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %s: tensor<4xf32>)
    -> tensor<2x4x6x6xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<4xf32>) -> tensor<2x4x6x6xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2x4x6x6xf32>
  return %2 : tensor<2x4x6x6xf32>
}
"""


def test_exact_numerics_add_no_chains_of_transposes_to_a_convolution() -> None:
    fast, exact = (XLA.compile(SCALED, numerics=each).cost() for each in ("fast", "exact"))
    assert fast is not None
    assert exact is not None
    # With chains of them it is 38 times as much.
    assert exact.bytes_accessed < 2 * fast.bytes_accessed


def test_exact_numerics_round_the_product_before_the_sum() -> None:
    a, b, c = (
        np.array(value) for value in (1.2744103099987976, -0.4726162314756091, -0.8132861498151153)
    )
    (result,) = XLA.compile(MULTIPLY_ADD, numerics=Numerics.EXACT)(a, b, c)
    assert result.tobytes() == np.asarray(a * b + c).tobytes()


def test_exact_numerics_keep_their_passes_off_beside_chosen_ones() -> None:
    a, b, c = (
        np.array(value) for value in (1.2744103099987976, -0.4726162314756091, -0.8132861498151153)
    )
    options = {"xla_disable_hlo_passes": "dce"}
    (result,) = XLA.compile(MULTIPLY_ADD, numerics=Numerics.EXACT, options=options)(a, b, c)
    assert result.tobytes() == np.asarray(a * b + c).tobytes()


def test_global_flags_of_jax_stay_as_they_were() -> None:
    import jax

    jax_config: Any = jax.config
    XLA.compile(PRODUCT)(np.eye(64), np.eye(64))
    assert jax.numpy.zeros(1, jax.numpy.float32).dtype == np.float32
    assert not jax_config.jax_enable_x64


def aligned(size: int) -> Array:
    # XLA reads an argument in place where its address is a multiple of 64.
    raw = np.zeros(4 * size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + 4 * size].view(np.float32)


def test_an_argument_may_change_after_the_call() -> None:
    executable = XLA.compile(LARGE)
    argument = aligned(2_000_000)
    for _ in range(3):
        argument[:] = 0.5
        results = executable(argument)
        argument[:] = -9.0
        assert (results[0] == results[0][0]).all()
        assert (results[1] == 0.5).all()


def test_results_are_read_only_and_outlive_later_calls() -> None:
    executable = XLA.compile(SUM)
    first = executable(np.ones(4, np.float32), np.ones(4, np.float32))[0]
    kept = first.tobytes()
    for value in range(50):
        executable(np.full(4, value, np.float32), np.ones(4, np.float32))
    assert not first.flags.writeable
    assert first.tobytes() == kept


def test_donated_arguments_are_still_the_callers() -> None:
    text = SUM.replace("%a: tensor<4xf32>", "%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}")
    argument = np.ones(4, np.float32)
    executable = XLA.compile(text)
    executable(argument, argument)
    assert executable(argument, argument)[0].tolist() == [2.0] * 4
    assert argument.tolist() == [1.0] * 4


def test_a_module_without_arguments_or_results_runs() -> None:
    assert XLA.compile("func.func @main() { return }")() == ()


def test_threads_share_a_runtime_and_an_executable() -> None:
    executable = XLA.compile(PRODUCT)

    def work(seed: int) -> bool:
        a, b = np.random.default_rng(seed).integers(-9, 9, (2, 64, 64)).astype(np.float64)
        compiled = XLA.compile(PRODUCT) if seed % 10 == 0 else executable
        return bool((compiled(a, b)[0] == a @ b).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(40)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(4, np.float32),), r"takes 2 arguments, got 1"),
        ((np.ones(4, np.float32), np.ones(4, np.int32)), r"argument 1 must be float32\[4\]"),
        ((np.ones((2, 2), np.float32), np.ones(4, np.float32)), r"argument 0 .* float32\[2, 2\]"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        XLA.compile(SUM)(*arguments)


def test_a_syntax_error_is_told_with_its_place() -> None:
    with pytest.raises(ParseError) as caught:
        XLA.compile(SUM.replace("%a, %b :", "%a, %missing :"))
    assert (caught.value.line, caught.value.column) == (3, 26)
    assert caught.value.source_line == "  %0 = stablehlo.add %a, %missing : tensor<4xf32>"
    assert caught.value.reason == "use of undeclared SSA value name"


def test_a_broken_rule_of_an_operation_is_told_with_its_place() -> None:
    with pytest.raises(VerifyError, match=r"line 4, column 3: type of return operand 0"):
        XLA.compile(SUM.replace("-> tensor<4xf32> {", "-> tensor<5xf32> {"))


def test_a_module_without_main_is_refused() -> None:
    with pytest.raises(VerifyError, match="needs a function @main"):
        XLA.compile(SUM.replace("@main", "@other"))


def test_an_unknown_custom_call_is_refused_by_name() -> None:
    text = SUM.replace("stablehlo.add %a, %b :", "stablehlo.custom_call @nobody(%a, %b) :")
    text = text.replace(
        ": tensor<4xf32>\n  return", ": (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n  return"
    )
    with pytest.raises(UnsupportedError, match="nobody"):
        XLA.compile(text)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"no_such_flag": 1}, r"^xla has no option 'no_such_flag'$"),
        ({"isolatd": True}, r"^xla has no option 'isolatd'; did you mean isolated\?$"),
        ({"timeout": 3}, r"^timeout needs isolated=True"),
        ({"xla_cpu_enable_fast_math": "maybe"}, r"^xla refused an option: .*'maybe'"),
    ],
)
def test_an_option_that_xla_does_not_take_is_told_by_its_name(
    options: dict[str, object], told: str
) -> None:
    with pytest.raises(CompileError, match=told):
        XLA.compile(SUM, options=options)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    text = "the xla runtime needs jax: pip install 'topos-compiler[xla]'"
    assert XLA.status() == (False, text)
    with pytest.raises(UnavailableError) as caught:
        XLA.compile(SUM)
    assert str(caught.value) == text


def test_status_bears_a_module_without_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", ModuleType("jax"))
    assert not XLA.status().ready


def test_a_package_that_cannot_be_imported_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax.extend.mlir", None)
    with pytest.raises(UnavailableError, match=r"jax .* cannot be imported"):
        XLA.compile(SUM)


BROKEN = {
    "import": "raise RuntimeError('built for another machine')",
    "library": "raise OSError('GLIBC is too old')",
    "age": "__version__ = '0.2.0'",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_jax_is_unavailable(tmp_path: Path, kind: str) -> None:
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text(BROKEN[kind])
    program = (
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
        "from topos import errors, runtimes\nruntimes.status()\n"
        "for name in 'xla', 'reference':\n"
        f"    try: runtimes.load(name).compile({SUM!r})\n"
        "    except errors.UnavailableError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.count("cannot be imported") == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process forks here")
def test_a_fork_calls_and_does_not_compile() -> None:
    program = (
        "import os, signal, warnings, numpy as np\nwarnings.simplefilter('ignore')\n"
        "from topos.errors import UnavailableError\nfrom topos.runtimes import load\n"
        f"text = {SUM!r}\nones = np.ones(4, np.float32)\nxla = load('xla')\n"
        "module = xla.compile(text)\ndata = module.serialize()\n"
        "assert module(ones, ones)[0].tolist() == [2.0] * 4\n"
        "if not (child := os.fork()):\n    signal.alarm(30)\n"
        "    assert module(ones, ones)[0].tolist() == [2.0] * 4\n"
        "    assert module.bind({0: xla.place(ones)})(ones)[0].tolist() == [2.0] * 4\n"
        "    for make in (lambda: xla.compile(text), lambda: module.loop({0: 0}, {0: ones}),\n"
        "                 lambda: xla.deserialize(data)):\n"
        "        try: make()\n"
        "        except UnavailableError as error: assert 'this one is a fork' in str(error)\n"
        "        else: os._exit(3)\n"
        "    os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
        "assert xla.compile(text)(ones, ones)[0].tolist() == [2.0] * 4\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process forks here")
def test_a_fork_of_a_process_that_started_no_xla_compiles() -> None:
    program = (
        "import os, numpy as np\nfrom topos.runtimes import load\n"
        f"text = {SUM!r}\nones = np.ones(4, np.float32)\nxla = load('xla')\n"
        "if not (child := os.fork()):\n"
        "    assert xla.compile(text)(ones, ones)[0].tolist() == [2.0] * 4\n"
        "    os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
