"""What is built and installed is the one package `topos`, whole."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.project.paths import ROOT, package_modules

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "demo", "*.egg-info")


def packages_on_disk() -> set[str]:
    modules = package_modules()
    return {name for name, path in modules.items() if path.name == "__init__.py"}


@pytest.mark.parametrize("package", sorted(packages_on_disk()))
def test_a_package_says_what_it_is(package: str) -> None:
    assert importlib.import_module(package).__doc__


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from a copy of the tree, so that no build folder is left in it."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "tree", ignore=LEFT_OUT)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder), str(folder / "tree")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_every_module_under_one_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (points,) = (name for name in names if name.endswith("/entry_points.txt"))
        entry_points = archive.read(points).decode()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"topos"}
    modules = {
        name.replace(".", "/") + ("/__init__.py" if path.name == "__init__.py" else ".py")
        for name, path in package_modules().items()
    }
    assert {name for name in names if name.endswith(".py")} == modules
    assert "topos/py.typed" in names
    assert "topos/stablehlo/parser/grammar.lark" in names
    assert "topos/stablehlo/parser/grammar.tables" in names
    # A pytest plugin among them would be imported by every run of pytest in the environment.
    assert entry_points == "[console_scripts]\ntopos = topos.cli:main\n"
    licences = [name for name in names if name.rpartition("/")[2].startswith("LICENSE-")]
    assert len(licences) == 2


def test_the_wheel_runs_without_the_tree(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import topos, topos.emit, topos.runtimes\n"
        "print(topos.__file__, topos.runtimes.__file__, *topos.runtimes.names())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        timeout=60,
    )
    package, runtimes, *names = done.stdout.split()
    assert Path(package) == tmp_path / "topos" / "__init__.py"
    assert Path(runtimes) == tmp_path / "topos" / "runtimes" / "__init__.py"
    folders = [path.parent.name for path in (ROOT / "topos" / "runtimes").glob("*/__init__.py")]
    assert names == sorted(set(folders) - {"grade"})
