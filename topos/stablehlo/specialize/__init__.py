"""Specialization: a module that leaves shapes open, made static for arguments of known shapes."""

from topos.stablehlo.specialize.module import specialized
from topos.stablehlo.specialize.retyping import is_static

__all__ = ["is_static", "specialized"]
