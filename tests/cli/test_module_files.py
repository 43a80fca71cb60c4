"""What the commands say of files that are no text of a module."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.stablehlo.binary_forms import artifact_of, bytecode_of
from topos.cli import main

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "m.mlir"
    path.write_text("func.func @main() {\n  return\n}\n", encoding="utf-8")
    return str(path)


def test_an_artifact_without_jaxlib_is_told_with_its_text_where_a_manifest_pairs_them(
    module: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jaxlib", None)
    (tmp_path / "rows1.mlirbc").write_bytes(b"ML\xefR\x01StableHLO")
    (tmp_path / "m.mlirbc").write_bytes(b"ML\xefR\x01StableHLO")
    program = {"artifact": {"name": "rows1.mlirbc"}, "module": {"name": "m.mlir"}}
    (tmp_path / "manifest.json").write_text(json.dumps({"programs": [program]}))
    needs = "MLIR bytecode needs jaxlib: pip install 'topos-compiler[xla]'"
    for name, told in (
        ("rows1.mlirbc", f"{needs}; its text is {module}\n"),
        # A text of the same name beside it may be another module's.
        ("m.mlirbc", f"{needs}\n"),
    ):
        path = tmp_path / name
        assert main(["validate", str(path)]) == 2
        assert capsys.readouterr().err == f"{path}: {told}"


def test_binary_forms_are_read_from_files_and_from_standard_input(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jaxlib")
    text = "func.func @main(%arg0: tensor<2xf32>) {\n  return\n}\n"
    for path, data in (
        ("a.mlir", text.encode()),
        ("b", artifact_of(text)),
        ("c", bytecode_of(text)),
    ):
        (tmp_path / path).write_bytes(data)

    def said(*words: str) -> str:
        assert main([*words]) == 0
        return capsys.readouterr().out

    a, b, c = (str(tmp_path / name) for name in ("a.mlir", "b", "c"))
    assert said("validate", a, b) == f"{a}: valid\n{b}: valid\n"
    assert said("print", c) == said("print", a)
    for command in (["run", "--random", "1"], ["ops"]):
        stdin = io.TextIOWrapper(io.BytesIO((tmp_path / "b").read_bytes()), "utf-8")
        monkeypatch.setattr(sys, "stdin", stdin)
        assert said(*command, "-") == said(*command, a)


def test_a_folder_for_a_module_is_told_with_what_could_be_meant(
    module: str, tmp_path: Path, capsys: Captured
) -> None:
    is_folder = "a module is a file, and this is a folder"
    assert main(["run", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path}: {is_folder} that holds {module}\n"
    for name in "nopq":
        (tmp_path / f"{name}.mlir").touch()
    assert main(["validate", str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith("p.mlir, ...\n")
    (tmp_path / "empty").mkdir()
    assert main(["validate", str(tmp_path / "empty")]) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'empty'}: {is_folder}\n"
    assert main(["validate", long := "x" * 300]) == 2
    assert capsys.readouterr().err == f"{long}: File name too long\n"


@pytest.mark.parametrize("command", ["validate", "print", "ops", "run"])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (b"GGUF\x03", "-: a module needs StableHLO, got a GGUF file: it holds weights alone"),
        (b"\x7f\x02\xff", "-: a module needs UTF-8 text or MLIR bytecode: 'utf-8' codec can't"),
        (b"\x1b[31m\x00\x07", "-:1:1: "),
    ],
)
def test_bytes_on_standard_input_are_told_as_those_of_a_file(
    command: str, given: bytes, told: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The encoding that Python takes in the C locale makes text of any bytes.
    stdin = io.TextIOWrapper(io.BytesIO(given), "utf-8", errors="surrogateescape")
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main([command, "-"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(told)
    assert said.replace("\n", "").isprintable()


def test_a_module_on_standard_input_may_have_a_mark_and_line_ends_of_windows(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = "\ufefffunc.func @main() {\r\n  return\r\n}\r\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), "utf-8"))
    assert main(["validate", "-"]) == 0
    assert capsys.readouterr().out == "-: valid\n"


def test_a_missing_folder_is_told_as_one(module: str, tmp_path: Path, capsys: Captured) -> None:
    nowhere, absent = tmp_path / "nowhere", f"there is no folder {tmp_path / 'nowhere'}"
    for words, told in (
        (
            ["run", module, "--out", f"{nowhere}/r.npz"],
            f"{nowhere}/r.npz: {absent}",
        ),
        (["validate", f"{nowhere}/m.mlir"], f"{nowhere}/m.mlir: {absent}"),
        (["validate", f"{tmp_path}/no.mlir"], f"{tmp_path}/no.mlir: No such file or directory"),
        (["check", str(nowhere)], f"{nowhere}: No such file or directory"),
    ):
        assert main(words) == 2
        assert capsys.readouterr().err == f"{told}\n"
