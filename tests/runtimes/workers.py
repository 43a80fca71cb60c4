"""Workers of runtimes as tests see them."""

from __future__ import annotations

from topos.runtimes import Runtime
from topos.runtimes._worker_process import WorkerProcess


def process_of(runtime: Runtime) -> WorkerProcess:
    """Returns the worker process that `runtime` has now."""
    assert runtime.worker is not None
    process = runtime.worker._isolation._worker
    assert process is not None
    return process
