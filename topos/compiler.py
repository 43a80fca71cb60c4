"""The compiler surface: inspect a recording, lower it, emit it, extend the stack."""

from topos import op
from topos.engine import BoundEntry, Entry, Numerics, Plan, Port, Signature
from topos.errors import EmitError
from topos.graph import Columns, Form, Location, Node, replay, reverse
from topos.op import (
    OPERATIONS,
    Cotangents,
    Direction,
    Domain,
    MapOperation,
    Operation,
    Reads,
    Table,
)
from topos.payload import DIFFERENTIABLE, ELEMENTS, Element, TensorType, element_of
from topos.reading import Recordable

__all__ = [
    "DIFFERENTIABLE",
    "ELEMENTS",
    "OPERATIONS",
    "BoundEntry",
    "Columns",
    "Cotangents",
    "Direction",
    "Domain",
    "Element",
    "EmitError",
    "Entry",
    "Form",
    "Location",
    "MapOperation",
    "Node",
    "Numerics",
    "Operation",
    "Plan",
    "Port",
    "Reads",
    "Recordable",
    "Signature",
    "Table",
    "TensorType",
    "element_of",
    "op",
    "replay",
    "reverse",
]
