"""The printer: a syntax tree in, text out, in custom assembly where there is one."""

from __future__ import annotations

from topos.stablehlo.printer.modules import printed

__all__ = ["printed"]
