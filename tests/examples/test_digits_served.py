"""The classifier of digits is trained, exported and served, as its tutorial says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.examples.commands import run
from tests.examples.shell_pages import run_page, steps
from tests.project.paths import ROOT

for package in ("sklearn", "rich", "matplotlib", "msgspec", "uvicorn"):
    pytest.importorskip(package)
TUTORIAL = ROOT / "docs/guides/digits_served.md"
ALONE = "sys.modules.update({'iree.compiler': None})"


@pytest.mark.skipif(not shutil.which("curl"), reason="the tutorial asks with curl")
def test_the_tutorial_goes_as_it_says(tmp_path: Path) -> None:
    commands = [step.command.split()[0] for step in steps(TUTORIAL.read_text(encoding="utf-8"))]
    assert {"python", "topos", "curl", "kill"} <= set(commands)
    run_page(TUTORIAL, tmp_path)


def test_the_request_is_of_a_digit_that_the_bundle_names_right(tmp_path: Path) -> None:
    from topos.serving import Session

    done = run("digits_served.py", tmp_path, "--epochs", "2", "--out", "here/model", before=ALONE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "here/model.json asks for one digit, which is a 0"
    (tensor,) = json.loads((tmp_path / "here" / "model.json").read_bytes())["inputs"]
    image = np.array(tensor["data"], np.float32).reshape(tensor["shape"])
    with Session(tmp_path / "here" / "model", runtime="interpreter") as session:
        assert session.model("model").rows == (1, 8, 32)
        scores = session.infer("model", {"images": np.repeat(image, 3, axis=0)})["scores"]
    assert scores.argmax(1).tolist() == [0, 0, 0]


def test_what_is_no_bundle_is_left_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    done = run("digits_served.py", tmp_path, "--epochs", "1", "--out", "kept", before=ALONE)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("an export replaces bundles only: ")
    assert [each.name for each in kept.iterdir()] == ["file"]


def test_a_bundle_that_cannot_be_written_stops_the_example_before_it_trains(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    done = run("digits_served.py", tmp_path, "--out", "file/digits")
    assert done.returncode == 1
    assert done.stderr.startswith("file/digits.json cannot be written: ")
    assert done.stdout == ""


def test_a_missing_package_is_one_line_that_names_the_extra(tmp_path: Path) -> None:
    done = run("digits_served.py", tmp_path, before="sys.modules['msgspec'] = None")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line == "a bundle needs msgspec: pip install 'topos-compiler[export]'"


def test_a_port_out_of_range_is_refused(tmp_path: Path) -> None:
    done = run("digits_served.py", tmp_path, "--port", "65536")
    assert done.returncode == 2
    assert "--port needs 0 to 65535, got 65536" in done.stderr
