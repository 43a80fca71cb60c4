"""`topos bundle` as a shell would call it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.bundle.bundled_modules import NAMES, WEIGHTS, images
from topos.bundle import Bundle
from topos.cli import main
from topos.cli._reporting import FAILED, status_of

Captured = pytest.CaptureFixture[str]
NAMED = ("--names", ",".join(NAMES))
FILLED = (*NAMED, "--weights", "w.safetensors")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules, weights and a sample."""
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file(WEIGHTS, tmp_path / "w.safetensors")
    numpy.save_file({"image": np.full((2, 8, 8), 7, np.uint8)}, tmp_path / "s.safetensors")
    numpy.save_file({**WEIGHTS, "more": WEIGHTS["b"]}, tmp_path / "more.safetensors")
    (tmp_path / "digits.mlir").write_text(images())
    (tmp_path / "faulty.mlir").write_text(images().replace("stablehlo.add", "stablehlo.ad"))
    open_rows = (
        "func.func @main(%t: tensor<?x4xi32>) -> tensor<?x4xi32> { return %t : tensor<?x4xi32> }"
    )
    (tmp_path / "open.mlir").write_text(open_rows)
    names = {"arg0": "w", "arg1": "b", "arg2": "image", "result0": "logits"}
    (tmp_path / "names.json").write_text(json.dumps(names))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_module_becomes_a_bundle_that_is_checked_and_benched(
    project: Path, capsys: Captured
) -> None:
    assert main(["bundle", "digits.mlir", *FILLED, "--sample", "s.safetensors"]) == 0
    version = Bundle.load("digits").version
    told = f"digits: digits {version}\n(image: ui8[2, 8, 8]) -> (logits: f32[2, 3])\n"
    assert capsys.readouterr().out == told
    (call,) = Bundle.load("digits").programs[0].sample()
    assert np.unique(call.inputs["image"]).tolist() == [7]
    assert main(["check", "digits", "--runtime", "interpreter"]) == 0
    assert main(["bench", "digits", "--runtime", "interpreter", "--seconds", "0.01"]) == 0


def test_names_come_from_a_file_and_rows_and_ranges_from_the_line(project: Path) -> None:
    words = ("--names", "names.json", "--weights", "more.safetensors", "--partial", "--batched")
    assert main(["bundle", "digits.mlir", *words, "--out", "a", "--name", "b", "--seed", "3"]) == 0
    assert (Bundle.load("a").name, Bundle.load("a").programs[0].rows) == ("b", 2)
    assert main(["bundle", "digits.mlir", *words, "--out", "c"]) == 0
    first, other = (Bundle.load(name).programs[0].sample()[0].inputs["image"] for name in "ac")
    assert first.tobytes() != other.tobytes()
    assert main(["bundle", "open.mlir", "--rows", "1,3", "--ranges", "arg0=0:9"]) == 0
    assert [program.rows for program in Bundle.load("open").programs] == [1, 3]
    assert main(["bundle", "open.mlir", "--shapes", "arg0=2x4", "--ranges", "arg0=0:9"]) == 0
    assert [str(port) for port in Bundle.load("open").inputs] == ["arg0: i32[2, 4]"]


REFUSED = {
    ("faulty.mlir",): (1, "faulty.mlir:11:13: no operation is called stablehlo.ad; did you mean"),
    ("digits.mlir", "--weights", "w.safetensors"): (
        1,
        "no argument is called 'b'; no argument is called 'w'",
    ),
    ("digits.mlir", "--weights", "none"): (2, "none: No such file or directory"),
    ("digits.mlir", *NAMED, "--weights", "more.safetensors"): (1, "no argument is called 'more'"),
    ("digits.mlir", "--names", "w.safetensors.json"): (2, "w.safetensors.json: No such file"),
    ("digits.mlir", "--sample", "w.safetensors"): (1, "a sample names 'b', and the inputs of a"),
    ("digits.mlir", "--out", "w.safetensors"): (1, "an export replaces bundles only"),
    ("none.mlir",): (2, "none.mlir: No such file or directory"),
    ("open.mlir",): (1, "open.mlir: a bundle needs static shapes, and @main leaves arg0"),
    ("open.mlir", "--shapes", "arg0=2x4"): (1, "--ranges draws integers"),
    ("open.mlir", "--shapes", "arg0=2x4", "--rows", "3"): (1, "with shapes of arg0"),
    ("open.mlir", "--names", ""): (2, "names are texts, got ''"),
    ("digits.mlir", *NAMED, "--weights", ""): (2, "'': No such file or directory"),
    ("-",): (2, "a module on standard input needs --out, the folder to write"),
}


@pytest.mark.parametrize("words", REFUSED, ids=lambda words: " ".join(words))
def test_what_is_no_bundle_says_why(
    project: Path, capsys: Captured, words: tuple[str, ...]
) -> None:
    status, reason = REFUSED[words]
    assert main(["bundle", *words]) == status
    assert reason in capsys.readouterr().err
    assert not (project / "digits").exists()


@pytest.mark.parametrize(
    "words",
    [
        *[("--shapes", "a"), ("--shapes", "a=2,a=3"), ("--rows", "0")],
        *[("--ranges", "a=b"), ("--ranges", "a=0:9,a=0:2")],
    ],
    ids=" ".join,
)
def test_an_option_of_another_form_is_a_wrong_usage(words: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bundle", "m.mlir", *words])
    assert ended.value.code == 2


def test_memory_that_is_not_there_is_told_in_one_line(capsys: Captured) -> None:
    assert status_of(lambda: len(bytearray(1 << 62)), "m.mlir") == FAILED
    assert capsys.readouterr().err == "m.mlir: needs more memory than there is\n"
