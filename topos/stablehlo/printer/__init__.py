"""The printer: a syntax tree in, text out, in the pretty form of every operation that has one."""

from __future__ import annotations

from topos.stablehlo.printer.modules import printed

__all__ = ["printed"]
