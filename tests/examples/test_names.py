"""Three models learn the letters of names; the transformer decodes both ways alike."""

from __future__ import annotations

import re
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.examples.commands import FOREIGN, run

pytest.importorskip("rich")
pytest.importorskip("matplotlib")
if find_spec("names") is None:
    pytest.skip("the names are not installed", allow_module_level=True)
MODELS = ("bigram", "perceptron", "transformer")


def costs(output: str) -> list[float]:
    """Returns the nats a letter of each model, on names not seen, then those of the pairs."""
    lines = [rf"{name}: (\d\.\d+) nats a letter, on 512 names" for name in MODELS]
    found = [re.search(line, output) for line in (*lines, r"counted pairs: (\d\.\d+)")]
    assert all(found)
    return [float(each[1]) for each in found if each]


def test_every_model_learns_and_the_transformer_decodes_both_ways_alike(tmp_path: Path) -> None:
    done = run("names.py", tmp_path, "--steps", "100", absent=FOREIGN)
    assert done.returncode == 0, done.stderr
    bigram, perceptron, transformer, pairs = costs(done.stdout)
    # 27 signs drawn alike would cost 3.3; more than pairs helps.
    assert bigram < 2.6
    assert perceptron < 2.3
    assert transformer < 2.3
    assert bigram > pairs > transformer
    assert "read whole, the names have the same bits" in done.stdout
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("│ interp")]
    assert row.count("bits equal") == 2
    assert "12 of 12" in row
    picture = (tmp_path / "demo" / "names.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


def test_the_same_seed_learns_and_invents_the_same(tmp_path: Path) -> None:
    options = "--steps", "5", "--seed", "3"
    first, second = (
        run("names.py", tmp_path, *options, "--out", f"{place}.png", absent=FOREIGN)
        for place in (1, 2)
    )
    assert first.returncode == 0, first.stderr
    assert costs(first.stdout) == costs(second.stdout)
    invented = [
        done.stdout.partition("the losses\n")[2].partition("read whole")[0]
        for done in (first, second)
    ]
    assert invented[0] == invented[1] != ""
    assert (tmp_path / "1.png").read_bytes() == (tmp_path / "2.png").read_bytes()


def test_without_the_package_of_names_the_command_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", none)
    done = run("names.py", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    wanted = "the names need their package: pip install 'topos-compiler[examples]'\n"
    assert done.stderr == wanted
