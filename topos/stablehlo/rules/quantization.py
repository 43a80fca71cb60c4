"""Rules of the quantized operations, whose elements nothing here holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.opview import OpView, Rule

__all__ = ["RULES"]


def _quantized(claim: OpView) -> None:
    claim.unsupported("works on quantized elements, which are not supported")


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.uniform_dequantize": _quantized,
    "stablehlo.uniform_quantize": _quantized,
}
