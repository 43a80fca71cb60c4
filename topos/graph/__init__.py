"""The graph tier: recordings, their symbols, and the walks over them."""

from topos.graph.adjoints import Adjoints as Adjoints
from topos.graph.columns import Columns as Columns
from topos.graph.columns import Form as Form
from topos.graph.columns import Node as Node
from topos.graph.columns import replay as replay
from topos.graph.columns import reverse as reverse
from topos.graph.field import Field as Field
from topos.graph.field import Gradients as Gradients
from topos.graph.field import Parameters as Parameters
from topos.graph.network import Network as Network
from topos.graph.symbol import Location as Location
from topos.graph.symbol import Symbol as Symbol
from topos.graph.tape import Tape as Tape
from topos.graph.value import Value as Value
from topos.graph.value import detach as detach
