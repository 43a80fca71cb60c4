"""Imports point down; the upward ones are the doors that pyproject.toml lists."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.project.paths import ROOT, package_modules


def contract() -> dict[str, Any]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (tiers,) = settings["tool"]["importlinter"]["contracts"]
    return dict(tiers)


def late_imports(name: str, path: Path) -> Iterator[tuple[str, str]]:
    """Yields the imports of topos that are written inside a function of the module `name`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        for node in ast.walk(function):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("topos"):
                yield name, node.module or ""


# What stands on packages that an installation may lack; a command imports it when it runs, and so
# do the functions of `topos.runtimes` that read a text.
OPTIONAL = ("topos.bundle", "topos.serving")


def test_every_import_points_down_and_every_listed_door_is_used() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout


def test_a_late_import_crosses_a_listed_door_or_stays_inside_its_layer() -> None:
    doors = {tuple(door.split(" -> ")) for door in contract()["ignore_imports"]}
    strays = [
        f"{name} imports {target}"
        for name, path in package_modules().items()
        for name, target in late_imports(name, path)
        if (name, target) not in doors
        and name.split(".")[:2] != target.split(".")[:2]
        and not (name.startswith("topos.cli.") and target.startswith(OPTIONAL))
        and not (name == "topos.runtimes._texts" and target.startswith("topos.stablehlo"))
    ]
    assert strays == []


def test_every_top_level_module_has_its_layer() -> None:
    layers = "|".join(contract()["layers"]).split("|")
    listed = {name.strip().removeprefix("topos.") for name in layers}
    present = {name.split(".")[1] for name in package_modules() if name.count(".")}
    assert present <= listed
