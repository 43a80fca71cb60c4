"""Isolated modules: what ends a worker is told as an error, and the next module runs."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.answers import THREE, Answer, Told
from tests.runtimes.require import require
from tests.runtimes.texts import SUM
from tests.runtimes.workers import process_of
from topos.errors import ArgumentError, CompileError, CrashError, VerifyError
from topos.runtimes import Executable, load
from topos.runtimes._worker import Worker

ISOLATED = {"isolated": True}
ONES = np.ones(4, np.float32)
ENDLESS = """
module @endless {
  func.func @main(%a: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.while(%i = %a) : tensor<i32>
    cond {
      %2 = stablehlo.compare GE, %i, %0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.multiply %i, %a : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }
    return %1 : tensor<i32>
  }
}
"""


def test_what_is_bound_outlives_a_worker() -> None:
    require("xla")
    xla = load("xla")
    bound = xla.compile(SUM, options=ISOLATED).bind({0: xla.place(ONES * 3, options=ISOLATED)})
    process_of(xla)._process.kill()
    process_of(xla)._process.wait()
    # What was bound is bound again in the new worker.
    assert bound(ONES)[0].tolist() == [4.0] * 4
    assert bound.timed([ONES], 0.0, 2).latencies.shape == (2,)


@pytest.mark.parametrize("name", ["xla", "iree"])
def test_a_module_that_does_not_end_is_stopped(name: str) -> None:
    require(name)
    runtime = load(name)
    endless = runtime.compile(ENDLESS, options={**ISOLATED, "timeout": 5})
    endless.terms = endless.terms._replace(seconds=0.2)  # type: ignore[attr-defined]  # No wait.
    message = (
        rf"^the {name} runtime was stopped after 0\.2 seconds while it ran the module @endless"
    )
    with pytest.raises(CrashError, match=message):
        endless(np.array(1, np.int32))


@pytest.mark.parametrize("name", ["xla", "iree"])
def test_a_refusal_comes_out_of_the_worker_as_it_is(name: str) -> None:
    require(name)
    runtime = load(name)
    with pytest.raises(VerifyError) as told:
        runtime.compile(SUM.replace("-> tensor<4xf32> {", "-> tensor<5xf32> {"), options=ISOLATED)
    assert (told.value.line, told.value.column) == (4, 3)
    with pytest.raises(CompileError, match=r"^isolated needs True or False, got 1$"):
        runtime.compile(SUM, options={"isolated": 1})
    with pytest.raises(
        CompileError, match=r"^timeout needs .* above 0 and up to 1,000,000, got 0$"
    ):
        runtime.compile(SUM, options={**ISOLATED, "timeout": 0})
    with pytest.raises(CompileError, match=rf"^{name} has no option 'nope'$"):
        runtime.compile(SUM, options={**ISOLATED, "nope": 1})
    with pytest.raises(ArgumentError, match=r"^options of an isolated module need numbers, texts"):
        runtime.compile(SUM, options={**ISOLATED, "nope": object()})


@pytest.mark.parametrize(("name", "seconds"), [("xla", 600), ("iree", 600), ("reference", 60)])
def test_a_request_has_as_long_as_the_guide_says(name: str, seconds: float) -> None:
    worker = load(name).worker
    assert worker is not None
    assert worker._default == seconds


def test_the_reference_is_isolated_alone() -> None:
    require("reference")
    assert load("reference").compile(SUM, options=ISOLATED)(ONES, ONES)[0].tolist() == [2.0] * 4
    with pytest.raises(
        CompileError, match=r"^the reference runtime runs in a worker process alone"
    ):
        load("reference").compile(SUM, options={"isolated": False})


@pytest.mark.parametrize("isolated", [True, False])
def test_the_interpreter_runs_here_whatever_is_chosen(isolated: bool) -> None:
    runtime, options = load("interpreter"), {"isolated": isolated}
    executable = runtime.compile(SUM, options=options)
    for each in (executable, runtime.deserialize(executable.serialize(), options=options)):
        held = each.bind({0: runtime.place(ONES, options=options)})
        assert held(ONES)[0].tolist() == [2.0] * 4
    with pytest.raises(CompileError, match=r"^isolated needs True or False, got 1$"):
        runtime.compile(SUM, options={"isolated": 1})


ALONE = f"""
import sys
from topos.runtimes import load
load("xla").compile({SUM!r}, options={{"isolated": True}})
assert not {{"jax", "jaxlib"}} & {{*sys.modules}}
"""


def test_the_packages_are_loaded_by_the_worker_alone() -> None:
    require("xla")
    subprocess.run([sys.executable, "-c", ALONE], check=True, timeout=60)


def raised(text: str) -> Executable:
    """Raises what no adapter should, or returns what does."""
    if text == "compile":
        raise TypeError("no such element")
    return Raised(THREE)


class Raised(Answer):
    def execute(self, arguments: list[npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], ...]:
        raise KeyError("nope")


def test_an_exception_of_another_package_is_told_by_its_class() -> None:
    worker = Worker(Told(raised))
    common: dict[str, Any] = {"key": 1, "dropped": [], "seconds": 60.0, "numerics": "fast"}
    request = {**common, "do": "compile", "options": {}, "cache": None}

    def text(word: str) -> list[npt.NDArray[Any]]:
        return [np.frombuffer(word.encode(), np.uint8)]

    reason = "told failed at the module: TypeError: no such element"
    wanted: dict[str, Any] = {"error": "CompileError", "details": [reason]}
    assert worker.answer(request, text("compile")) == (wanted, [])
    assert "error" not in worker.answer(request, text("run"))[0]
    reason = "told failed at the module: KeyError: 'nope'"
    wanted = {"error": "ExecutionError", "details": [reason]}
    assert worker.answer({**common, "do": "run"}, [THREE]) == (wanted, [])


@pytest.mark.parametrize("name", ["xla", "reference"])
@pytest.mark.parametrize("dtype", ["M8[s]", "S3", "i4,f4", ">f4"])
def test_an_array_that_no_tensor_is_cannot_be_placed(name: str, dtype: str) -> None:
    require(name)
    options = ISOLATED if name == "xla" else None
    with pytest.raises(ArgumentError, match=r"^an array needs the elements of a tensor, got "):
        load(name).place(np.zeros(3, dtype), options=options)
