"""Numbers: shapes, elements, and the kernels whose bits are the spec."""

from topos.payload.arithmetic import Arithmetic as Arithmetic
from topos.payload.arithmetic import fitting as fitting
from topos.payload.carried import CARRIED as CARRIED
from topos.payload.carried import carried_element as carried_element
from topos.payload.element import DIFFERENTIABLE as DIFFERENTIABLE
from topos.payload.element import ELEMENTS as ELEMENTS
from topos.payload.element import Element as Element
from topos.payload.element import TensorType as TensorType
from topos.payload.element import bf16 as bf16
from topos.payload.element import bool_ as bool_
from topos.payload.element import conversion as conversion
from topos.payload.element import element_of as element_of
from topos.payload.element import f16 as f16
from topos.payload.element import f32 as f32
from topos.payload.element import f64 as f64
from topos.payload.element import i32 as i32
from topos.payload.element import i64 as i64
from topos.payload.native import FloatArithmetic as FloatArithmetic
from topos.payload.shape import Shape as Shape
from topos.payload.shape import axes_of as axes_of
from topos.payload.shape import axis_of as axis_of
from topos.payload.shape import demand_possible as demand_possible
from topos.payload.shape import integers as integers
from topos.payload.shape import shape_of as shape_of
from topos.payload.shape import size as size
from topos.payload.shape import without as without
