"""The graph tier: recordings, their symbols, and the walks over them."""

from topos.graph.adjoints import Adjoints
from topos.graph.columns import Columns, Form, Node, replay, reverse
from topos.graph.field import Field, Gradients, Parameters
from topos.graph.network import Network
from topos.graph.symbol import Location, Symbol
from topos.graph.tape import Tape
from topos.graph.value import Value, detach

__all__ = [
    "Adjoints",
    "Columns",
    "Field",
    "Form",
    "Gradients",
    "Location",
    "Network",
    "Node",
    "Parameters",
    "Symbol",
    "Tape",
    "Value",
    "detach",
    "replay",
    "reverse",
]
