"""Readings of the vocabulary: `Tensor` computes here, `Value` records in the graph tier."""

from topos.reading.recordable import Number, Recordable
from topos.reading.tensor import Tensor

__all__ = ["Number", "Recordable", "Tensor"]
