"""The commands that the guide to exports names for the judges of a bundle judge one."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.project.paths import ROOT
from topos import Tape, bf16
from topos.bundle import Bundle, check, evaluator_verdicts, export, validator_verdicts
from topos.engine import Plan

for package in ("msgspec", "safetensors", "jaxlib"):
    pytest.importorskip(package)

GUIDE = (ROOT / "docs/guides/export.md").read_text(encoding="utf-8")


def commands(judge: str) -> list[str]:
    """Returns the commands that the guide has for a judge, run by this Python."""
    (set_there,) = re.findall(rf'^export TOPOS_STABLEHLO_{judge}="(topos .+)"$', GUIDE, re.M)
    named = re.findall(r"`(tools/validate_stablehlo.py)`", GUIDE) if judge == "VALIDATOR" else []
    return [f"{shlex.quote(sys.executable)} {words}" for words in (f"-m {set_there}", *named)]


def plan() -> Plan:
    tape = Tape(element=bf16)
    left, right = (tape.input(shape=[2], name=name) for name in ("left", "right"))
    (left * right).named("product")
    return tape.into_network().entry(["product"]).lower()


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bundle:
    monkeypatch.chdir(ROOT)
    return export(tmp_path / "bundle", plan())


def test_the_validators_of_the_guide_accept_a_module_and_refuse_another(
    bundle: Bundle, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.mlir"
    broken.write_text(bundle.programs[0].text.replace("stablehlo.multiply", "stablehlo.multiple"))
    found = commands("VALIDATOR")
    assert len(found) == 2
    for command in found:
        assert [
            each.state.name for each in validator_verdicts(command, check(bundle, []), tmp_path)
        ] == ["HOLDS"]
        done = subprocess.run([*shlex.split(command), broken], capture_output=True, check=False)
        assert done.returncode == 1


def test_the_evaluator_of_the_guide_exchanges_the_arrays_that_it_says(
    bundle: Bundle, tmp_path: Path
) -> None:
    (command,) = commands("EVALUATOR")
    (verdict,) = evaluator_verdicts(command, check(bundle, ["interpreter"]), tmp_path)
    assert verdict.state.passes
    module, arguments, results = (tmp_path / name for name in ("m.mlir", "a.npz", "r.npz"))
    module.write_text(bundle.programs[0].text, encoding="utf-8")
    halves, twos = (np.array([value] * 2, bf16.dtype) for value in (0.5, 2.0))
    np.savez(arguments, arg0=halves.view(np.uint16), arg1=twos.view(np.uint16))
    words = [*shlex.split(command), *map(str, (module, arguments, results))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(results) as answered:
        assert answered.files == ["result0"]
        assert answered["result0"].view(bf16.dtype).tolist() == [1.0, 1.0]
