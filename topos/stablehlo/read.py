"""Reading of a module: its text parsed and verified, every fault told at its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from topos.errors import TextError, UnsupportedError
from topos.stablehlo.ir import Module
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.token_error import TokenError, placed
from topos.stablehlo.verifier import verify

__all__ = ["parsed", "read", "told_of"]


def read(text: str) -> Module:
    """Returns the module that `text` spells, verified.

    Raises `ParseError` where it is no module, `VerifyError` where an operation breaks a rule, and
    `UnsupportedError` where something is known by name only; each has the line and a caret.
    """
    with told_of(text):
        module = parse(text)
        verify(module)
        return module


def parsed(text: str) -> Module:
    """Returns the module that `text` spells, not verified; raises as `read` does."""
    with told_of(text):
        return parse(text)


@contextmanager
def told_of(text: str) -> Iterator[None]:
    """Gives a fault found inside the line of `text` that it stands in."""
    try:
        yield
    except TokenError as error:
        raise placed(error, text) from None
    except TextError as error:
        raise error.located(text) from None
    except RecursionError:
        reason = "regions, types or attributes nested this deep"
        raise UnsupportedError(reason, 1).located(text) from None
    except MemoryError:
        reason = "constants larger than this machine's memory"
        raise UnsupportedError(reason, 1).located(text) from None
