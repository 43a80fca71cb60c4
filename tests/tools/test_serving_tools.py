"""The tools that measure and wear out a server start, find what is wrong, and leave nothing."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.project.paths import ROOT

# A server is forked with what ends it beside its parent; where another test of this process has
# imported jax, that warns of any fork.
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")

TOOLS = ROOT / "tools"
LIMIT = 150.0


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    """The modules of the tools by name, imported as the commands import them."""
    path, known = list(sys.path), set(sys.modules)
    sys.path[:0] = [str(TOOLS), str(TOOLS / "bench")]
    names = ("serving_bundles", "serving_wire", "serving_process")
    soak = ("soak", "soak_clients", "soak_malformed")
    yield {name: importlib.import_module(name) for name in (*names, *soak)}
    sys.path[:] = path
    for name in set(sys.modules) - known:
        if name.startswith(("serving_", "soak", "digits_cnn_model")):
            del sys.modules[name]


@pytest.fixture(scope="module")
def truths(modules: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("bundles") / "pair"
    return modules["serving_wire"].Truths.of(modules["serving_bundles"].pair(folder))


def test_truths_tell_rows_of_another_place(truths: Any) -> None:
    own = {name: array[[3, 4]] for name, array in truths.results.items()}
    assert truths.fault((3, 4), own) == ""
    assert truths.same_bits((3, 4), own)
    assert "is off by" in truths.fault((4, 3), own)
    assert "was due" in truths.fault((3,), own)
    nothing = {name: np.full_like(array, np.nan) for name, array in own.items()}
    assert "is off by nan" in truths.fault((3, 4), nothing)


@pytest.mark.parametrize("wire", ["json", "binary"])
def test_the_wire_brings_arrays_back_to_the_bit(
    modules: dict[str, ModuleType], truths: Any, wire: str
) -> None:
    module = modules["serving_wire"]
    feeds = truths.feeds((0, 5))
    headers, body = module.body_of(feeds, module.Wire(wire))
    length = int(headers.get(module.HEADER, len(body)))
    text = json.loads(body[:length])
    answer = json.dumps({"model_version": "7", "outputs": text["inputs"]}).encode()
    headers[module.HEADER] = str(len(answer))
    back = module.read_answer(headers, answer + body[length:])
    assert back.version == "7"
    assert {name: array.tobytes() for name, array in back.results.items()} == {
        name: array.tobytes() for name, array in feeds.items()
    }
    with pytest.raises(ValueError, match="left over"):
        module.read_answer(headers, answer + body[length:] + b"x")


def test_an_answer_of_other_rows_or_of_another_version_is_a_fault(
    modules: dict[str, ModuleType], truths: Any
) -> None:
    soak, wire = modules["soak_clients"], modules["serving_wire"]
    clients = soak.Clients(1, {"pair": {truths.version: truths}}, {}, 0)
    asked, reply = soak.Asked("pair", (1, 2), False, b""), soak.Reply
    for version, rows in ((truths.version, [1, 2]), (truths.version, [2, 1]), ("other", [1, 2])):
        results = {name: array[rows] for name, array in truths.results.items()}
        outputs = json.loads(wire.body_of(results, wire.Wire.JSON)[1])["inputs"]
        body = json.dumps({"model_version": version, "outputs": outputs}).encode()
        assert clients.judged(asked, reply(200, {}, body)) is None
    assert clients.judged(asked, reply(429, {"retry-after": "1"}, b"")) == 1.0
    assert clients.judged(asked, reply(429, {}, b"")) is None
    assert clients.judged(asked, reply(500, {}, b"")) is None
    assert clients.counts["right: to the bit"] == 1
    assert clients.counts["FAULT: wrong answer"] == 2
    assert clients.counts["FAULT: lost"] == 2


def test_a_refusal_needs_a_status_of_the_client_and_the_field(
    modules: dict[str, ModuleType],
) -> None:
    case = modules["soak_malformed"].Malformed("a case", b"", "inputs[0].shape")
    assert case.fault(400, b'{"error": "inputs[0].shape: needs rows"}') == ""
    assert "was to be named" in case.fault(400, b'{"error": "something is wrong"}')
    assert "4xx was due" in case.fault(500, b'{"error": "inputs[0].shape: needs rows"}')
    assert "4xx was due" in case.fault(200, b"{}")
    assert "in JSON was due" in case.fault(400, b"inputs[0].shape: needs rows")


def test_the_trend_of_memory_leaves_the_warming_out(modules: dict[str, ModuleType]) -> None:
    growth = modules["soak"].growth
    samples = list(enumerate([1.0] * 10 + [100.0] * 30 + [108.0] * 30))
    assert growth(samples, 10.0) == pytest.approx(0.08)
    assert growth(samples, 35.0) == 0.0


def test_a_server_that_does_not_start_is_told_and_ended(
    modules: dict[str, ModuleType], tmp_path: Path
) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such bundle')"]
    process = modules["serving_process"]
    with (
        pytest.raises(RuntimeError, match="no such bundle"),
        process.serving(command, tmp_path),
    ):
        pass


def test_the_bench_of_servers_runs() -> None:
    done = _run(
        "bench/serving.py", "batching", "--rounds=1", "--seconds=0.2", "--runtimes=interpreter"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("requests a second, on over off") == 3


def test_a_short_soak_finds_no_fault_and_leaves_no_process() -> None:
    done = _run("soak.py", "--minutes=0.1", "--runtime=interpreter")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SIGTERM ended the server" in done.stdout
    assert "0 faults" in done.stdout


def _run(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(TOOLS / command), *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
