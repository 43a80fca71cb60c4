"""What every runtime keeps of the contract, whatever executes the text."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.answers import THREE, Answer
from tests.runtimes.require import require
from tests.runtimes.texts import ELEMENTS
from topos import runtimes
from topos.errors import (
    ArgumentError,
    CompileError,
    ExecutionError,
    PostureError,
    UnavailableError,
)
from topos.runtimes import ArrayType

TEXT = "func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }"


def test_names_are_the_files() -> None:
    assert runtimes.names() == ("interpreter", "iree", "reference", "xla")
    assert tuple(runtimes.status()) == runtimes.names()


def test_an_unknown_runtime_is_told_with_the_known_ones() -> None:
    message = "^no runtime is called 'nope'; there are interpreter, iree, reference, xla$"
    with pytest.raises(UnavailableError, match=message):
        runtimes.load("nope")


@pytest.mark.parametrize("name", runtimes.names())
def test_numerics_are_two_words(name: str) -> None:
    require(name)
    for posture in ("exact", "fast"):
        assert runtimes.load(name).compile(TEXT, numerics=posture)(np.float32(1.5))[0] == 1.5
    with pytest.raises(PostureError, match=r"^numerics are 'exact' or 'fast', got 'precise'$"):
        runtimes.load(name).compile(TEXT, numerics="precise")


@pytest.mark.parametrize("name", runtimes.names())
def test_an_unknown_option_is_refused(name: str) -> None:
    require(name)
    with pytest.raises(CompileError, match="nope"):
        runtimes.load(name).compile(TEXT, options={"nope": 1})


@pytest.mark.parametrize("name", runtimes.names())
@pytest.mark.parametrize("module", [None, 5])
def test_a_module_has_one_of_its_forms(name: str, module: Any) -> None:
    require(name)
    message = rf"^a module needs to be text, .*, got {type(module).__name__}$"
    with pytest.raises(ArgumentError, match=message):
        runtimes.load(name).compile(module)


@pytest.mark.parametrize("name", runtimes.names())
@pytest.mark.parametrize("options", [[("nope", 1)], {1: 2}, 5])
def test_options_are_a_mapping_of_names(name: str, options: Any) -> None:
    require(name)
    with pytest.raises(ArgumentError, match=r"^options need a mapping of names to values, got"):
        runtimes.load(name).compile(TEXT, options=options)


@pytest.mark.parametrize("name", ["xla", "iree", "reference"])
def test_an_executable_of_a_process_is_not_pickled(name: str) -> None:
    require(name)
    executable = runtimes.load(name).compile(TEXT)
    message = f"^an executable of {name} lives in its process: pickle the text$"
    with pytest.raises(ExecutionError, match=message):
        pickle.dumps(executable)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ((), "the module has 1 results, and 0 came"),
        ((THREE[:1],), r"result 0 must be float32\[3\], and float32\[1\] came"),
        ((THREE.astype(np.float64),), r"result 0 must be float32\[3\], and float64\[3\] came"),
    ],
)
def test_results_are_those_of_the_signature(
    results: tuple[npt.NDArray[Any], ...], message: str
) -> None:
    with pytest.raises(ExecutionError, match=f"^{message}$"):
        Answer(*results)(THREE)


class Unconvertible:
    def __array__(self, *_: Any, **__: Any) -> npt.NDArray[Any]:
        raise RuntimeError("no array today")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ([[1.0], [1.0, 2.0]], r"argument 0 must be float32\[3\], got list: setting an array"),
        (Unconvertible(), r"argument 0 .* got Unconvertible: no array today$"),
        (THREE.astype(">f4"), r"argument 0 must be float32\[3\], got big-endian float32\[3\]$"),
    ],
)
def test_an_argument_that_is_no_array_of_the_machine_is_refused(
    argument: Any, message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        Answer(THREE)(argument)


class BrokenFinder:
    """A finder of modules that fails at jax, iree and lark."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if name in ("jax", "iree", "lark"):
            raise RuntimeError("half an installation")
        return None


def test_status_bears_a_finder_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [*sys.modules]:
        if module.partition(".")[0] in ("jax", "iree", "lark"):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [BrokenFinder(), *sys.meta_path])
    for name, package in [
        ("interpreter", "lark"),
        ("iree", "iree-base-compiler"),
        ("reference", "jax"),
        ("xla", "jax"),
    ]:
        reason = f"the {name} runtime cannot find {package}: RuntimeError: half an installation"
        assert runtimes.status()[name] == (False, reason)
        with pytest.raises(UnavailableError, match=f"^{reason}$"):
            runtimes.load(name).compile(TEXT)


def test_the_interpreter_without_lark_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lark", None)
    reason = "the interpreter runtime needs lark: pip install 'topos-compiler'"
    assert runtimes.load("interpreter").status() == (False, reason)
    with pytest.raises(UnavailableError, match=f"^{reason}$"):
        runtimes.load("interpreter").compile(TEXT)


@pytest.mark.parametrize("name", runtimes.names())
def test_every_element_keeps_its_bits(name: str) -> None:
    require(name)
    arguments = (
        np.array([1.5, -0.0], ml_dtypes.bfloat16),
        np.array(1.5, np.float16),
        np.array([0.1, 3.0]),
        np.array([True, False, True]),
        np.array([2**40 + 1, -1]),
        np.zeros((0, 3), np.float32),
    )
    executable = runtimes.load(name).compile(ELEMENTS)
    assert executable.signature.arguments[0] == ArrayType((2,), np.dtype(ml_dtypes.bfloat16))
    a, b, c, d, e, f = arguments
    expected = [a + a, np.asarray(b * b), c / c, ~d, e + e, -f]
    results = executable(*arguments)
    assert len(results) == len(expected)
    for ours, theirs in zip(results, expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.tobytes() == theirs.tobytes()
