"""The closed vocabulary, in one printable list."""

from typing import Final

from topos.op.arithmetic import Add, Div, Maximum, Minimum, Mul, Neg, Power, Step, Sub
from topos.op.comparison import Compare, Convert, Direction, Select
from topos.op.contraction import MatMul, Transpose
from topos.op.layout import Permute, Reshape
from topos.op.map import Map, MapOperation
from topos.op.operation import Array, Cotangents, Domain, Operation, R, Reads
from topos.op.reduction import (
    Broadcast,
    BroadcastAlong,
    LogSoftmax,
    LogSumExp,
    MaxAlong,
    Sum,
    SumAlong,
)
from topos.op.selection import Gather, Scatter
from topos.op.slicing import Concatenate, Fold, Narrow, Pad, Unfold
from topos.op.source import Input, Leaf, Parameter, Source
from topos.op.table import Table

OPERATIONS: Final[tuple[type[Operation], ...]] = (
    *(Leaf, Parameter, Input),
    *(Add, Sub, Mul, Div, Neg, Maximum, Minimum, Step, Power),
    Map,
    *(Compare, Select, Convert),
    MatMul,
    *(Sum, Broadcast, SumAlong, BroadcastAlong, MaxAlong),
    *(Reshape, Permute, Transpose),
    *(Narrow, Pad, Concatenate),
    *(Unfold, Fold),
    *(Gather, Scatter),
    *(LogSoftmax, LogSumExp),
)

__all__ = [
    "OPERATIONS",
    "Add",
    "Array",
    "Broadcast",
    "BroadcastAlong",
    "Compare",
    "Concatenate",
    "Convert",
    "Cotangents",
    "Direction",
    "Div",
    "Domain",
    "Fold",
    "Gather",
    "Input",
    "Leaf",
    "LogSoftmax",
    "LogSumExp",
    "Map",
    "MapOperation",
    "MatMul",
    "MaxAlong",
    "Maximum",
    "Minimum",
    "Mul",
    "Narrow",
    "Neg",
    "Operation",
    "Pad",
    "Parameter",
    "Permute",
    "Power",
    "R",
    "Reads",
    "Reshape",
    "Scatter",
    "Select",
    "Source",
    "Step",
    "Sub",
    "Sum",
    "SumAlong",
    "Table",
    "Transpose",
    "Unfold",
]
