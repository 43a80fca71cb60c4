"""What the commands say of files that are no text of a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from topos.cli import main

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "m.mlir"
    path.write_text("func.func @main() {\n  return\n}\n", encoding="utf-8")
    return str(path)


def test_a_portable_artifact_is_told_with_its_text(
    module: str, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "m.mlirbc").write_bytes(b"ML\xefR\x01StableHLO")
    (tmp_path / "alone.mlirbc").write_bytes(b"ML\xefR\x01StableHLO")
    (tmp_path / "other").write_bytes(b"\xef nothing")
    needs = "a module needs StableHLO text, got MLIR bytecode, a portable artifact"
    for name, told in (
        ("m.mlirbc", f"{needs}; its text is {module}\n"),
        ("alone.mlirbc", f"{needs}\n"),
        ("other", "a module needs UTF-8 text: 'utf-8' codec can't decode byte 0xef"),
    ):
        path = tmp_path / name
        assert main(["validate", str(path)]) == 1
        assert capsys.readouterr().err.startswith(f"{path}: {told}")


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
