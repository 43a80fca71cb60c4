"""`topos serve` as a process: its life from the first line to the exit status."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.serving.serving_bundles import exported_mlp, truth
from tests.serving.serving_http import SECONDS, Reply, exchanged, infer, reply, request

ROWS = np.arange(6, dtype=np.float32).reshape(1, 6) % 5 - 2
QUICK = ("--runtime", "interpreter", "--isolation", "thread", "--port", "0")
INFER = "/v2/models/mlp/infer"
TOKEN = {"authorization": "Bearer some.token"}


class Process(NamedTuple):
    """A server in a process of its own, the lines it printed so far, and what tells of more."""

    process: subprocess.Popen[str]
    lines: list[str]
    more: threading.Condition

    @property
    def port(self) -> int:
        return int(self.until("http://").split(":")[-1].split("/")[0])

    def until(self, text: str) -> str:
        """The first line that has this text, once it is printed."""
        with self.more:
            found = self.more.wait_for(
                lambda: [line for line in self.lines if text in line or not line], SECONDS
            )
        assert found, f"no line has {text!r}: {self.lines}"
        assert found[0], self.lines
        return found[0]

    def read(self) -> None:
        """Takes every line, and an empty one for the end."""
        assert self.process.stdout is not None
        line = "it starts"
        while line:
            line = self.process.stdout.readline()
            with self.more:
                self.lines.append(line)
                self.more.notify_all()

    def ended(self) -> int:
        return self.process.wait(SECONDS)

    def ask(self, path: str, body: bytes = b"", method: str = "GET") -> Reply:
        return exchanged(self.port, request(method, path, body, TOKEN))

    def scores(self) -> bytes:
        answer = self.ask(INFER, infer(ROWS), "POST")
        assert answer.status == 200, answer
        (output,) = json.loads(answer.body)["outputs"]
        return np.array(output["data"], np.float32).reshape(output["shape"]).tobytes()


@contextmanager
def started(*arguments: object) -> Iterator[Process]:
    command = [sys.executable, "-m", "topos", "serve", *map(str, (*arguments, *QUICK))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_environment()
    ) as process:
        found = Process(process, [], threading.Condition())
        reader = threading.Thread(target=found.read)
        reader.start()
        try:
            yield found
        finally:
            process.kill()
            reader.join(SECONDS)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOPOS_")}
    return {**kept, "TOPOS_TOKEN": "some.token"}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve")
    exported_mlp(folder / "one", rows=(1,))
    exported_mlp(folder / "two", rows=(1,), scale=2.0)
    exported_mlp(folder / "three", rows=(1,), scale=3.0)
    return folder


@pytest.fixture
def bundle(template: Path, tmp_path: Path) -> Path:
    return replaced(tmp_path / "mlp", template / "one")


def replaced(bundle: Path, by: Path) -> Path:
    """Puts another bundle where one may stand, as an export does: by its name, at once."""
    made = bundle.with_name("made")
    shutil.copytree(by, made)
    if bundle.exists():
        bundle.rename(bundle.with_name(f"old-{time.monotonic_ns()}"))
    return made.rename(bundle)


def test_a_server_starts_serves_reloads_and_ends(bundle: Path, template: Path) -> None:
    log = bundle.with_name("access.log")
    with started(bundle, "--watch", "--access-log", log) as server:
        first = server.until("http://")
        assert first.startswith("mlp ")
        assert first.endswith(f" serves at http://127.0.0.1:{server.port}/v2/models/mlp\n")
        assert server.scores() == truth(ROWS).tobytes()
        assert exchanged(server.port, request("GET", "/v2")).status == 401

        replaced(bundle, template / "two")
        server.until("mlp is loaded again")
        assert server.scores() == truth(ROWS, 2.0).tobytes()

        # Not yet whole: the manifest is there and the weights are those of another.
        shutil.copy(template / "three" / "manifest.json", bundle)
        server.until("mlp serves on as it was: ")
        assert server.scores() == truth(ROWS, 2.0).tobytes()
        for file in (template / "three").iterdir():
            shutil.copy(file, bundle)
        _until(lambda: server.scores() == truth(ROWS, 3.0).tobytes())
        _until(lambda: _reloads(server) == 2)
        server.process.send_signal(signal.SIGTERM)
        assert server.ended() == 0
    # Files that change without another version of the bundle load nothing.
    assert _reloads(server) == 2
    paths = {json.loads(line)["path"] for line in log.read_bytes().splitlines()}
    assert paths == {"/v2/models/{model}/infer", "unknown"}


def _reloads(server: Process) -> int:
    return sum("is loaded again" in line for line in server.lines)


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never held")


def test_a_hangup_and_a_request_reload(bundle: Path, template: Path) -> None:
    with started(bundle) as server:
        assert server.scores() == truth(ROWS).tobytes()
        replaced(bundle, template / "two")
        server.process.send_signal(signal.SIGHUP)
        server.until("mlp is loaded again")
        assert server.scores() == truth(ROWS, 2.0).tobytes()
        replaced(bundle, template / "three")
        load = "/v2/repository/models/mlp/load"
        assert server.ask(load, b"", "POST").status == 200
        assert server.scores() == truth(ROWS, 3.0).tobytes()
        (bundle / "weights.safetensors").write_bytes(b"no weights")
        answer = server.ask(load, b"", "POST")
        assert answer.error.startswith("load: mlp serves on as it was: ")
        assert server.scores() == truth(ROWS, 3.0).tobytes()
        server.process.send_signal(signal.SIGINT)
        assert server.ended() == 0


def test_a_request_under_way_is_answered_before_the_end(bundle: Path) -> None:
    with started(bundle, "--drain", "20") as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as half:
            whole = request("POST", INFER, infer(ROWS), TOKEN)
            half.sendall(whole[:-5])
            _until(lambda: b"topos_in_flight 2.0" in server.ask("/metrics").body)
            server.process.send_signal(signal.SIGTERM)
            _until(lambda: server.ask("/v2/health/ready").status == 503)
            assert server.ask("/v2/health/live").status == 200
            _until(lambda: server.ask(INFER, infer(ROWS), "POST").status == 503)
            assert server.process.poll() is None
            half.sendall(whole[-5:])
            answer = half.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200 OK")
        assert server.ended() == 0


def test_a_request_that_does_not_end_is_left_behind(bundle: Path) -> None:
    with started(bundle, "--drain", "0.3") as server:
        half = socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)
        with half:
            half.sendall(request("POST", INFER, infer(ROWS), TOKEN)[:-5])
            _until(lambda: b"topos_in_flight 2.0" in server.ask("/metrics").body)
            server.process.send_signal(signal.SIGTERM)
            assert reply(half).error == "the server ended before it had an answer"
            assert server.ended() == 1


def test_an_interrupt_ends_a_draining_server_at_once(bundle: Path) -> None:
    with started(bundle, "--linger", "60") as server:
        server.until("http://")
        server.process.send_signal(signal.SIGTERM)
        _until(lambda: server.ask("/v2/health/ready").status == 503)
        server.process.send_signal(signal.SIGTERM)
        assert server.scores() == truth(ROWS).tobytes()
        server.process.send_signal(signal.SIGINT)
        assert server.ended() == 1


def test_a_log_and_lines_that_nobody_reads_hold_up_nothing(bundle: Path, template: Path) -> None:
    ends = [os.pipe() for _ in range(2)]
    # Full from the start: the lines that follow find no room.
    for _, end in ends:
        os.set_blocking(end, False)
        with suppress(BlockingIOError):
            while True:
                os.write(end, bytes(65536))
        os.set_blocking(end, True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "topos", "serve", str(bundle), *QUICK[:-1], str(port)]
    with subprocess.Popen(
        [*command, "--watch"], stdout=ends[0][1], stderr=ends[1][1], env=_environment()
    ) as process:
        try:
            _until(lambda: _answers(port))
            for _ in range(3):
                assert exchanged(port, request("GET", "/v2", headers=TOKEN)).status == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0
        finally:
            process.kill()
            for end in (*ends[0], *ends[1]):
                os.close(end)


def _answers(port: int) -> bool:
    try:
        return exchanged(port, request("GET", "/v2/health/live")).status == 200
    except OSError:
        return False
