"""Stable forms, spelled as the formula that defines them."""

from __future__ import annotations

from topos.emit.lowering.reduction import largest, repeated, summed
from topos.emit.writer import Site, Ssa, lower
from topos.op import LogSoftmax, LogSumExp
from topos.payload import TensorType, bool_


@lower.rule(LogSoftmax)
def log_softmax(operation: LogSoftmax, site: Site) -> Ssa:
    shifted, _, logarithm = _parts(site, operation.axis)
    spread = repeated(site, logarithm, (operation.axis,), shifted.type.shape)
    result = site.elementwise("stablehlo.subtract", shifted, spread)
    return site.convert(result, site.type.element)


@lower.rule(LogSumExp)
def log_sum_exp(operation: LogSumExp, site: Site) -> Ssa:
    _, shift, logarithm = _parts(site, operation.axis)
    result = site.elementwise("stablehlo.add", shift, logarithm)
    return site.convert(result, site.type.element)


def _parts(site: Site, axis: int) -> tuple[Ssa, Ssa, Ssa]:
    """Writes `x - m`, `m` and `ln(sum(exp(x - m)))`, in the accumulating element."""
    value = site.widened(site.operands[0])
    top = largest(site, value, (axis,))
    finite = site.apply("stablehlo.is_finite", (top,), TensorType(top.type.shape, bool_))
    zero = site.zero(top.type.shape, top.type.element)
    shift = site.apply("stablehlo.select", (finite, top, zero), top.type)
    spread = repeated(site, shift, (axis,), value.type.shape)
    shifted = site.elementwise("stablehlo.subtract", value, spread)
    exponentials = site.elementwise("stablehlo.exponential", shifted)
    logarithm = site.elementwise("stablehlo.log", summed(site, exponentials, (axis,)))
    return shifted, shift, logarithm
