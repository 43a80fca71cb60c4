"""`topos bench` as a shell would call it: its table, its JSON, its picture and its refusals."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topos import Plan, Tape, runtimes
from topos.bundle import export
from topos.bundle.measurement import Measurement
from topos.bundle.trial import Trial
from topos.cli import _bench_picture as picture
from topos.cli import main
from topos.engine import Numerics
from topos.errors import CompileError
from topos.runtimes import Executable, Status
from topos.runtimes.interpreter import Interpreter
from topos.runtimes.xla import Xla

Captured = pytest.CaptureFixture[str]

QUICK = ["--runtime", "interpreter", "--seconds", "0.05"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("bundles") / "mlp"
    export(path, [plan(rows) for rows in (1, 4)], batched=True, name="mlp")
    return str(path)


def plan(rows: int) -> Plan:
    tape = Tape()
    x = tape.input(np.zeros((rows, 3), np.float32), name="x")
    w = tape.parameter(np.ones((3, 2), np.float32), name="w")
    y = (x @ w).named("y")
    return tape.into_network().entry([y.symbol]).lower()


def measured(captured: Captured) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(captured.readouterr().out)["measurements"]
    return found


def test_the_table_has_a_line_for_each_number_of_rows(bundle: str, capsys: Captured) -> None:
    assert main(["bench", bundle, *QUICK]) == 0
    title, blank, headings, *lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"mlp [0-9a-f]{12}: fast numerics, 1 thread, 0.05 s each", title)
    assert blank == ""
    names = ["runtime", "rows", "compile", "first call", "p50", "p90", "p99", "max"]
    assert re.split(r"\s{2,}", headings) == [*names, "calls/s", "rows/s", "memory"]
    cells = [re.split(r"\s{2,}", line) for line in lines]
    assert [line[:2] for line in cells] == [["interpreter", "1"], ["interpreter", "4"]]
    for line in cells:
        assert all(re.fullmatch(r"[0-9.,]+ (s|ms|µs)", cell) for cell in line[2:8])
        assert all(re.fullmatch(r"[0-9.,]+", cell) for cell in line[8:10])
        assert line[10] == "-"


def test_json_has_every_figure(bundle: str, capsys: Captured) -> None:
    assert main(["bench", bundle, *QUICK, "--json", "--rows", "4", "--threads", "2"]) == 0
    (found,) = measured(capsys)
    assert (found["runtime"], found["program"], found["rows"]) == ("interpreter", "rows4", 4)
    assert 0 < found["p50"] <= found["p90"] <= found["p99"] <= found["max"] < 10
    assert found["calls"] >= 2
    assert found["calls_per_second"] == pytest.approx(found["calls"] / found["elapsed"])
    assert found["rows_per_second"] == pytest.approx(4 * found["calls_per_second"])
    assert found["compilation"] > 0
    assert found["first_call"] > 0
    assert found["failure"] is None


def test_memory_is_what_the_runtime_tells(bundle: str, capsys: Captured) -> None:
    if not Xla().status().ready:
        pytest.skip("xla is not installed")
    command = ["bench", bundle, "--runtime", "xla", "--rows", "4", "--seconds", "0.05"]
    assert main([*command, "--json"]) == 0
    (found,) = measured(capsys)
    # Two arguments and a result of float32 at the least.
    assert found["memory"] >= 4 * (12 + 6 + 8)


def test_the_picture_is_written_whole(bundle: str, tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "bench.png"
    target.write_bytes(b"before")
    assert main(["bench", bundle, *QUICK, "--png", str(target)]) == 0
    content = target.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    assert width == 1440
    assert height > 300
    assert [each.name for each in tmp_path.iterdir()] == ["bench.png"]
    assert capsys.readouterr().err == f"picture written to {target}\n"


def test_a_picture_nowhere_is_refused_before_anything_is_measured(
    bundle: str, tmp_path: Path, capsys: Captured
) -> None:
    folder = tmp_path / "none"
    assert main(["bench", bundle, *QUICK, "--png", str(folder / "bench.png")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"--png needs a folder for the picture, and {folder} is none\n"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (f"{'x' * 300}.png", "--png {path}: File name too long"),
        ("taken.png", "--png needs a file for the picture, and {path} is a folder"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_measured(
    bundle: str, tmp_path: Path, capsys: Captured, name: str, reason: str
) -> None:
    (tmp_path / "taken.png").mkdir()
    path = tmp_path / name
    assert main(["bench", bundle, *QUICK, "--png", str(path)]) == 2
    assert capsys.readouterr() == ("", f"{reason.format(path=path)}\n")


def test_a_picture_is_in_the_unit_of_what_it_shows() -> None:
    quick = [Measurement("a", "main", rows, np.full(9, 2e-5), elapsed=1.0) for rows in (1, 4)]
    slow = [replace(each, rows=None, latencies=np.full(9, 0.02)) for each in quick]
    for found, unit, what in ((quick, "µs", "rows"), (slow, "ms", "calls")):
        latency, throughput = picture._figure("", found).axes
        assert latency.get_xlabel().startswith(f"{unit} a call: ")
        assert {
            float(line.get_xdata()[0]) for line in latency.lines if len(line.get_xdata()) == 2
        } >= {20.0}
        assert throughput.get_xlabel() == f"{what} a second"
        assert float(throughput.lines[0].get_xdata()[0]) == 9.0


def test_a_picture_shows_the_percentiles_of_each_case() -> None:
    latencies = np.linspace(1e-6, 1e-4, 100)
    found = [
        Measurement(name, "main", rows, latencies * rows, elapsed=2.0)
        for name in ("a", "b")
        for rows in (1, 3)
    ]
    latency, throughput = picture._figure("", found).axes
    bars = [(bar.get_x(), bar.get_width()) for bar in latency.patches]
    assert bars == [pytest.approx(each) for each in [(10, 80)] * 2 + [(30, 240)] * 2]
    drawn = [each for line in latency.lines[:3] for each in line.get_xdata()]
    assert drawn == pytest.approx([1, 100, 99, 50])
    assert [text.get_text() for text in latency.texts] == ["50.0"] * 2 + ["150"] * 2
    assert [text.get_text() for text in throughput.texts] == ["50.0"] * 2 + ["150"] * 2
    labels = [label.get_text() for label in latency.get_yticklabels()]
    assert labels == ["1 row  a", "1 row  b", "3 rows  a", "3 rows  b"]
    assert latency.lines[-1].get_ydata()[0] == throughput.lines[-1].get_ydata()[0] == 1.5


@pytest.mark.parametrize("name", ["bench.xyz", "bench", "bench.svg"])
def test_a_picture_is_a_png_by_its_name(
    bundle: str, tmp_path: Path, capsys: Captured, name: str
) -> None:
    path = tmp_path / name
    assert main(["bench", bundle, *QUICK, "--png", str(path)]) == 2
    needs = "--png needs a file whose name ends with .png"
    assert capsys.readouterr().err == f"{needs}, got {str(path)!r}\n"
    assert not path.exists()


@pytest.mark.parametrize("after", [1, 3])
def test_an_interrupt_tells_what_was_measured(
    bundle: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    turns = []
    whole = Trial.round

    def interrupted(self: Trial, seconds: float, threads: int) -> None:
        turns.append(self.program.rows)
        if len(turns) > after:
            raise KeyboardInterrupt
        whole(self, seconds, threads)

    monkeypatch.setattr(Trial, "round", interrupted)
    assert main(["bench", bundle, *QUICK, "--json"]) == 130
    captured = capsys.readouterr()
    assert "interrupted: what follows was measured until then" in captured.err
    calls = {each["rows"]: each["calls"] for each in json.loads(captured.out)["measurements"]}
    assert calls[1] > 0
    assert (calls[4] > 0) == (after > 1)


def test_a_program_that_a_runtime_refuses_stops_no_other(
    bundle: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Interpreter.compile

    def choosy(
        self: Interpreter,
        text: str,
        *,
        numerics: Numerics | str | None = None,
        options: Mapping[str, Any] | None = None,
        **rest: Any,
    ) -> Executable:
        # The verifier asks the interpreter for types alone, without numerics.
        if "4x3" in text and numerics is not None:
            raise CompileError("four rows are too many\nand more of it")
        return whole(self, text, numerics=numerics or Numerics.FAST, options=options, **rest)

    monkeypatch.setattr(Interpreter, "compile", choosy)
    assert main(["bench", bundle, *QUICK]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert re.search(r"interpreter +1 .* [0-9,.]+ +[0-9,.]+ +-$", lines[3])
    assert re.fullmatch(r"interpreter +4( +-){9}", lines[4])
    assert lines[-1] == "interpreter: four rows are too many"


def test_a_runtime_that_is_not_ready_is_named(
    bundle: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Xla, "status", lambda self: Status(False, "jax is missing"))
    assert main(["bench", bundle, "--runtime", "xla"]) == 2
    assert capsys.readouterr().err == "jax is missing\n"


def test_what_is_not_ready_is_noted_where_nobody_chose(
    bundle: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Xla, "status", lambda self: Status(False, "jax is missing"))
    for name in ("iree", "reference"):
        monkeypatch.setattr(type(runtimes.load(name)), "status", lambda self: Status(False, "away"))
    for words, notes in (
        (["--seconds", "0.01"], ["iree is not ready: away", "reference is not ready: away"]),
        (QUICK, []),
    ):
        assert main(["bench", bundle, *words]) == 0
        told = capsys.readouterr().out.splitlines()
        noted = [line for line in told if "is not ready: away" in line]
        assert noted == notes
        assert ("xla is not ready: jax is missing" in told) == bool(notes)


def test_rows_that_no_program_has_are_refused(bundle: str, capsys: Captured) -> None:
    assert main(["bench", bundle, *QUICK, "--rows", "3"]) == 1
    assert capsys.readouterr().err == f"{bundle} has no program of 3 rows, but of 1, 4\n"


def test_a_single_row_is_no_several(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "mlp"
    assert repr(export(path, plan(1), batched=True)).endswith(", 1 row)")
    export(path, plan(4), batched=True)
    assert main(["bench", str(path), *QUICK, "--rows", "1"]) == 1
    assert capsys.readouterr().err == f"{path} has no program of 1 row, but of 4\n"


def test_a_damaged_bundle_is_refused(tmp_path: Path, capsys: Captured) -> None:
    export(tmp_path / "mlp", plan(2))
    weights = tmp_path / "mlp" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert main(["bench", str(tmp_path / "mlp"), *QUICK]) == 1
    assert "weights.safetensors" in capsys.readouterr().err
    assert main(["bench", str(tmp_path / "none"), *QUICK]) == 1
    assert str(tmp_path / "none") in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--seconds", "0", "needs seconds above 0 and up to a day, got '0'"),
        ("--seconds", "nan", "needs seconds above 0 and up to a day, got 'nan'"),
        ("--rows", "0", "needs a whole number from 1 on, got '0'"),
        ("--threads", "two", "needs a whole number from 1 on, got 'two'"),
        ("--runtime", "tpu", "invalid choice: 'tpu'"),
    ],
)
def test_wrong_usage_is_told(
    bundle: str, capsys: Captured, option: str, value: str, told: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", bundle, option, value])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_more_threads_than_make_sense_are_refused(bundle: str, capsys: Captured) -> None:
    assert main(["bench", bundle, *QUICK, "--threads", "257"]) == 2
    assert capsys.readouterr().err == "--threads takes at most 256, got 257\n"


def test_a_base_installation_says_what_a_bundle_needs(bundle: str) -> None:
    script = (
        "import sys; sys.modules['msgspec'] = None; from topos.cli import main; "
        f"sys.exit(main(['bench', {bundle!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr == "a bundle needs msgspec: pip install 'topos-compiler[export]'\n"
