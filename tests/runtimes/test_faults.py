"""What the foreign runtimes get wrong: made right or refused by their adapters, and wrong bare."""

from __future__ import annotations

import importlib.util
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.project.paths import ROOT
from tests.runtimes.require import require
from topos import runtimes
from topos.errors import ToposError, UnsupportedError, VerifyError
from topos.runtimes.xla.module import bindings
from topos.runtimes.xla.rewrites import needed_flags, rewrite

SPECIFICATION = importlib.util.spec_from_file_location("faults", ROOT / "tools/faults.py")
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
TOOL: Any = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(TOOL)

GUIDE = ROOT / "docs" / "guides" / "runtimes.md"
PACKAGES = {"iree": "iree-base-compiler", "reference": "jaxlib", "xla": "jaxlib"}
OVERWRITES = """({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        stablehlo.return %b : tensor<f32>
      })"""
FAULTS = {
    f"{runtime}-{name}": (runtime, fault)
    for runtime in TOOL.RUNTIMES
    for name, fault in TOOL.faults(runtime).items()
}


def test_the_guide_has_the_table(tmp_path: Path) -> None:
    assert TOOL.main(["--check", str(GUIDE)]) == 0
    page = tmp_path / "page.md"
    page.write_text(GUIDE.read_text(encoding="utf-8").replace("| `xla` | ", "| `alx` | "))
    assert TOOL.main(["--check", str(page)]) == 1


@pytest.mark.parametrize("name", FAULTS)
def test_a_module_is_right_through_the_adapter_or_refused(name: str) -> None:
    runtime, fault = FAULTS[name]
    require(runtime)
    for numerics in fault.numerics:
        if fault.refused or fault.isolated:
            with pytest.raises(ToposError) as raised:
                run(runtime, fault, numerics)
            told = f"{type(raised.value).__name__}: {raised.value}"
            assert told.startswith(fault.refused or "CrashError: ")
        else:
            run(runtime, fault, numerics)


@pytest.mark.parametrize("name", [name for name in FAULTS if FAULTS[name][1].results is not None])
def test_the_interpreter_gives_the_right_results(name: str) -> None:
    run("interpreter", FAULTS[name][1], "exact")


@pytest.mark.parametrize("simplified", [False, True])
def test_xla_gets_a_module_without_faults_as_it_is(simplified: bool) -> None:
    require("xla")
    ir, make_context = bindings()
    plain = """func.func @main(%x: tensor<4x3xf32>, %i: tensor<i32>, %u: tensor<1x3xf32>,
        %j: tensor<2x1xi32>, %k: tensor<1xi32>, %v: tensor<2x3xf32>)
        -> (tensor<1x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<4x3xf32>,
            tensor<4x3xf32>) {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %n = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.dynamic_slice %x, %i, %n, sizes = [1, 3]
        : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
      %1 = stablehlo.add %x, %x : tensor<4x3xf32>
      %2 = stablehlo.dynamic_slice %1, %i, %n, sizes = [2, 3]
        : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
      %3 = stablehlo.dynamic_update_slice %x, %u, %i, %n
        : (tensor<4x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
      %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1]
        : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
      %5 = "stablehlo.scatter"(%x, %j, %v) <{scatter_dimension_numbers = #stablehlo.scatter<
        update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
        index_vector_dim = 1>}> BODY
        : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
      %c = stablehlo.constant dense<1> : tensor<1xi32>
      %p = stablehlo.concatenate %k, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %w = stablehlo.slice %v [0:1, 0:2] : (tensor<2x3xf32>) -> tensor<1x2xf32>
      %6 = "stablehlo.scatter"(%x, %p, %w) <{scatter_dimension_numbers = #stablehlo.scatter<
        update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> BODY
        : (tensor<4x3xf32>, tensor<2xi32>, tensor<1x2xf32>) -> tensor<4x3xf32>
      return %0, %2, %3, %4, %5, %6 : tensor<1x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>,
        tensor<4xf32>, tensor<4x3xf32>, tensor<4x3xf32>
    }""".replace("BODY", OVERWRITES)
    with make_context():
        module = ir.Module.parse(plain)
        before = str(module)
        rewrite(ir, module, plain, simplified)
        assert str(module) == before
        assert not needed_flags(ir, module)


@pytest.mark.parametrize("runtime", TOOL.RUNTIMES)
def test_a_row_of_the_table_needs_no_other_one(runtime: str) -> None:
    for name, fault in TOOL.faults(runtime).items():
        assert not fault.fault.startswith(("It ", "One ", "So ", "The same ")), name
        assert fault.rewritten != "the same", name


@pytest.mark.parametrize("runtime", TOOL.RUNTIMES)
def test_an_elided_or_a_short_resource_is_refused_by_its_name(runtime: str) -> None:
    require(runtime)
    text = TOOL.faults("xla")["resource"].module.partition("{-#")[0]
    with pytest.raises(UnsupportedError, match=r"^a constant needs its elements, and the text"):
        runtimes.load(runtime).compile(text)
    for element, got in ("f32", 12), ("i1", 3):
        short = f"""func.func @main() -> tensor<4x{element}> {{
          %0 = stablehlo.constant dense_resource<w> : tensor<4x{element}>
          return %0 : tensor<4x{element}>
        }}
        {{-# dialect_resources: {{ builtin: {{ w: "0x04000000{"00" * got}" }} }} #-}}"""
        with pytest.raises(VerifyError, match=rf"^the resource w needs .*{element}>, got {got}$"):
            runtimes.load(runtime).compile(short)


@pytest.mark.parametrize("runtime", TOOL.RUNTIMES)
def test_the_bare_runtime_still_gets_them_wrong(runtime: str) -> None:
    require(runtime)
    if not hasattr(os, "fork"):
        pytest.skip("the modules run in forks")
    outcomes = TOOL.raw(runtime)
    called = f"{PACKAGES[runtime]} {version(PACKAGES[runtime])}"
    needless = [
        f"{called} no longer needs {name}: delete the entry and what the adapter does for it"
        for name, fault in TOOL.faults(runtime).items()
        if not TOOL.is_needed(fault, outcomes[name])
    ]
    assert not needless, "\n".join(needless)


def run(runtime: str, fault: Any, numerics: str) -> None:
    options = {"isolated": True} if fault.isolated and runtime != "interpreter" else None
    executable = runtimes.load(runtime).compile(fault.module, numerics=numerics, options=options)
    results = executable(*TOOL.arrays(fault.arguments, executable.signature.arguments))
    right = TOOL.arrays(fault.results, executable.signature.results)
    # As text, in which a NaN is like itself.
    assert [str(each.tolist()) for each in results] == [str(each.tolist()) for each in right]
    assert [each.tobytes() for each in results] == [each.tobytes() for each in right]
