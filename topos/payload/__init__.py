"""Numbers: shapes, elements, and the kernels whose bits are the spec."""

from topos.payload.element import (
    DIFFERENTIABLE,
    ELEMENTS,
    Element,
    TensorType,
    bf16,
    bool_,
    element_of,
    f16,
    f32,
    f64,
    i32,
    i64,
)
from topos.payload.shape import (
    Shape,
    axes_of,
    axis_of,
    demand_possible,
    integers,
    shape_of,
    size,
    without,
)

__all__ = [
    "DIFFERENTIABLE",
    "ELEMENTS",
    "Element",
    "Shape",
    "TensorType",
    "axes_of",
    "axis_of",
    "bf16",
    "bool_",
    "demand_possible",
    "element_of",
    "f16",
    "f32",
    "f64",
    "i32",
    "i64",
    "integers",
    "shape_of",
    "size",
    "without",
]
