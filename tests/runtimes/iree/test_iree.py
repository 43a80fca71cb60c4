"""The IREE adapter, run on real modules."""

from __future__ import annotations

import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.runtimes.texts import SUM
from topos.engine import Numerics
from topos.errors import (
    ArgumentError,
    CompileError,
    CrashError,
    ParseError,
    UnavailableError,
    UnsupportedError,
    VerifyError,
)
from topos.runtimes import Executable, load
from topos.runtimes.iree.process import STATISTICS, _refusal, compiled

pytest.importorskip("iree.compiler")
pytest.importorskip("iree.runtime")

IREE = load("iree")

MULTIPLY_ADD = """
func.func @main(%a: tensor<1000xf32>, %b: tensor<1000xf32>, %c: tensor<1000xf32>)
    -> tensor<1000xf32> {
  %0 = stablehlo.multiply %a, %b : tensor<1000xf32>
  %1 = stablehlo.add %0, %c : tensor<1000xf32>
  return %1 : tensor<1000xf32>
}
"""
# The second result still reads the argument that the first would overwrite.
ALIASED = """
func.func @main(%a: tensor<1000xf32> {tf.aliasing_output = 0 : i32})
    -> (tensor<1000xf32>, tensor<1000xf32>) {
  %0 = stablehlo.add %a, %a : tensor<1000xf32>
  %1 = stablehlo.reverse %a, dims = [0] : tensor<1000xf32>
  return %0, %1 : tensor<1000xf32>, tensor<1000xf32>
}
"""
UNARY = """
func.func @main(%a: tensor<2x2xf64>) -> tensor<2x2xf64> {
  %0 = OPERATION
  return %0 : tensor<2x2xf64>
}
"""


@pytest.fixture(scope="module")
def total() -> Executable:
    return IREE.compile(SUM)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other targets always have the FMA")
def test_exact_numerics_round_the_product_before_the_sum() -> None:
    a, b, c = np.random.default_rng(0).normal(size=(3, 1000)).astype(np.float32)
    (result,) = IREE.compile(MULTIPLY_ADD, numerics=Numerics.EXACT)(a, b, c)
    assert result.tobytes() == (a * b + c).tobytes()


def test_aliasing_attributes_do_nothing() -> None:
    argument = np.arange(1000, dtype=np.float32)
    doubled, reverse = IREE.compile(ALIASED)(argument)
    assert doubled.tobytes() == (argument + argument).tobytes()
    assert reverse.tobytes() == argument[::-1].tobytes()
    assert (argument == np.arange(1000)).all()


def test_results_are_the_callers_own(total: Executable) -> None:
    argument = np.ones(4, np.float32)
    (first,) = total(argument, argument)
    argument[:] = 7.0
    for value in range(50):
        total(np.full(4, value, np.float32), argument)
    assert first.tolist() == [2.0] * 4
    assert first.flags.owndata
    assert first.flags.writeable


def test_threads_share_an_executable(total: Executable) -> None:
    def work(value: int) -> bool:
        argument = np.full(4, value, np.float32)
        return bool((total(argument, argument)[0] == 2 * value).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(400)))


def test_a_function_without_a_body_is_refused() -> None:
    with pytest.raises(VerifyError, match=r"^a function needs a body to run, and @main has none$"):
        IREE.compile("func.func private @main(tensor<f32>) -> tensor<f32>")


def test_a_module_without_results_returns_none_of_them() -> None:
    assert IREE.compile("func.func @main() { return }")() == ()


def test_options_are_flags_of_the_compiler() -> None:
    (result,) = IREE.compile(SUM, options={"iree-opt-level": "O2"})(*np.ones((2, 4), np.float32))
    assert result.tolist() == [2.0] * 4
    with pytest.raises(CompileError, match=r"^iree has no option 'no-such-flag'$"):
        IREE.compile(SUM, options={"no-such-flag": 1})


@pytest.mark.parametrize(
    ("old", "new", "dialect"),
    [
        (
            " : tensor<4xf32>\n",
            " {r = #sdy.op_sharding_rule<([i])->([i])>} : tensor<4xf32>\n",
            "sdy",
        ),
        ("func.func", 'sdy.mesh @mesh = <["x"=2]>\nfunc.func', "sdy"),
        ("stablehlo.add", "mhlo.add", "mhlo"),
        ("stablehlo.add %a, %b :", '"foo.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) ->', "foo"),
    ],
)
def test_a_dialect_that_is_not_read_is_refused_by_its_name(
    old: str, new: str, dialect: str
) -> None:
    with pytest.raises(UnsupportedError) as told:
        IREE.compile(SUM.replace(old, new, 1))
    assert told.value.reason == f"the dialect {dialect} is not read by this runtime"
    assert told.value.line


