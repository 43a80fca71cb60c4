"""The moons are separated, the boundary is drawn, and the same seed leaves the same files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.commands import FOREIGN, command, run
from tests.examples.tables import row
from topos import runtimes

for package in ("sklearn", "rich", "matplotlib"):
    pytest.importorskip(package)
PNG = b"\x89PNG\r\n\x1a\n"


def test_the_boundary_is_learned_and_drawn(tmp_path: Path) -> None:
    done = run("moons.py", tmp_path, "--epochs", "60", absent=FOREIGN)
    assert done.returncode == 0, done.stderr
    found = re.search(r"test accuracy (\d+\.\d)%, on 200 points", done.stdout)
    assert found
    assert float(found[1]) >= 93
    assert row(done.stdout, "interpreter")[1::2] == ["bits equal", "bits equal"]
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {"moons.mlir", "moons.png"}
    picture = (tmp_path / "demo" / "moons.png").read_bytes()
    assert picture.startswith(PNG)
    assert b"matplotlib" not in picture.lower()
    module = (tmp_path / "demo" / "moons.mlir").read_text(encoding="utf-8")
    signature = runtimes.load("interpreter").compile(module).signature
    assert [each.shape for each in signature.results] == [(61 * 61, 1)]


def test_an_exact_training_of_one_seed_leaves_the_same_files(tmp_path: Path) -> None:
    options = ("--epochs", "2", "--numerics", "exact", "--seed", "5", "--out")
    results = [run("moons.py", tmp_path, *options, name, absent=FOREIGN) for name in ("one", "two")]
    losses = [re.findall(r"loss \d\S+|accuracy \S+", each.stdout) for each in results]
    assert len(losses[0]) == 2
    assert losses[0] == losses[1]
    for suffix in ("mlir", "png"):
        first, second = (tmp_path / f"{name}.{suffix}" for name in ("one", "two"))
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("package", "message"),
    [
        ("rich", "the examples need rich: pip install 'topos-compiler[examples]'"),
        ("sklearn", "the moons need scikit-learn: pip install 'topos-compiler[examples]'"),
        ("matplotlib", "a picture needs matplotlib: pip install 'topos-compiler[examples]'"),
    ],
)
def test_a_missing_package_is_one_line(tmp_path: Path, package: str, message: str) -> None:
    done = command("moons.py", tmp_path, "--epochs", "1", absent=[package])
    assert (done.returncode, done.stderr) == (2, f"{message}\n")


def test_an_option_out_of_range_is_refused(tmp_path: Path) -> None:
    done = run("moons.py", tmp_path, "--epochs", "0")
    assert done.returncode == 2
    assert "--epochs needs 1 to 100000, got 0" in done.stderr
    assert list(tmp_path.iterdir()) == []
