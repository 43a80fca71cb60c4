"""Transfers: what exchanges values with another process, of which there is none."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.stablehlo.dialect import transfer as dialect

__all__ = ["BUILDERS"]


def _transfer(context: BuildContext[Any]) -> NoReturn:
    context.unsupported("exchanges values with another process, and this one runs alone")


BUILDERS: Final[Builders] = {getattr(dialect, name): _transfer for name in dialect.__all__}
