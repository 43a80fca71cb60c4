"""`import topos` is light: it loads the core and none of what only some programs need."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import pytest

from tests.project.paths import ROOT

LATE = (
    "jax",
    "jaxlib",
    "iree",
    "lark",
    "numba",
    "topos.backend.chain",
    "topos.emit",
    "topos.runtimes",
)
# The core is small enough that its modules can be counted; a new one raises this number.
MOST_MODULES = 80
LIST = "import json, sys, topos; print(json.dumps(sorted(sys.modules)))"


@cache
def loaded() -> tuple[str, ...]:
    """Returns the modules that a fresh process holds after `import topos`."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LIST],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=60,
    )
    return tuple(json.loads(done.stdout))


@pytest.mark.parametrize("package", LATE)
def test_import_topos_does_not_load(package: str) -> None:
    assert [name for name in loaded() if name == package or name.startswith(f"{package}.")] == []


def test_import_topos_loads_few_modules_of_its_own() -> None:
    own = [name for name in loaded() if name.split(".")[0] == "topos"]
    assert "topos.graph.tape" in own
    assert len(own) <= MOST_MODULES
