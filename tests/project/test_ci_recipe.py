"""The commands of the workflow in docs/recipes/conformance do what the workflow is for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.project.paths import ROOT
from tests.runtimes.require import require

for package in ("msgspec", "safetensors"):
    pytest.importorskip(package)

RECIPE = ROOT / "docs" / "recipes" / "conformance"
WORKFLOW = (RECIPE / "conformance.yml").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^ +- run: (.+)$", WORKFLOW, re.M)
VARIABLES = dict(re.findall(r"^ +(TOPOS_\w+): (.+)$", WORKFLOW, re.M))


def test_the_guide_shows_the_commands_of_the_recipe() -> None:
    guide = (ROOT / "docs" / "guides" / "export.md").read_text(encoding="utf-8")
    assert "\n".join(each for each in COMMANDS if not each.startswith("pip ")) in guide


def test_the_recipe_installs_extras_that_there_are() -> None:
    (first,) = (each for each in COMMANDS if each.startswith("pip "))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, extra = re.findall(r"'([\w-]+)\[(\w+)\]'", first)[0]
    assert name == project["name"]
    assert extra in project["optional-dependencies"]


def test_the_commands_of_the_recipe_pass_and_a_wrong_bundle_fails(tmp_path: Path) -> None:
    require("xla")
    assert sorted(VARIABLES) == ["TOPOS_STABLEHLO_EVALUATOR", "TOPOS_STABLEHLO_VALIDATOR"]
    folder = shutil.copytree(RECIPE, tmp_path / "project")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **VARIABLES, "PATH": path}

    def run(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True
        )

    own = [each for each in COMMANDS if not each.startswith("pip ")]
    for command in own:
        done = run(command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        if " check " in command:
            assert re.search(r"^validator .*holds$", done.stdout, re.M)
            assert re.search(r"^evaluator ", done.stdout, re.M)
    assert "1 passed" in done.stdout
    weights = folder / "model" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    (check,) = (each for each in own if each.startswith("topos check model --"))
    assert run(check).returncode == 1
