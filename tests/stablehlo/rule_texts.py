"""Texts that the rules of operations are tried on: valid ones, and edits that break one rule."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import pytest

from topos.errors import VerifyError
from topos.runtimes import _mlir
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.verifier import verify

__all__ = ["Broken", "accept", "broken", "demand_refused", "mlir_accepts"]


class Broken(NamedTuple):
    """A text that breaks a rule, and how the refusal begins after the operation's name."""

    text: str
    reason: str


def broken(text: str, *edits: tuple[str, str, str]) -> list[Broken]:
    """Returns `text` with each edit alone: what is replaced everywhere, by what, and the reason."""
    assert all(old in text for old, _, _ in edits)
    return [Broken(text.replace(old, new), reason) for old, new, reason in edits]


def accept(text: str) -> None:
    """Verifies `text`, which is valid."""
    verify(parse(text))


def demand_refused(case: Broken, operation: str) -> None:
    """Asserts that `operation` is refused for the reason, at the line it is on."""
    with pytest.raises(VerifyError) as caught:
        verify(parse(case.text))
    error = caught.value
    assert f"{operation} {case.reason}" in str(error)
    assert operation in case.text.split("\n")[error.line - 1]
    assert error.column > 1


def mlir_accepts(text: str) -> bool:
    """Returns the verdict of jaxlib's MLIR; skips the test where there is no jaxlib."""
    ir, context = _context()
    with context:
        return not isinstance(_mlir.read(ir, text), _mlir.Fault)


@cache
def _context() -> tuple[Any, Any]:
    pytest.importorskip("jax")
    from jax.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir

    return ir, make_ir_context()
