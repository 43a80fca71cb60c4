"""The closed vocabulary, in one printable list."""

from typing import Final

from topos.op.arithmetic import Add as Add
from topos.op.arithmetic import Div as Div
from topos.op.arithmetic import Maximum as Maximum
from topos.op.arithmetic import Minimum as Minimum
from topos.op.arithmetic import Mul as Mul
from topos.op.arithmetic import Neg as Neg
from topos.op.arithmetic import Power as Power
from topos.op.arithmetic import Step as Step
from topos.op.arithmetic import Sub as Sub
from topos.op.comparison import Compare as Compare
from topos.op.comparison import Convert as Convert
from topos.op.comparison import Direction as Direction
from topos.op.comparison import Select as Select
from topos.op.layout import Permute as Permute
from topos.op.layout import Reshape as Reshape
from topos.op.layout import Transpose as Transpose
from topos.op.map import Map as Map
from topos.op.map import MapOperation as MapOperation
from topos.op.operation import Array as Array
from topos.op.operation import Cotangents as Cotangents
from topos.op.operation import Operation as Operation
from topos.op.operation import R as R
from topos.op.operation import Reads as Reads
from topos.op.reduction import Broadcast as Broadcast
from topos.op.reduction import BroadcastAlong as BroadcastAlong
from topos.op.reduction import LogSoftmax as LogSoftmax
from topos.op.reduction import LogSumExp as LogSumExp
from topos.op.reduction import MatMul as MatMul
from topos.op.reduction import MaxAlong as MaxAlong
from topos.op.reduction import Sum as Sum
from topos.op.reduction import SumAlong as SumAlong
from topos.op.selection import Gather as Gather
from topos.op.selection import Scatter as Scatter
from topos.op.slicing import Concatenate as Concatenate
from topos.op.slicing import Fold as Fold
from topos.op.slicing import Narrow as Narrow
from topos.op.slicing import Pad as Pad
from topos.op.slicing import Unfold as Unfold
from topos.op.source import Input as Input
from topos.op.source import Leaf as Leaf
from topos.op.source import Parameter as Parameter
from topos.op.source import Source as Source
from topos.op.table import Table as Table

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
