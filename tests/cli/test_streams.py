"""Commands and the three streams of a shell: read from, written to, and closed before the start."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from topos.cli import main

TEXT = """\
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  return %a : tensor<2x4xf32>
}
"""

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "m.mlir"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def stdin(text: str) -> io.TextIOWrapper:
    """Returns a standard input that holds a text."""
    return io.TextIOWrapper(io.BytesIO(text.encode()))


def test_run_of_a_text_on_standard_input(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", stdin(TEXT))
    assert main(["run", "-", "--random", "1"]) == 0
    assert "float32[2, 4]" in capsys.readouterr().out


def test_print_reads_the_generic_form_on_standard_input(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    generic = (
        '"func.func"() <{function_type = (tensor<i8>) -> tensor<i8>, sym_name = "main"}> ({\n'
        '^bb0(%a: tensor<i8>):\n  %0 = "stablehlo.not"(%a) : (tensor<i8>) -> tensor<i8>\n'
        '  "func.return"(%0) : (tensor<i8>) -> ()\n}) : () -> ()\n'
    )
    monkeypatch.setattr("sys.stdin", stdin(generic))
    assert main(["print", "-"]) == 0
    assert "    %0 = stablehlo.not %a : tensor<i8>\n" in capsys.readouterr().out


def test_a_command_that_is_interrupted_says_so_in_a_line(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Interrupted()))
    assert main(["run", "-", "--random", "1"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_closed_standard_input_is_told(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main(["validate", "-"]) == 2
    assert capsys.readouterr().err == "-: standard input is closed\n"


def test_results_for_a_closed_standard_output_are_a_failure(
    module: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["run", module, "--random", "1"]
    monkeypatch.setattr("sys.stdout", None)
    assert main(command) == 1
    assert capsys.readouterr().err == "standard output takes nothing more: Bad file descriptor\n"
    # Results in a file need no standard output.
    assert main([*command, "--out", str(tmp_path / "r.npz")]) == 0


def test_a_closed_standard_error_leaves_standard_output_to_results(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", None)
    assert main(["validate", str(tmp_path / "none.mlir")]) == 2
    assert capsys.readouterr().out == ""


def test_a_byte_order_mark_is_skipped(
    module: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(module).write_text(TEXT, encoding="utf-8-sig")
    assert main(["validate", module]) == 0
    monkeypatch.setattr("sys.stdin", stdin(f"\N{ZERO WIDTH NO-BREAK SPACE}{TEXT}"))
    assert main(["validate", "-"]) == 0
    Path(module).write_text(f"\n\N{ZERO WIDTH NO-BREAK SPACE}{TEXT}", encoding="utf-8")
    assert main(["validate", module]) == 1
