"""What `topos bench` measures: rounds in turn, calls from threads, the rank of a percentile."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos import Tape
from topos.bundle import Bundle, export
from topos.bundle.measurement import Measurement
from topos.bundle.trial import ROUNDS, rounds, trials
from topos.cli import _progress
from topos.cli._progress import follow
from topos.engine import Numerics
from topos.errors import ExecutionError
from topos.runtimes import Executable, ModuleSignature, Runtime, Status
from topos.runtimes.interpreter import RUNTIME
from topos.stablehlo import ModuleLike

Array = npt.NDArray[Any]


class Clock:
    """The module `time` where it stands still but for the calls of a runtime."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clock, "now", 100.0)
    for module in ("topos.runtimes._timing", "topos.bundle.trial"):
        monkeypatch.setattr(f"{module}.time", Clock())


class Sleeping(Runtime):
    """A runtime whose calls take a stated time and are written down."""

    def __init__(self, name: str, seconds: float, calls: list[str], most: int = 10**9) -> None:
        self.label, self.seconds, self.calls, self.most = name, seconds, calls, most
        self.placed = 0
        # How many calls have to be under way before one ends.
        self.together = threading.Barrier(1)

    # A class has one name, and these are several runtimes.
    @property
    def name(self) -> str:  # type: ignore[override]
        return self.label

    def status(self) -> Status:
        return Status(True, "")

    def compile(self, module: ModuleLike, **options: Any) -> Executable:
        Clock.now += 0.5
        return Asleep(RUNTIME.compile(module).signature, self)

    def place(self, array: npt.ArrayLike, **options: Any) -> Any:
        self.placed += 1
        return super().place(array, **options)


class Asleep(Executable):
    """A module that takes its time and answers zeros."""

    def __init__(self, signature: ModuleSignature, runtime: Sleeping) -> None:
        super().__init__(signature)
        self._runtime = runtime

    def execute(self, arguments: list[Array]) -> tuple[Array, ...]:
        runtime = self._runtime
        runtime.calls.append(runtime.label)
        if len(runtime.calls) > runtime.most:
            raise ExecutionError("asleep for good\nfor ever")
        runtime.together.wait(20.0)
        Clock.now += runtime.seconds
        return tuple(np.zeros(each.shape, each.dtype) for each in self.signature.results)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    tape = Tape()
    x = tape.input(np.zeros((2, 3), np.float32), name="x")
    w = tape.parameter(np.ones((3, 2), np.float32), name="w")
    y = (x @ w).named("y")
    plan = tape.into_network().entry([y.symbol]).lower()
    return export(tmp_path_factory.mktemp("bundles") / "product", plan)


def test_trials_take_turns_and_every_other_round_goes_backwards(bundle: Bundle) -> None:
    calls: list[str] = []
    found = trials(bundle, [Sleeping(name, 0.002, calls) for name in "ab"], bundle.programs)
    steps = [step.what for step in rounds(found, 0.02, 1)]
    assert steps[:2] == ["compiling main on a", "compiling main on b"]
    assert [step[-1] for step in steps[2:6]] == ["a", "b", "b", "a"]
    assert len(steps) == 2 * (1 + ROUNDS) + 1
    # Once for the first call, once or more to warm up, and then in the order of the steps.
    turns = [name for name, before in zip(calls, ["", *calls], strict=False) if name != before]
    assert turns[:5] == ["a", "b", "a", "b", "a"]


def test_latencies_are_those_of_the_rounds_alone(bundle: Bundle) -> None:
    calls: list[str] = []
    (trial,) = trials(bundle, [Sleeping("a", 0.004, calls)], bundle.programs)
    for _ in rounds([trial], 0.04, 1):
        pass
    found = trial.measurement
    # The first call and at least one to warm up are left out.
    assert len(found.latencies) == len(calls) - 2
    assert found.latencies == pytest.approx(np.full(ROUNDS, 0.004))
    assert found.compilation == pytest.approx(0.5)
    assert found.first_call == pytest.approx(0.004)
    assert found.elapsed == pytest.approx(0.04)
    assert found.memory is None


