"""Exclusive or is learned, and every runtime trains the emitted step to the same loss."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.commands import FOREIGN, command, run
from tests.examples.tables import row
from topos import runtimes

pytest.importorskip("rich")


def test_the_answers_are_learned_and_every_runtime_trains(tmp_path: Path) -> None:
    done = run("xor.py", tmp_path, "--steps", "120")
    assert done.returncode == 0, done.stderr
    learned = re.findall(r"│ ([01]) │ ([01]) │ ([01]) +│ (\d\.\d{3})", done.stdout)
    assert [(x, y) for x, y, _, _ in learned] == [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]
    for x, y, wanted, answer in learned:
        assert int(wanted) == int(x) ^ int(y)
        assert abs(float(answer) - int(wanted)) < 0.02
    losses: dict[str, float] = {}
    for name, status in runtimes.status().items():
        state, distance, duration, trained = row(done.stdout, name)
        assert state.startswith("ready:" if status.ready else f"the {name}")
        assert (distance == duration == trained == "-") is not status.ready
        losses |= {name: float(trained)} if status.ready else {}
    assert row(done.stdout, "interpreter")[1] == "bits equal"
    assert losses["interpreter"] < 0.01
    assert all(loss == pytest.approx(losses["interpreter"], rel=1e-2) for loss in losses.values())


def test_the_module_takes_parameters_state_and_samples(tmp_path: Path) -> None:
    done = run("xor.py", tmp_path, "--steps", "1", "--out", "here/step.mlir", absent=FOREIGN)
    assert done.returncode == 0, done.stderr
    module = (tmp_path / "here" / "step.mlir").read_text(encoding="utf-8")
    signature = runtimes.load("interpreter").compile(module).signature
    weights = [(2, 8), (8,), (8, 1), (1,)]
    state = [(), *weights, *weights]
    assert [each.shape for each in signature.arguments] == [*weights, *state, (4, 2), (4, 1)]
    assert [each.shape for each in signature.results] == [*weights, *state, ()]


def test_a_module_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run("xor.py", tmp_path, "--out", "file/xor.mlir")
    assert done.returncode == 1
    assert done.stderr.startswith("file/xor.mlir cannot be written: ")
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--steps", "0"], "--steps needs 1 to 100000, got 0"), (["--seed", "-1"], "--seed needs 0")],
)
def test_an_option_out_of_range_is_refused(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = run("xor.py", tmp_path, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_rich_one_line_names_the_extra(tmp_path: Path) -> None:
    done = command("xor.py", tmp_path, absent=["rich"])
    assert done.returncode == 2
    assert done.stderr == "the examples need rich: pip install 'topos-compiler[examples]'\n"
