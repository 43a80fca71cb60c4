"""Readings of the vocabulary: `Tensor` computes here, `Value` records in the graph tier."""

from topos.reading.recordable import Number as Number
from topos.reading.recordable import Recordable as Recordable
from topos.reading.tensor import Tensor as Tensor
