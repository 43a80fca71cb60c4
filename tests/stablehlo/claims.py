"""Modules of one operation, for the tests of what the verifier makes of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from topos.errors import VerifyError
from topos.runtimes import verify

__all__ = ["claim", "reason"]


def claim(name: str, operands: Sequence[str], results: Sequence[str], attributes: str = "") -> str:
    """Returns a module whose only operation takes the arguments of `@main`, which are `%a0`, ..."""
    arguments = [f"%a{index}" for index in range(len(operands))]
    parameters = ", ".join(
        f"{name}: {type}" for name, type in zip(arguments, operands, strict=True)
    )
    left = ", ".join(f"%r{index}" for index in range(len(results)))
    return (
        f"func.func @main({parameters}) {{\n"
        f'{left}{" = " if left else ""}"{name}"({", ".join(arguments)}) {{{attributes}}}'
        f" : ({', '.join(operands)}) -> ({', '.join(results)})\nreturn\n}}"
    )


def reason(text: str) -> str:
    """Returns why the module is refused; the refusal must say where, too."""
    with pytest.raises(VerifyError) as caught:
        verify(text)
    error = caught.value
    assert error.line > 0
    assert error.column > 0
    assert error.source_line == text.split("\n")[error.line - 1]
    return error.reason
