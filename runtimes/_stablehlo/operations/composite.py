"""Composites: an operation that another module defines, run as the decomposition it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.runtimes._stablehlo.operations.calling import calling
from topos.runtimes._stablehlo.program import Kernel
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.syntax import Symbol

__all__ = ["BUILDERS"]


def _composite(site: Site) -> Kernel:
    return calling(site, Symbol(site.word("decomposition")))


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.composite": _composite}
