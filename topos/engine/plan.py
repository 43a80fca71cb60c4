"""Plans: entries lowered to schedules that hold no state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from topos.backend import Backend
from topos.engine.catalog import PatternMatch, patterns_of
from topos.engine.choices import Choices
from topos.engine.description import Copied, Memory, Port, Signature, described
from topos.engine.liveness import closure, retained
from topos.engine.numerics import Numerics
from topos.engine.run import Run
from topos.engine.schedule import Schedule
from topos.engine.sources import source_payloads
from topos.engine.steps import fused_steps, fusing
from topos.graph import Network, Symbol
from topos.graph.field import Parameters
from topos.graph.network import Feeds, Payload
from topos.op import Array, Input, Leaf, Parameter
from topos.payload import Element, size
from topos.reading import Tensor

if TYPE_CHECKING:
    from topos.bundle import Bundle
    from topos.bundle.emitted import BinaryForm, TextForm
    from topos.emit.donation import Donations
    from topos.runtimes._compiled import CompiledPlan


class Plan:
    """A derived schedule: the ancestor closure of its results, evaluated with liveness.

    It holds no state and may run in many threads at once.
    """

    def __init__(
        self,
        network: Network,
        results: Sequence[int],
        backward: bool,
        numerics: Numerics,
        backends: tuple[Backend, ...] | None = None,
    ) -> None:
        self.network = network
        self.numerics = numerics
        self._choices = Choices(numerics, backends)
        self.backward = backward
        self.order = closure(network.columns, results)
        self._results = list(results)

    @property
    def results(self) -> tuple[Symbol, ...]:
        """The declared roots, then the observes, first occurrence only."""
        return tuple(Symbol(self.network.columns.origin, index) for index in self._results)

    def forward(self, parameters: Parameters | None = None, feeds: Feeds | None = None) -> Run:
        """Returns a run of this plan; `parameters` default to the network's initial state."""
        copy, brought = self._copies_feeds, self._brought
        payloads = source_payloads(self.network, brought, parameters, feeds, copy=copy)
        exact = self.numerics is Numerics.EXACT
        clean = parameters.without_nan() if exact and parameters is not None else ()
        arrays = self._schedule.run(payloads, clean)
        wrap = Tensor.wrap
        values = {
            index: wrap(array, element)
            for (index, element), array in zip(self._answered, arrays, strict=True)
        }
        if not self.backward:
            return Run(self.network, values, None)
        results = {index: values[index] for index in self._results}
        return Run(self.network, results, values, self._choices)

    def arguments(
        self, parameters: Parameters | None = None, feeds: Feeds | None = None
    ) -> tuple[Array, ...]:
        """Returns the arrays that the emitted `@main` takes, in its order, each checked."""
        positions = [*self._sources_of(Parameter), *self._sources_of(Input)]
        payloads = source_payloads(self.network, positions, parameters, feeds, copy=False)
        return tuple(payloads[index] for index in positions)

    def signature(self) -> Signature:
        """Returns what the plan takes and answers, in the order of the emitted `@main`."""
        parameters, inputs = self._sources_of(Parameter), self._sources_of(Input)
        return Signature(*map(self._ports, (parameters, inputs, self._results)))

    @overload
    def emit_stablehlo(
        self,
        *,
        donate: Donations | None = None,
        version: str | None = None,
        form: TextForm = "text",
    ) -> str: ...
    @overload
    def emit_stablehlo(
        self, *, donate: Donations | None = None, version: str | None = None, form: BinaryForm
    ) -> bytes: ...
    def emit_stablehlo(
        self, *, donate: Donations | None = None, version: str | None = None, form: str = "text"
    ) -> str | bytes:
        """Returns the plan as a StableHLO module.

        `donate` maps arguments to the results of their type that may take their buffers, by
        symbol or name: a parameter to its own next value, `{"w": "next/w"}`. A runtime that heeds
        it ends the argument's life. `form` is `text`, `generic`, or, as bytes, `bytecode` or a
        portable `artifact`. `version` is the oldest StableHLO that has to have all of the module.

        Raises `EmitError` where an element has no MLIR spelling, a donation cannot be, or the
        version lacks what the module has; `UnavailableError` where a version or a binary form is
        asked for without jaxlib; `ArgumentError` for another form or no version.
        """
        # A door: emission depends on plans, never the reverse.
        from topos.emit import write

        text = write(self, donate)
        if form == "text" and version is None:
            return text
        # A door: jaxlib writes the binary forms.
        from topos.bundle.emitted import emitted

        return emitted(text, form, version)

    def compile(
        self,
        runtime: str,
        *,
        numerics: Numerics | str | None = None,
        options: Mapping[str, Any] | None = None,
        cache: Path | None = None,
    ) -> CompiledPlan:
        """Returns the emitted module compiled by the runtime of that name, numerics as the plan's.

        `cache` is a folder that keeps what was compiled for later processes. Raises what
        `topos.runtimes.load` and the runtime's `compile` raise.
        """
        # A door: runtimes execute the text of plans.
        from topos.runtimes._compiled import compile_plan

        chosen = Numerics.of(numerics or self.numerics)
        return compile_plan(self, runtime, chosen, options, cache)

    def export(
        self,
        path: str | PathLike[str],
        parameters: Parameters | Mapping[str, Payload] | None = None,
        *,
        resident: Feeds | None = None,
        samples: Sequence[Feeds] = (),
        batched: bool = False,
        name: str | None = None,
        compatibility: str = "week-12",
        seed: int = 0,
        compiled: Sequence[str] = (),
    ) -> Bundle:
        """Writes the plan with its parameters' values as a bundle, and returns it loaded.

        `topos.bundle.export` says what the rest means, takes several plans, and says what raises.
        """
        # A door: a bundle is made of plans.
        from topos.bundle import export

        return export(
            path,
            self,
            parameters,
            resident=resident,
            samples=samples,
            batched=batched,
            name=name,
            compatibility=compatibility,
            seed=seed,
            compiled=compiled,
        )

    def describe(self) -> str:
        """Returns the plan as text: its signature, its patterns, then one line a node.

        A line says what is kept, what is freed after it, what runs as part of a pattern, and what
        is written over an operand.
        """
        lines = [
            f"plan of {len(self.order)} nodes, {self.numerics.value},"
            f" {'backward' if self.backward else 'forward only'}",
            f"signature {self.signature()}",
        ]
        columns, kept = self.network.columns, self._kept
        lines += described(columns, self.order, kept, self._schedule, self.memory())
        return "\n".join(lines)

    def schedule(self) -> str:
        """Returns what a run does as the text of a Python function.

        Its slots are sources `s`, constants `c`, arrays of the arena `a`, results `r` and other new
        arrays `v`; a comment names the nodes that a line computes.
        """
        return self._schedule.text()

    def memory(self) -> Memory:
        """Returns the bytes that a run holds beyond its arguments and constants, line by line.

        It tells the arguments that calls so far had to copy, too.
        """
        memory = self._schedule.memory()
        if not self._copies_feeds:
            return memory
        reason = "kept for Run.backward" if self.backward else "a result may be a view of it"
        ports = self._ports(self._sources_of(Input))
        always = tuple(
            Copied(port, size(port.type.shape) * port.type.element.dtype.itemsize, reason)
            for port in ports
        )
        return memory._replace(copied=always + memory.copied)

    def patterns(self) -> tuple[PatternMatch, ...]:
        """Returns what the catalog recognizes among the nodes, as data; no kept node is inside.

        A match tells whether the plan runs it as one kernel, and whether `emit_stablehlo` writes
        it as one operation, with the reason where not.
        """
        # A door: what a text has is emission's to know.
        from topos.emit import standings

        columns = self.network.columns
        steps = fused_steps(columns, self.order, self._kept, self._choices).values()
        fused = fusing(columns, self._choices, steps)
        raised = standings(columns, self.order, self._results)
        return patterns_of(columns, self.order, self._kept, fused, raised)

    def _sources_of(self, kind: type[Parameter] | type[Input]) -> list[int]:
        forms = self.network.columns.forms
        return [index for index in self._sources if isinstance(forms[index].operation, kind)]

    def _ports(self, positions: Sequence[int]) -> tuple[Port, ...]:
        columns = self.network.columns
        return tuple(
            Port(
                Symbol(columns.origin, index),
                columns.labels.get(index),
                columns.forms[index].type,
            )
            for index in positions
        )

    @cached_property
    def _sources(self) -> list[int]:
        operands = self.network.columns.operands
        return [index for index in self.order if not operands[index]]

    @cached_property
    def _brought(self) -> list[int]:
        """The sources that a run brings: all but the constants."""
        forms = self.network.columns.forms
        return [index for index in self._sources if not isinstance(forms[index].operation, Leaf)]

    @cached_property
    def _retained(self) -> list[int]:
        """What the engine scan reads beyond the results, in the backward posture."""
        if not self.backward:
            return []
        kept = retained(self.network.columns, self.order)
        return sorted(kept.difference(self._results))

    @cached_property
    def _kept(self) -> list[int]:
        """What a run answers: the results, then what a scan reads beyond them."""
        return [*self._results, *self._retained]

    @cached_property
    def _answered(self) -> list[tuple[int, Element]]:
        """What a run answers, with the element of each."""
        forms = self.network.columns.forms
        return [(index, forms[index].type.element) for index in self._kept]

    @cached_property
    def _schedule(self) -> Schedule:
        columns, order, kept = self.network.columns, self.order, self._kept
        fused = fused_steps(columns, order, kept, self._choices)
        return Schedule(columns, order, kept, self._choices, fused)

    @property
    def _copies_feeds(self) -> bool:
        """Whether a run copies each array that it is fed, whose owner may write to it later."""
        return self.backward or self._returns_views

    @cached_property
    def _returns_views(self) -> bool:
        """Whether a result may share memory with a fed array, which its owner may write to."""
        columns, views = self.network.columns, set(self._sources_of(Input))
        for index in self.order:
            is_view = columns.forms[index].operation.is_view
            if is_view and not views.isdisjoint(columns.operands[index]):
                views.add(index)
        return not views.isdisjoint(self._results)

    def __reduce__(self) -> Any:
        # The schedule, a compiled function, is lowered again where it is needed.
        choices = self.numerics, self._choices.backends
        return type(self), (self.network, self._results, self.backward, *choices)

    def __repr__(self) -> str:
        return f"Plan({len(self.order)} nodes, {self.signature()})"
