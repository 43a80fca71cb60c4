"""The classifier of digits is trained, exported and served, as its tutorial says."""

from __future__ import annotations

import json
import re
import shutil
import socket
from pathlib import Path
from textwrap import indent

import numpy as np
import pytest

from tests.examples.commands import EXAMPLES, command, run
from tests.examples.shell_pages import run_page, steps
from tests.project.paths import ROOT

load_digits = pytest.importorskip("sklearn.datasets").load_digits
for package in ("rich", "matplotlib", "msgspec", "uvicorn"):
    pytest.importorskip(package)
TUTORIAL, GUIDE = (ROOT / f"docs/guides/{name}.md" for name in ("digits_served", "serving"))
ALONE = ("iree.compiler",)


needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="the pages ask with curl")


@needs_curl
def test_the_tutorial_goes_as_it_says(tmp_path: Path) -> None:
    commands = [step.command.split()[0] for step in steps(TUTORIAL.read_text(encoding="utf-8"))]
    assert {"python", "topos", "curl", "kill"} <= set(commands)
    run_page(TUTORIAL, tmp_path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the example has written its bundle, and what it printed."""
    folder = tmp_path_factory.mktemp("trained")
    done = run("digits_served.py", folder, "--epochs", "2", absent=ALONE)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@needs_curl
def test_the_guide_goes_as_it_says(trained: tuple[Path, str]) -> None:
    run_page(GUIDE, trained[0])


def test_the_tutorial_quotes_the_example() -> None:
    example = (EXAMPLES / "digits_served.py").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        # The page has it without the indentation of its function.
        assert indent(block, "    ").strip() in example


def test_the_bundle_names_as_many_digits_right_as_training_tells(
    trained: tuple[Path, str],
) -> None:
    from topos.serving import Session

    folder, told = trained
    digits = load_digits()
    tests = np.random.default_rng(0).permutation(len(digits.data))[1500:]
    images = (digits.images[tests] / 16).astype(np.float32)[:, None]
    with Session(folder / "demo" / "digits", runtime="interpreter") as session:
        assert session.model("digits").rows == (1, 8)
        guesses = session.infer("digits", {"images": images})["scores"].argmax(1)
    share = np.mean(guesses == digits.target[tests])
    assert f"test accuracy {share:.1%}, on 297 digits" in told
    assert share > 0.9

    (tensor,) = json.loads((folder / "demo" / "digits.json").read_bytes())["inputs"]
    asked = np.array(tensor["data"], np.float32).reshape(tensor["shape"])
    assert asked.tobytes() == images[:1].tobytes()
    (*_, last) = told.splitlines()
    assert last == f"demo/digits.json asks for one digit, which is a {digits.target[tests[0]]}"
    assert guesses[0] == digits.target[tests[0]]


def test_serving_is_that_of_the_command(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        options = ("--epochs", "1", "--serve", "--runtime", "interpreter", "--port", port)
        done = run("digits_served.py", tmp_path, *options, absent=ALONE)
    assert done.returncode == 2
    assert done.stderr == f"cannot listen on 127.0.0.1, port {port}: Address already in use\n"


def test_what_is_no_bundle_is_left_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    done = run("digits_served.py", tmp_path, "--epochs", "1", "--out", "kept", absent=ALONE)
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
    # In this process the modules that need it are loaded, and miss nothing.
    done = command("digits_served.py", tmp_path, absent=["msgspec"])
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line == "a bundle needs msgspec: pip install 'topos-compiler[export]'"


def test_a_port_out_of_range_is_refused(tmp_path: Path) -> None:
    done = run("digits_served.py", tmp_path, "--port", "65536")
    assert done.returncode == 2
    assert "--port needs 0 to 65535, got 65536" in done.stderr
