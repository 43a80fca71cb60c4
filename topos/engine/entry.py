"""Entries: the declared reading of a network that every executor takes."""

from __future__ import annotations

from typing import NamedTuple

from topos.backend import Backend
from topos.engine.liveness import closure
from topos.engine.numerics import Numerics
from topos.engine.plan import Plan
from topos.engine.run import Run
from topos.engine.sources import source_payloads
from topos.errors import ExecutionError, ReadError
from topos.graph import Network, Symbol, replay
from topos.graph.field import Parameters
from topos.graph.network import Feeds
from topos.reading import Tensor


class Entry(NamedTuple):
    """A function exported from a network: what may be read, what is kept, which numerics.

    `backends` are those that its plans may ask; `None` are those of the process when it is lowered.
    """

    roots: tuple[Symbol, ...]
    observes: tuple[Symbol, ...] = ()
    backward: bool = False
    numerics: Numerics = Numerics.FAST
    backends: tuple[Backend, ...] | None = None

    def results(self) -> tuple[Symbol, ...]:
        """Returns roots, then observes, each symbol once."""
        return tuple(dict.fromkeys((*self.roots, *self.observes)))


class BoundEntry:
    """An entry bound to its network: the oracle interprets it, and `lower` compiles it."""

    __slots__ = ("entry", "network")

    def __init__(self, network: Network, entry: Entry) -> None:
        if not entry.roots:
            raise ReadError("an entry needs one root or more, got none")
        self.network, self.entry = network, entry

    def interpret(self, parameters: Parameters | None = None, feeds: Feeds | None = None) -> Run:
        """Returns a run by the oracle: each operation's value rule, node by node.

        `parameters` default to the network's initial state.
        """
        results = [symbol.position for symbol in self.entry.results()]
        order = closure(self.network.columns, results)
        values = _evaluate(self.network, order, parameters, feeds)
        retained = values if self.entry.backward else None
        return Run(self.network, {index: values[index] for index in results}, retained)

    def lower(self) -> Plan:
        """Returns the entry compiled to a plan."""
        entry = self.entry
        results = [symbol.position for symbol in entry.results()]
        return Plan(self.network, results, entry.backward, entry.numerics, entry.backends)

    def __repr__(self) -> str:
        labels = self.network.columns.labels
        results = (labels.get(at.position, str(at)) for at in self.entry.results())
        posture = ", backward" if self.entry.backward else ""
        return f"BoundEntry({', '.join(results)}; {self.entry.numerics.value}{posture})"


def forward(network: Network, parameters: Parameters | None, feeds: Feeds | None) -> Run:
    """Returns a run of every node of `network` by the oracle; every value may be read."""
    values = _evaluate(network, list(range(network.length)), parameters, feeds)
    return Run(network, dict(sorted(values.items())), values)


def _evaluate(
    network: Network, order: list[int], parameters: Parameters | None, feeds: Feeds | None
) -> dict[int, Tensor]:
    values: dict[int, Tensor] = {}
    for index, array in source_payloads(network, order, parameters, feeds, copy=True).items():
        values[index] = Tensor.wrap(array, network.columns.forms[index].type.element)
    try:
        replay(network.columns, order, values)
    except MemoryError:
        raise ExecutionError("the run needs more memory than this machine has") from None
    return values
