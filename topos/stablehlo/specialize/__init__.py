"""Specialization: a module that leaves shapes open, made static for arguments of known shapes."""

from topos.stablehlo.specialize.module import specialized, specialized_for
from topos.stablehlo.specialize.retyping import is_static, leaves_open
from topos.stablehlo.specialize.shape_arithmetic import is_number
from topos.stablehlo.specialize.text import SpecializedText

__all__ = [
    "SpecializedText",
    "is_number",
    "is_static",
    "leaves_open",
    "specialized",
    "specialized_for",
]
