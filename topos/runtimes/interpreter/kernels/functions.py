"""Functions of a continuous element, whose kernels the element chooses."""

from __future__ import annotations

from typing import Final

from topos.runtimes.interpreter.context import Builders
from topos.runtimes.interpreter.kernels.elementwise import elementwise
from topos.stablehlo.dialect import of_family

__all__ = ["BUILDERS"]

BUILDERS: Final[Builders] = dict.fromkeys(of_family("functions").values(), elementwise)
