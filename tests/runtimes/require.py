"""Runtimes that a test needs."""

from __future__ import annotations

import pytest

from topos import runtimes
from topos.runtimes import Runtime


def require(name: str) -> Runtime:
    """Returns a runtime; skips the test where its packages are not installed."""
    runtime = runtimes.load(name)
    status = runtime.status()
    if not status.ready:
        pytest.skip(status.detail)
    return runtime
