"""What the foreign runtimes get wrong: made right or refused by their adapters, and wrong bare."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.project.paths import ROOT
from tests.runtimes.faults import TOOL, run
from tests.runtimes.require import require
from topos import runtimes
from topos.errors import UnsupportedError, VerifyError

GUIDE = ROOT / "docs" / "guides" / "runtimes.md"
PACKAGES = {"iree": "iree-base-compiler", "reference": "jaxlib", "xla": "jaxlib"}
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


@pytest.mark.parametrize("name", [name for name in FAULTS if FAULTS[name][1].results is not None])
def test_the_interpreter_gives_the_right_results(name: str) -> None:
    run("interpreter", FAULTS[name][1], "exact")


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
