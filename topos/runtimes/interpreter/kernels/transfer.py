"""Transfers: what exchanges values with another process, of which there is none."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.stablehlo.dialect import of_family

__all__ = ["BUILDERS"]


def _transfer(context: BuildContext[Any]) -> NoReturn:
    context.unsupported("exchanges values with another process, and this one runs alone")


BUILDERS: Final[Builders] = dict.fromkeys(of_family("transfer").values(), _transfer)
