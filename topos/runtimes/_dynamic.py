"""Texts that leave shapes open: found by a look, before anything is parsed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from topos.engine import Numerics
from topos.errors import UnavailableError
from topos.runtimes._runtime import Executable, Runtime

# How a type spells an extent that it leaves open.
_OPEN: Final = re.compile(r"tensor<[^<>\"]*\?")
# What spells no type: a string or a comment.
_UNREAD: Final = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*', re.DOTALL)


def specializing(
    runtime: Runtime,
    text: str,
    numerics: Numerics | str,
    options: Mapping[str, Any] | None,
    cache: Path | None,
) -> Executable | None:
    """Returns `text` compiled by `runtime` where it leaves a shape open, and otherwise `None`.

    A module with static arguments is specialized at once, any other by its calls. Raises as
    `Runtime.compile` does.
    """
    if "?" not in text or not _OPEN.search(text) or not _OPEN.search(_UNREAD.sub(" ", text)):
        return None
    # Nothing is compiled before the first call, which would be late to refuse a posture.
    numerics = Numerics.of(numerics)
    status = runtime.status()
    if not status.ready:
        raise UnavailableError(status.detail)
    # The parser is loaded by the first text that needs it, not by the import of an adapter.
    from topos.runtimes._dynamic_executable import opened

    return opened(runtime, text, {"numerics": numerics, "options": options, "cache": cache})
