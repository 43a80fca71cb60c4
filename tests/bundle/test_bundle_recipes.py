"""The programs of the guide load bundles where topos cannot be imported."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bundle.bundled_models import attention, mlp, rewritten
from tests.project.paths import ROOT
from topos import Activation, bf16, f64
from topos.bundle import export

GUIDE = (ROOT / "docs" / "guides" / "export.md").read_text(encoding="utf-8")
NEEDS = {"jax": ("jax", "safetensors"), "IREE": ("iree.compiler", "iree.runtime", "safetensors")}
BLOCKED = """
import sys
sys.modules["topos"] = None
try:
    import topos
except ImportError:
    exec(compile(open(sys.argv.pop(1)).read(), "recipe", "exec"))
"""


def recipe(name: str) -> str:
    found = re.search(
        rf"^### Plain {name}\n.*?```python\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE
    )
    assert found
    return found[1]


def answers(name: str, bundle: Path, folder: Path) -> list[list[str]]:
    """Returns what the program of the guide prints of a bundle: name, share and place."""
    path = folder / "recipe.py"
    path.write_text(recipe(name), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-P", "-c", BLOCKED, str(path), str(bundle)],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return [line.rsplit(" ", 2) for line in done.stdout.splitlines()]


@pytest.fixture(params=NEEDS)
def name(request: pytest.FixtureRequest) -> str:
    for package in NEEDS[request.param]:
        pytest.importorskip(package)
    return str(request.param)


def test_a_program_of_the_guide_agrees_with_the_oracle(name: str, tmp_path: Path) -> None:
    # A GELU is one operation of CHLO in the text, and StableHLO in the artifact.
    export(tmp_path / "b", [mlp(rows, activation=Activation.GELU) for rows in (2, 5)], batched=True)
    told = answers(name, tmp_path / "b", tmp_path)
    assert [(each, place) for each, _, place in told] == [("scores", "inside")] * 2


@pytest.mark.parametrize("element", [f64, bf16], ids=str)
def test_it_takes_elements_of_any_width(name: str, element: object, tmp_path: Path) -> None:
    plan = attention(element=bf16 if element is bf16 else f64)
    told = answers(name, plan.export(tmp_path / "b").path, tmp_path)
    assert [place for *_, place in told] == ["inside"] * 2


def test_it_tells_wrong_weights(name: str, tmp_path: Path) -> None:
    mlp(seed=1).export(tmp_path / "b")
    other = mlp(seed=2).export(tmp_path / "other").path
    (tmp_path / "b" / "weights.safetensors").write_bytes(
        (other / "weights.safetensors").read_bytes()
    )
    rewritten(tmp_path / "b")
    told = answers(name, tmp_path / "b", tmp_path)
    assert [place for *_, place in told] == ["OUTSIDE"] * 2
