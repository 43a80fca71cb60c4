"""The compiler surface: inspect a recording, lower it, emit it, extend the stack."""

from topos import op as op
from topos.backend import Backend as Backend
from topos.backend import BatchNormTask as BatchNormTask
from topos.backend import Coverage as Coverage
from topos.backend import Declined as Declined
from topos.backend import Dispatch as Dispatch
from topos.backend import Fidelity as Fidelity
from topos.backend import Formula as Formula
from topos.backend import GemmTask as GemmTask
from topos.backend import MapTask as MapTask
from topos.backend import Normalized as Normalized
from topos.backend import OperationTask as OperationTask
from topos.backend import Precision as Precision
from topos.backend import ReduceTask as ReduceTask
from topos.backend import Served as Served
from topos.backend import Service as Service
from topos.backend import Tally as Tally
from topos.backend import serve as serve
from topos.engine import BoundEntry as BoundEntry
from topos.engine import Entry as Entry
from topos.engine import Numerics as Numerics
from topos.engine import Plan as Plan
from topos.engine import Port as Port
from topos.engine import Signature as Signature
from topos.engine.catalog import PatternKind as PatternKind
from topos.engine.catalog import PatternMatch as PatternMatch
from topos.engine.catalog import Standing as Standing
from topos.errors import EmitError as EmitError
from topos.graph import Columns as Columns
from topos.graph import Form as Form
from topos.graph import Location as Location
from topos.graph import Node as Node
from topos.graph import replay as replay
from topos.graph import reverse as reverse
from topos.op import OPERATIONS as OPERATIONS
from topos.op import Cotangents as Cotangents
from topos.op import Direction as Direction
from topos.op import MapOperation as MapOperation
from topos.op import Operation as Operation
from topos.op import Reads as Reads
from topos.op import Table as Table
from topos.payload import DIFFERENTIABLE as DIFFERENTIABLE
from topos.payload import ELEMENTS as ELEMENTS
from topos.payload import Arithmetic as Arithmetic
from topos.payload import Element as Element
from topos.payload import FloatArithmetic as FloatArithmetic
from topos.payload import TensorType as TensorType
from topos.payload import element_of as element_of
from topos.reading import Recordable as Recordable

# Constants go first.
__all__ = sorted([name for name in dir() if name[0] != "_"], key=lambda name: not name.isupper())
