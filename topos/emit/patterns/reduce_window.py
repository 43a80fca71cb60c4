"""The maxima of windows as `reduce_window`."""

from __future__ import annotations

from collections.abc import Sequence

from topos.emit.lowering.reduction import lowest
from topos.emit.text import number, shape_text, tensor_type
from topos.emit.writer import Site, Ssa, functional
from topos.engine.catalog.reduce_window import ReduceWindow
from topos.payload import TensorType


def supports(form: ReduceWindow, types: Sequence[TensorType]) -> bool:
    """Returns whether the elements are numbers."""
    return types[0].element.dtype.kind != "b"


def maxima(form: ReduceWindow, site: Site) -> Ssa:
    """Writes the maxima, from the number that every other exceeds or equals."""
    (source,) = site.operands
    element = site.type.element
    start = site.constant(number(lowest(element)), TensorType((), element))
    sizes, steps = ([1] * len(source.type.shape) for _ in range(2))
    for axis, size, step in zip(form.axes, form.sizes, form.steps, strict=True):
        sizes[axis], steps[axis] = size, step
    scalar = tensor_type(TensorType((), element))
    value = Ssa(site.fresh(), site.type)
    left, right, larger = site.fresh(), site.fresh(), site.fresh()
    # One line, for a location belongs to the operation and to no part of its region.
    site.lines.append(
        f'{value.name} = "stablehlo.reduce_window"({source.name}, {start.name})'
        f" <{{window_dimensions = {shape_text(tuple(sizes))},"
        f" window_strides = {shape_text(tuple(steps))}}}> ({{\n"
        f"    ^bb0({left}: {scalar}, {right}: {scalar}):\n"
        f"      {larger} = stablehlo.maximum {left}, {right} : {scalar}\n"
        f"      stablehlo.return {larger} : {scalar}\n"
        f"    }}) : {functional((source, start), site.type)}"
    )
    return value
