"""The package is a facade: it speaks of the core by public names alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import topos
from tests.project.paths import ROOT, relative
from topos import errors, model

FILES = sorted((ROOT / "topos" / "neural").glob("*.py"))
PUBLIC = {
    "topos": set(topos.__all__),
    "topos.errors": set(errors.__all__),
    "topos.model": set(model.__all__),
    # Files hold elements that no operation takes, of which the surfaces have no names.
    "topos.payload": {"CARRIED"},
}


def imports(path: Path) -> list[tuple[str, str]]:
    """Returns each module of topos that the file imports from, with the name it takes."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "topos":
            found += [(node.module or "", each.name) for each in node.names]
        if isinstance(node, ast.Import):
            found += [(each.name, "") for each in node.names if each.name.startswith("topos")]
    return found


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_a_file_imports_public_names_or_its_neighbours(path: Path) -> None:
    strays = [
        f"{module}: {name}"
        for module, name in imports(path)
        if not module.startswith("topos.neural") and name not in PUBLIC.get(module, set())
    ]
    assert strays == []


def test_a_tape_is_imported_without_the_package() -> None:
    program = (
        "import sys, topos; assert not [m for m in sys.modules if m.startswith('topos.neural')];"
        "topos.Linear, topos.init.xavier; assert 'topos.neural.layers' in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
