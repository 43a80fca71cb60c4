"""Composites: an operation that another module defines, run as the decomposition it names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy.typing as npt

from topos.runtimes._stablehlo.program import Kernel, Program
from topos.runtimes._stablehlo.site import Builder, Site
from topos.runtimes._stablehlo.syntax import Symbol

__all__ = ["BUILDERS"]

Array = npt.NDArray[Any]


def _composite(site: Site) -> Kernel:
    return partial(_run, site.function(Symbol(site.word("decomposition")), site.operation))


def _run(program: Program, *arguments: Array) -> Any:
    results = program.run(*arguments)
    return results[0] if len(results) == 1 else results


BUILDERS: Final[Mapping[str, Builder]] = {"stablehlo.composite": _composite}
