"""Artifacts held against the text that they are to be the same module as."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Final

from topos.bundle.portable import printed, serialized
from topos.errors import BundleError, UnavailableError

__all__ = ["demand_same"]

WORKER: Final = "topos.bundle.artifact_worker"
LONGEST_SECONDS: Final = 120


def demand_same(text: str, artifact: bytes, version: str) -> None:
    """Raises `BundleError` where an artifact does not hold the module of a text.

    Bytes that an export here would write are right. Any others, of another jaxlib or of whoever
    changed them, are read by a process of their own.
    """
    own = serialized(text, version)
    if artifact == own:
        return
    if _read_apart(artifact) != printed(own):
        raise BundleError("the artifact holds another module than the text")


def _read_apart(artifact: bytes) -> str:
    """Returns the text of an artifact, which another process reads."""
    if not sys.executable:
        raise UnavailableError("reading a foreign artifact needs sys.executable, got none")
    path = os.pathsep.join(each for each in sys.path if each)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", WORKER],
            input=artifact,
            capture_output=True,
            check=False,
            timeout=LONGEST_SECONDS,
            env={**os.environ, "PYTHONPATH": path},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BundleError(f"the artifact cannot be read: {error}") from error
    if done.returncode < 0:
        killed = signal.Signals(-done.returncode).name
        raise BundleError(f"the artifact cannot be read: its reader died of {killed}")
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason told"]
        raise BundleError(said[-1])
    return done.stdout.decode(errors="replace")
