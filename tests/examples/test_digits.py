"""The demo trains, writes its module, and says what every runtime makes of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.commands import FOREIGN, command, run
from tests.examples.tables import row
from topos import runtimes
from topos.errors import CompileError
from topos.runtimes.interpreter import Interpreter

pytest.importorskip("sklearn")
pytest.importorskip("rich")


def test_the_table_has_every_runtime_and_the_file_their_module(tmp_path: Path) -> None:
    done = run("digits.py", tmp_path, "--epochs", "1")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert re.search(r"test accuracy \d+\.\d%, on 297 digits", done.stdout)
    rows = {name: row(done.stdout, name) for name in runtimes.names()}
    for name, status in runtimes.status().items():
        state, loss, gradients, duration = rows[name]
        assert state.startswith("ready:" if status.ready else f"the {name}")
        assert (loss == gradients == duration == "-") is not status.ready
    assert rows["interpreter"][1:3] == ["bits equal", "bits equal"]

    module = (tmp_path / "demo" / "digits.mlir").read_text(encoding="utf-8")
    signature = runtimes.load("interpreter").compile(module).signature
    assert [each.shape for each in signature.results] == [(), (64, 32), (32,), (32, 10), (10,)]
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["digits.mlir"]


def test_training_reaches_the_promised_accuracy_on_the_interpreter_alone(tmp_path: Path) -> None:
    done = run("digits.py", tmp_path, absent=FOREIGN)
    assert done.returncode == 0, done.stderr
    found = re.search(r"test accuracy (\d+\.\d)%", done.stdout)
    assert found
    assert float(found[1]) >= 93
    *_, last = done.stdout.splitlines()
    assert last == (
        "iree, reference, xla would run the same module:"
        " pip install 'topos-compiler[iree]', pip install 'topos-compiler[xla]'"
    )


def test_a_runtime_that_fails_is_a_row_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise CompileError("it is tired")

    monkeypatch.setattr(Interpreter, "compile", refuse)
    done = run("digits.py", tmp_path, "--epochs", "1", absent=FOREIGN)
    assert done.returncode == 0, done.stderr
    assert row(done.stdout, "interpreter") == ["failed: it is tired", "-", "-", "-"]


def test_the_same_seed_trains_the_same_network(tmp_path: Path) -> None:
    options = ("--epochs", "1", "--batch", "300", "--seed", "7", "--out", "here/one.mlir")
    first, second = (run("digits.py", tmp_path, *options, absent=FOREIGN) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert (tmp_path / "here" / "one.mlir").exists()
    accuracies = [re.findall(r"loss \d\S+|accuracy \S+", each.stdout) for each in (first, second)]
    assert len(accuracies[0]) == 2
    assert accuracies[0] == accuracies[1]


@pytest.mark.parametrize("package", ["sklearn", "rich"])
def test_a_missing_package_is_one_line_that_names_the_extra(tmp_path: Path, package: str) -> None:
    done = command("digits.py", tmp_path, absent=[package])
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line == ("the digits need scikit-learn and rich: pip install 'topos-compiler[examples]'")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "1501"], "--batch needs 1 to 1500, got 1501"),
        (["--epochs", "0"], "--epochs needs 1 to 10000, got 0"),
        (["--seed", "-1"], "--seed needs 0 to"),
    ],
)
def test_an_option_out_of_range_is_refused(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = run("digits.py", tmp_path, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_module_that_cannot_be_written_stops_the_demo_before_it_trains(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run("digits.py", tmp_path, "--out", "file/digits.mlir")
    assert done.returncode == 1
    assert done.stderr.startswith("file/digits.mlir cannot be written: ")
    assert done.stdout == ""
