"""The worker of the reference interpreter: its death is told, and outlived by the runtime."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.runtimes.workers import process_of
from topos.errors import CrashError
from topos.runtimes.reference import Reference

pytest.importorskip("jax")

SUM = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
QUOTIENT = """
func.func @main(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.divide %a, %b : tensor<i32>
  return %0 : tensor<i32>
}
"""
# At 0.0015 GFLOP/s this takes about twenty seconds.
SLOW = """
func.func @main(%a: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
      : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}
"""
ONES = np.ones(4, np.float32)


@pytest.fixture(scope="module", autouse=True)
def interruptible() -> Iterator[None]:
    """Handles SIGINT as a terminal's process does, here and in the processes started here.

    A parent may have had it ignored (`nohup` in the background does), which children inherit.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def runtime() -> Reference:
    return Reference()


def running(pid: int) -> bool:
    """Returns whether the process still runs; one that only waits to be collected does not."""
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def worker_of(runtime: Reference) -> int:
    return process_of(runtime).pid


def test_a_crash_is_told_and_the_runtime_goes_on(runtime: Reference) -> None:
    total, quotient = runtime.compile(SUM), runtime.compile(QUOTIENT)
    with pytest.raises(CrashError, match="died of SIGFPE while it ran a module without a name"):
        quotient(np.array(1, np.int32), np.array(0, np.int32))
    assert total(ONES, ONES)[0].tolist() == [2.0] * 4
    assert quotient(np.array(7, np.int32), np.array(2, np.int32))[0].tolist() == 3


def test_modules_that_are_gone_leave_nothing_in_the_worker(runtime: Reference) -> None:
    def kilobytes() -> int:
        status = Path(f"/proc/{worker_of(runtime)}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    runtime.compile(SUM)
    before = kilobytes()
    for _ in range(100):
        runtime.compile(SUM)(ONES, ONES)
    assert kilobytes() - before < 30_000


FORKING = f"""
import os, threading, time
import numpy as np
from tests.runtimes.workers import process_of
from topos.errors import CrashError
from topos.runtimes.reference import Reference
runtime, ones = Reference(), np.ones(4, np.float32)
total, slow = runtime.compile({SUM!r}), runtime.compile({SLOW!r})
def work():
    try: slow(np.ones((256, 256), np.float32))
    except CrashError: pass
thread = threading.Thread(target=work)
thread.start()
while not runtime.worker._isolation._lock.locked(): time.sleep(0.01)
time.sleep(0.2)
child = os.fork()
if not child:
    os._exit(0 if total(ones, ones)[0].tolist() == [2.0] * 4 else 1)
deadline = time.monotonic() + 15
done, status = os.waitpid(child, os.WNOHANG)
while not done and time.monotonic() < deadline:
    time.sleep(0.05)
    done, status = os.waitpid(child, os.WNOHANG)
if not done: os.kill(child, 9)
assert thread.is_alive()
runtime.worker._isolation._worker._process.kill()
thread.join()
assert done and status == 0, (done, status)
"""


def test_a_fork_during_a_call_leaves_the_child_usable() -> None:
    subprocess.run([sys.executable, "-c", FORKING], check=True, timeout=60)


def test_a_call_that_takes_too_long_is_stopped(runtime: Reference) -> None:
    slow = runtime.compile(SLOW, options={"timeout": 0.5})
    started = time.monotonic()
    with pytest.raises(CrashError, match=r"stopped after 0\.5 seconds"):
        slow(np.ones((256, 256), np.float32))
    assert time.monotonic() - started < 5
    assert runtime.compile(SUM)(ONES, ONES)[0].tolist() == [2.0] * 4


def test_an_interrupt_ends_the_worker_and_leaves_the_runtime_usable(runtime: Reference) -> None:
    slow, total = runtime.compile(SLOW), runtime.compile(SUM)
    worker, folder = worker_of(runtime), Path(process_of(runtime).folder)
    assert folder.is_dir()
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        slow(np.ones((256, 256), np.float32))
    # Neither an uncollected process is left, nor one that it started, nor its temporary files.
    with pytest.raises(ProcessLookupError):
        os.killpg(worker, 0)
    assert not folder.exists()
    assert total(ONES, ONES)[0].tolist() == [2.0] * 4


def test_a_worker_that_died_while_idle_is_replaced(runtime: Reference) -> None:
    total = runtime.compile(SUM)
    process = process_of(runtime)
    os.kill(process.pid, signal.SIGKILL)
    while process.alive:
        time.sleep(0.01)
    assert total(ONES, ONES)[0].tolist() == [2.0] * 4


def test_threads_share_a_runtime(runtime: Reference) -> None:
    total = runtime.compile(SUM)

    def work(value: int) -> bool:
        return bool((total(np.full(4, value, np.float32), ONES)[0] == value + 1).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(100)))


PARENT = f"""
import sys, time
import numpy as np
from topos.runtimes.reference import Reference
runtime = Reference()
executable = runtime.compile({SUM!r})
print(runtime.worker._isolation._worker.pid, flush=True)
"""


@pytest.mark.parametrize("killed", [False, True])
def test_the_worker_ends_with_its_parent(killed: bool) -> None:
    program = PARENT + ("time.sleep(60)" if killed else "")
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        if killed:
            parent.kill()
        assert parent.wait() == (-signal.SIGKILL if killed else 0)
    deadline = time.monotonic() + 10
    while running(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not running(worker)
