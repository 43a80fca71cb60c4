"""Composites: an operation that another module defines, run as the decomposition it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.runtimes.interpreter.context import BuildContext, Builder
from topos.runtimes.interpreter.kernels.calling import calling
from topos.runtimes.interpreter.program import Kernel
from topos.stablehlo.ir import Symbol

__all__ = ["BUILDERS"]


def _composite(context: BuildContext) -> Kernel:
    return calling(context, Symbol(context.word("decomposition")))


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.composite": _composite}