def test_arguments_that_do_not_fit_are_refused(total: Executable) -> None:
    with pytest.raises(ArgumentError, match=r"argument 1 must be float32\[4\], got float64\[4\]"):
        total(np.ones(4, np.float32), np.ones(4))


def test_a_syntax_error_is_told_with_its_place() -> None:
    with pytest.raises(ParseError) as caught:
        IREE.compile(SUM.replace("%a, %b :", "%a, %missing :"))
    assert (caught.value.line, caught.value.column) == (3, 26)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            '"stablehlo.cholesky"(%a) {lower = true} : (tensor<2x2xf64>) -> tensor<2x2xf64>',
            "iree does not take stablehlo.cholesky",
        ),
        ("stablehlo.tanh %a : tensor<2x2xf64>", "iree has no tanh to link the module with"),
    ],
)
def test_what_iree_lacks_is_refused_by_name(operation: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=f"^{message}$"):
        IREE.compile(UNARY.replace("OPERATION", operation))


def test_a_refusal_keeps_the_first_lines_that_tell_an_error() -> None:
    errors = [f"m:{line}: error: no" for line in range(4)]
    told = str(_refusal("\n".join(["warning", *errors]), 1))
    assert told == "\n".join(["iree refused the module: m:0: error: no", *errors[1:3]])
    assert str(_refusal(" it broke \n", 1)) == "iree refused the module: it broke"
    assert str(_refusal("", 7)) == "iree refused the module: it ended with status 7"


def test_status_bears_that_nothing_of_iree_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "iree.compiler")
    monkeypatch.setitem(sys.modules, "iree", None)
    assert not IREE.status().ready


@pytest.mark.parametrize("side", ["compiler", "runtime"])
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, side: str) -> None:
    monkeypatch.setitem(sys.modules, f"iree.{side}", None)
    text = f"the iree runtime needs iree-base-{side}: pip install 'topos-compiler[iree]'"
    assert IREE.status() == (False, text)
    with pytest.raises(UnavailableError) as caught:
        IREE.compile(SUM)
    assert str(caught.value) == text


def test_a_broken_package_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "iree").mkdir()
    (tmp_path / "iree" / "__init__.py").write_text("raise OSError('not an ELF file')")
    program = (
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
        "from topos import errors, runtimes\nstatus = runtimes.load('iree').status()\n"
        f"try: runtimes.load('iree').compile({SUM!r})\n"
        "except errors.UnavailableError as error: assert str(error) == status.detail\n"
        "print(status.detail)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert done.stdout.decode().strip() == (
        "the iree runtime cannot find iree-base-compiler: OSError: not an ELF file"
    )


@pytest.mark.parametrize("name", ["o", "output", STATISTICS])
def test_the_result_goes_nowhere_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(CompileError, match=f"goes to this process, got option '{name}'"):
        IREE.compile(SUM, options={name: str(tmp_path / "out")})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["o={}#", "-o", "o ", "", "9", "opt=1\n"])
def test_an_option_is_the_name_of_a_flag(tmp_path: Path, name: str) -> None:
    smuggled = name.format(tmp_path / "out")
    with pytest.raises(CompileError, match=r"^iree's options are flags named without dashes, got"):
        IREE.compile(SUM, options={smuggled: "1"})
    assert not list(tmp_path.iterdir())


def test_a_binary_that_is_no_module_is_a_compile_error() -> None:
    with pytest.raises(CompileError, match=r"^iree cannot load what it compiled: "):
        IREE.compile(SUM, options={"compile-to": "input"})


def test_a_compiler_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(CrashError, match=r"stopped after 0\.001 seconds$"):
        IREE.compile(SUM, options={"timeout": 0.001})
    with pytest.raises(CompileError, match="timeout needs a number of seconds"):
        IREE.compile(SUM, options={"timeout": "soon"})


def test_a_compiler_that_dies_is_told_by_its_signal(tmp_path: Path) -> None:
    tool = tmp_path / "iree-compile"
    tool.write_text("#!/bin/sh\nkill -SEGV $$\n")
    tool.chmod(0o755)
    with pytest.raises(CrashError, match=r"^iree's compiler died of SIGSEGV$"):
        compiled(lambda _: str(tool), b"", [], 10.0)
