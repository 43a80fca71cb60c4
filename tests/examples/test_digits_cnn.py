"""The convolutional classifier reaches its accuracy and serves by every runtime."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.examples.commands import EXAMPLES, FOREIGN, run
from tests.examples.tables import row
from topos import runtimes

for package in ("sklearn", "rich", "matplotlib"):
    pytest.importorskip(package)


def accuracy(output: str) -> float:
    found = re.search(r"test accuracy (\d+\.\d)%, on 297 digits", output)
    assert found
    return float(found[1])


def test_training_reaches_the_promised_accuracy(tmp_path: Path) -> None:
    # Fewer passes than by default, which leaves a margin above the promise all the same.
    done = run("digits_cnn.py", tmp_path, "--epochs", "6", absent=FOREIGN)
    assert done.returncode == 0, done.stderr
    assert accuracy(done.stdout) >= 97
    folder = tmp_path / "demo"
    assert {path.name for path in folder.iterdir()} == {"digits_cnn.mlir", "digits_cnn.png"}
    assert (folder / "digits_cnn.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_inference_runs_everywhere_by_running_statistics(tmp_path: Path) -> None:
    done = run("digits_cnn.py", tmp_path, "--epochs", "1", "--out", "one")
    assert done.returncode == 0, done.stderr
    right = set()
    for name, status in runtimes.status().items():
        state, distance, _, guessed = row(done.stdout, name)
        assert state.startswith("ready:" if status.ready else f"the {name}")
        assert (distance == guessed == "-") is not status.ready
        right |= {guessed} if status.ready else set()
    assert row(done.stdout, "interpreter")[1] == "bits equal"
    assert len(right) == 1
    module = (tmp_path / "one.mlir").read_text(encoding="utf-8")
    shapes = [
        each.shape for each in runtimes.load("interpreter").compile(module).signature.arguments
    ]
    # Filters, scales and shifts, the scores, then the statistics and the digits: no mask.
    weights = [(8, 1, 3, 3), (8,), (8,), (16, 8, 3, 3), (16,), (16,), (144, 10), (10,)]
    assert shapes == [*weights, (8,), (8,), (16,), (16,), (10, 1, 8, 8)]


def test_an_exact_training_of_one_seed_is_one_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    example = import_module("digits_cnn")
    chosen = example.options(["--epochs", "1", "--numerics", "exact", "--seed", "3"])

    def trained() -> list[bytes]:
        samples, _ = example.load(chosen.seed)
        # Two steps: what differs in the first is seen in the second.
        few = example.Samples(*(each[: 2 * example.BATCH] for each in samples))
        recorded = example.record(chosen.seed, chosen.rate, chosen.epochs, example.SERVED)
        with example.progress(example.Console(quiet=True), "epochs") as bar:
            state, statistics = example.train(recorded, few, chosen, bar)
        tensors = [tensor for _, tensor in state.items()]
        tensors += [part for each in statistics for part in (each.mean, each.variance)]
        return [tensor.numpy().tobytes() for tensor in tensors]

    first = trained()
    # Weights, what the optimizer keeps of each, and the statistics of two blocks.
    assert len(first) > 3 * 8 + 4
    assert trained() == first


def test_a_module_that_cannot_be_written_stops_the_example_before_it_trains(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    done = run("digits_cnn.py", tmp_path, "--out", "file/digits")
    assert done.returncode == 1
    assert done.stderr.startswith("file/digits.mlir cannot be written: ")
    assert done.stdout == ""