def test_a_slow_call_is_not_waited_for_in_every_round(bundle: Bundle) -> None:
    calls: list[str] = []
    (trial,) = trials(bundle, [Sleeping("a", 0.03, calls)], bundle.programs)
    for _ in rounds([trial], 0.05, 1):
        pass
    assert len(trial.measurement.latencies) == 2


def test_threads_call_at_once(bundle: Bundle) -> None:
    runtime = Sleeping("a", 0.01, [])
    (trial,) = trials(bundle, [runtime], bundle.programs)
    trial.prepare()
    runtime.together = threading.Barrier(4)
    trial.round(0.0, 4)
    assert len(trial.measurement.latencies) == 4


def test_a_runtime_holds_the_weights_once(tmp_path: Path) -> None:
    plans = []
    for rows in (1, 2, 4):
        tape = Tape()
        x = tape.input(np.zeros((rows, 3), np.float32), name="x")
        w = tape.parameter(np.ones((3, 2), np.float32), name="w")
        y = (x @ w).named("y")
        plans.append(tape.into_network().entry([y.symbol]).lower())
    bundle = export(tmp_path / "product", plans, batched=True)
    runtime = Sleeping("a", 0.001, [])
    found = trials(bundle, [runtime], bundle.programs)
    for trial in found:
        trial.prepare()
        trial.round(0.001, 1)
    assert runtime.placed == 1
    assert all(len(trial.measurement.latencies) for trial in found)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_runtime_that_fails_later_keeps_what_it_did(bundle: Bundle, threads: int) -> None:
    (trial,) = trials(bundle, [Sleeping("a", 0.001, [], most=12)], bundle.programs)
    trial.prepare()
    trial.round(0.002, threads)
    before = len(trial.measurement.latencies)
    for _ in range(10):
        trial.round(0.01, threads)
    found = trial.measurement
    assert found.failure == "asleep for good"
    assert len(found.latencies) >= before > 0


def test_the_numerics_are_those_asked_for(bundle: Bundle) -> None:
    asked = []

    class Asking(Sleeping):
        def compile(self, module: ModuleLike, **options: Any) -> Executable:
            asked.append(options["numerics"])
            return super().compile(module)

    (trial,) = trials(bundle, [Asking("a", 0.001, [])], bundle.programs, Numerics.EXACT)
    trial.prepare()
    assert asked == [Numerics.EXACT]


def measurement(latencies: list[float], rows: int | None = None) -> Measurement:
    return Measurement("a", "main", rows, np.array(latencies), elapsed=2.0)


def test_a_percentile_is_a_latency_that_took_place() -> None:
    found = measurement([float(number) for number in range(100, 0, -1)], rows=8)
    assert [found.percentile(percent) for percent in (50, 90, 99, 100)] == [50, 90, 99, 100]
    assert measurement([3.0, 1.0]).percentile(50) == 1.0
    assert measurement([3.0, 1.0]).percentile(51) == 3.0
    assert found.calls_per_second == 50
    assert found.rows_per_second == 400
    assert measurement([1.0]).calls_per_second == 0.5


def test_calls_without_rows_are_no_rows() -> None:
    assert measurement([1.0]).rows_per_second is None


def test_a_measurement_of_nothing_has_no_figures() -> None:
    found = Measurement("a", "main", 4, np.zeros(0), failure="no")
    record: Mapping[str, Any] = found.record()
    for name in ("p50", "p90", "p99", "max", "calls_per_second", "rows_per_second"):
        assert record[name] is None
    assert record["calls"] == 0
    assert record["failure"] == "no"


def test_progress_is_told_on_standard_error(
    bundle: Bundle, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_progress, "SECONDS_APART", 0.0)
    follow(rounds(trials(bundle, [Sleeping("a", 0.001, [])], bundle.programs), 0.01, 1))
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0] == "0 of 11: compiling main on a"
    assert lines[1] == "1 of 11: round 1 of 10: main on a"
    assert lines[-1] == "11 of 11: done"


def test_a_terminal_gets_a_bar(
    bundle: Bundle, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(_progress, "SECONDS_APART", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    follow(rounds(trials(bundle, [Sleeping("a", 0.001, [])], bundle.programs), 0.01, 1))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "of 11:" not in captured.err
    assert "━" in captured.err
    assert "\x1b[" in captured.err
