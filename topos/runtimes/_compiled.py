"""Plans compiled by a runtime: parameters and feeds in, a run out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from topos.engine import Numerics, Plan, Run
from topos.engine.copies import Copies
from topos.engine.description import Copied, Port
from topos.engine.sources import source_payloads
from topos.errors import ArgumentError, FeedError
from topos.graph import Symbol
from topos.graph.field import Parameters
from topos.graph.network import Feeds
from topos.reading import Tensor
from topos.runtimes import load
from topos.runtimes._runtime import Executable, ExecutableMemory
from topos.runtimes._signature import Array

SHOWN: Final = 4
"""How many arguments or results a text names."""

Reference = Symbol | str
# A mapping is invariant in its keys, so each way to spell a symbol is named.
Following = (
    Mapping[Symbol, Symbol]
    | Mapping[str, str]
    | Mapping[str, Symbol]
    | Mapping[Symbol, str]
    | Mapping[Reference, Reference]
)


class CompiledMemory(NamedTuple):
    """The bytes of a call, where the runtime tells them, and the arguments that it copies."""

    executable: ExecutableMemory | None
    copied: tuple[Copied, ...]

    def __str__(self) -> str:
        lines = [f"copied at each call: {each}" for each in self.copied]
        return "\n".join([str(self.executable or "the runtime does not tell"), *lines])


class CompiledPlan:
    """A plan whose emitted module a runtime executes; it is forward-only."""

    def __init__(self, plan: Plan, runtime: str, executable: Executable) -> None:
        self.plan, self.runtime, self.executable = plan, runtime, executable
        signature = plan.signature()
        self._arguments, self._results = signature.arguments, signature.results
        self._copies = Copies(plan.network.columns)

    def forward(self, parameters: Parameters | None = None, feeds: Feeds | None = None) -> Run:
        """Returns a run of the compiled module; `parameters` default to the initial state.

        A `CopyWarning` tells once of each argument that every call has to copy.
        """
        arrays = self.plan.arguments(parameters, feeds)
        in_place = self.executable.reads_in_place
        self._copies.demand(self._arguments, arrays, in_place=in_place)
        return _run(self.plan, self._results, self.executable(*arrays))

    def memory(self) -> CompiledMemory:
        """Returns the bytes that a call needs, and the arguments that calls so far had to copy."""
        return CompiledMemory(self.executable.memory(), self._copies.noted())

    def bind(self, parameters: Parameters | None = None) -> BoundPlan:
        """Returns this plan with its parameters held by the runtime, which then takes feeds alone.

        `parameters` default to the initial state.
        """
        return BoundPlan(self, parameters)

    def loop(
        self,
        following: Following,
        parameters: Parameters | None = None,
        feeds: Feeds | None = None,
    ) -> PlanLoop:
        """Returns this plan as a step whose state stays in the runtime.

        `following` maps parameters and inputs to the roots that are their next values:
        `following` of a recorded step. Parameters that nothing follows are bound, and so are the
        inputs among `feeds` that nothing follows. `parameters` and `feeds` are the first state, by
        default the recorded one. Raises `ArgumentError` for what is neither, and where its next
        value is no root or has another type.
        """
        return PlanLoop(self, following, parameters, feeds)

    def __repr__(self) -> str:
        signature = self.plan.signature()
        return f"CompiledPlan({self.runtime}, {_brief(signature.arguments, signature.results)})"


class BoundPlan:
    """A compiled plan whose parameters the runtime holds; any number of threads may share it."""

    def __init__(self, compiled: CompiledPlan, parameters: Parameters | None) -> None:
        plan, signature = compiled.plan, compiled.plan.signature()
        _demand_state(parameters, "a plan binds")
        held = _arrays(plan, signature.parameters, parameters, {})
        self.plan, self.runtime = plan, compiled.runtime
        self.executable = compiled.executable.bind(dict(enumerate(held)))
        self._inputs, self._results = signature.inputs, signature.results
        self._copies = Copies(plan.network.columns)

    def forward(self, feeds: Feeds | None = None) -> Run:
        """Returns a run of the compiled module with the bound parameters."""
        arrays = _arrays(self.plan, self._inputs, None, feeds)
        in_place = self.executable.reads_in_place
        self._copies.demand(self._inputs, arrays, in_place=in_place)
        return _run(self.plan, self._results, self.executable(*arrays))

    def memory(self) -> CompiledMemory:
        """Returns the bytes that a call needs, and the inputs that calls so far had to copy."""
        return CompiledMemory(self.executable.memory(), self._copies.noted())

    def __repr__(self) -> str:
        return f"BoundPlan({self.runtime}, {_brief(self._inputs, self._results)})"


class PlanLoop:
    """A compiled step whose parameters the runtime keeps from one call to the next.

    Inputs may be kept as well: a cache, say. One call runs at a time. Where one fails, the state
    is lost, and every later use says so.
    """

    def __init__(
        self,
        compiled: CompiledPlan,
        following: Following,
        parameters: Parameters | None,
        feeds: Feeds | None = None,
    ) -> None:
        plan, signature = compiled.plan, compiled.plan.signature()
        after = _following(plan, following)
        _demand_state(parameters, "a loop starts from")
        fed = {plan.network.symbol(at) for at in feeds or ()}
        # What a step takes: the inputs that are neither carried nor bound.
        self._inputs = [each for each in signature.inputs if each.symbol not in {*after, *fed}]
        ports = [each for each in signature.arguments if each not in self._inputs]
        first = dict(zip(ports, _arrays(plan, ports, parameters, feeds), strict=True))
        fixed = {
            at: first[port]
            for at, port in enumerate(signature.arguments)
            if port in first and port.symbol not in after
        }
        left = [port for at, port in enumerate(signature.arguments) if at not in fixed]
        state = {at: first[port] for at, port in enumerate(left) if port.symbol in after}
        self.plan, self.runtime = plan, compiled.runtime
        # What is carried, by its place among the arguments that are not bound.
        self._ports = {at: left[at] for at in state}
        places = {port.symbol: place for place, port in enumerate(signature.results)}
        taken = {at: places[after[port.symbol]] for at, port in self._ports.items()}
        whole = compiled.executable.bind(fixed) if fixed else compiled.executable
        self._loop = whole.loop(taken, state)
        given = set(taken.values())
        self._results = [each for at, each in enumerate(signature.results) if at not in given]
        self._first = parameters
        # A parameter that the step does not read is no argument: its next value is a result.
        kept = {port.symbol for port in self._ports.values()}
        self._unread = {at: new for at, new in after.items() if at not in kept}
        self._latest: dict[Reference, Tensor] = {}

    def forward(self, feeds: Feeds | None = None) -> Run:
        """Runs one step, and returns a run of the results that are no next values."""
        arrays = self._loop(*_arrays(self.plan, self._inputs, None, feeds))
        run = _run(self.plan, self._results, arrays)
        self._latest = {at: run.of(new) for at, new in self._unread.items()}
        return run

    def restart(self, parameters: Parameters | None = None, feeds: Feeds | None = None) -> None:
        """Begins again with another first state of all that is carried; nothing is compiled."""
        _demand_state(parameters, "a loop starts from")
        arrays = _arrays(self.plan, [*self._ports.values()], parameters, feeds)
        self._loop.restart(dict(zip(self._ports, arrays, strict=True)))
        self._first = self._first if parameters is None else parameters
        self._latest = {}

    def parameters(self) -> Parameters:
        """Returns copies of all parameters as the last step left them."""
        network, state = self.plan.network, dict(self._latest)
        for place, array in self._loop.state().items():
            port = self._ports[place]
            if network.columns.forms[port.symbol.position].operation.name == "parameter":
                state[port.symbol] = Tensor.wrap(array, port.type.element)
        before = network.parameters() if self._first is None else self._first
        return before.with_payloads(state)

    def __repr__(self) -> str:
        kept = f"{len(self._ports)} carried"
        return f"PlanLoop({self.runtime}, {kept}, {_brief(self._inputs, self._results)})"


def compile_plan(
    plan: Plan,
    runtime: str,
    numerics: Numerics,
    options: Mapping[str, Any] | None,
    cache: Path | None = None,
) -> CompiledPlan:
    """Returns `plan` emitted and compiled by the runtime called `runtime`."""
    adapter = load(runtime)
    text = plan.emit_stablehlo()
    executable = adapter.compile(text, numerics=numerics, options=options, cache=cache)
    return CompiledPlan(plan, runtime, executable)


def _brief(arguments: Sequence[Port], results: Sequence[Port]) -> str:
    """Returns what a call takes and answers, the first few of each by name and type."""
    taken, answered = map(_few, (arguments, results))
    return f"({taken}) -> ({answered})"


def _few(ports: Sequence[Port]) -> str:
    more = len(ports) - SHOWN
    told = [*map(str, ports[:SHOWN]), *([f"{more} more"] if more > 0 else [])]
    return ", ".join(told)


def _demand_state(parameters: Parameters | None, needs: str) -> None:
    if not isinstance(parameters, Parameters | None):
        kind = type(parameters).__name__
        raise FeedError(f"{needs} Parameters, got {kind}: network.parameters() are the first ones")


def _arrays(
    plan: Plan, ports: Sequence[Port], parameters: Parameters | None, feeds: Feeds | None
) -> list[Array]:
    """Returns what those arguments are, in their order, each checked."""
    positions = [port.symbol.position for port in ports]
    payloads = source_payloads(plan.network, positions, parameters, feeds, copy=False)
    return [payloads[position] for position in positions]


def _run(plan: Plan, results: Iterable[Port], arrays: Iterable[Array]) -> Run:
    values = {
        port.symbol.position: Tensor.wrap(array, port.type.element)
        for port, array in zip(results, arrays, strict=True)
    }
    return Run(plan.network, values, None)


def _following(plan: Plan, following: Following) -> dict[Symbol, Symbol]:
    """Returns `following` by symbols, checked against what the plan answers."""
    if not isinstance(following, Mapping):
        raise ArgumentError(
            f"a loop needs a mapping of arguments to their next values, got {following!r}"
        )
    network, columns = plan.network, plan.network.columns
    after = {network.symbol(at): network.symbol(new) for at, new in following.items()}
    results = {port.symbol for port in plan.signature().results}
    for at, new in after.items():
        title = columns.title(at.position)
        if columns.forms[at.position].operation.name not in ("parameter", "input"):
            raise ArgumentError(f"a loop carries parameters and inputs, got {title}")
        if new not in results:
            wanted = columns.title(new.position)
            raise ArgumentError(f"a loop needs {wanted}, the next {title}, among the roots")
    if len({*after.values()}) < len(after):
        raise ArgumentError("a loop needs a next value of its own for each argument")
    return after
