"""What a plan says of itself: its signature, its memory, and one line a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from topos.engine.liveness import releases
from topos.graph import Columns, Symbol
from topos.graph.columns import node_at
from topos.payload import TensorType

if TYPE_CHECKING:
    from topos.engine.schedule import Schedule


class Port(NamedTuple):
    """One argument or result: its symbol, its name if it has one, its type."""

    symbol: Symbol
    name: str | None
    type: TensorType

    def __str__(self) -> str:
        return f"{self.name or self.symbol}: {self.type}"


class Copied(NamedTuple):
    """An argument that every call copies: its port, its bytes, and why."""

    port: Port
    bytes: int
    reason: str

    def __str__(self) -> str:
        return f"{self.port}, {_size(self.bytes)}, {self.reason}"


class Memory(NamedTuple):
    """Bytes, beyond the arguments and constants.

    `live` is what is of use while each line of the schedule runs, `arena` the size of the block
    that most of it lies in, and `beside` what each line holds outside of the block: the results so
    far, from the line that makes room for them to the end, and the values that kernels allocate.

    The arena outlives the run: the plan keeps one for each run that was ever under way at the same
    time. It also keeps the memory of large results, those of two runs at most, to give it again.

    `copied` are the arguments that a call copies: those that calls so far brought in another
    layout, and every fed array where the plan keeps values for `Run.backward` or a result may be
    a view of an input; a `Tensor` is copied for neither.

    Not counted are these copies, a kernel's own scratch, and what an exact run holds that starts
    over because of a NaN.
    """

    live: tuple[int, ...]
    arena: int
    beside: tuple[int, ...]
    copied: tuple[Copied, ...] = ()

    @property
    def peak(self) -> int:
        """The most bytes that a run holds at once: its arena, its results and other values."""
        return self.arena + max(self.beside, default=0)

    def __str__(self) -> str:
        lines = [f"peak of {self.peak} bytes, arena of {self.arena}"]
        return "\n".join([*lines, *(f"copied at each call: {each}" for each in self.copied)])


class Signature(NamedTuple):
    """Parameters, then inputs, in recording order; roots, then observes, as declared."""

    parameters: tuple[Port, ...]
    inputs: tuple[Port, ...]
    results: tuple[Port, ...]

    @property
    def arguments(self) -> tuple[Port, ...]:
        """Parameters, then inputs."""
        return self.parameters + self.inputs

    def __str__(self) -> str:
        arguments = ", ".join(map(str, self.arguments))
        return f"({arguments}) -> ({', '.join(map(str, self.results))})"


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count} bytes"


def described(
    columns: Columns,
    order: Sequence[int],
    kept: Sequence[int],
    schedule: Schedule,
    memory: Memory,
) -> Iterator[str]:
    """Yields a line on the memory, one a pattern that runs as one step, and one a node.

    `kept` nodes are answered or held for a scan; a node `frees` operands that nobody reads after
    it, is `fused into` the pattern that ends at another, or is written `over` an operand.
    """
    yield str(memory)
    into = {}
    for step in schedule.steps:
        if step.fused:
            yield f"%{step.targets[0]} is {step.name} of {' '.join(f'%{i}' for i in step.operands)}"
        into.update(dict.fromkeys(step.fused, step.targets[0]))
    freed, held = releases(columns, order, set(kept)), set(kept)
    for index, dead in zip(order, freed, strict=True):
        notes = ["kept"] if index in held else []
        if dead:
            notes.append(f"frees {' '.join(f'%{operand}' for operand in dead)}")
        if index in into:
            notes.append(f"fused into %{into[index]}")
        if index in schedule.program.reused:
            notes.append(f"over %{schedule.program.reused[index]}")
        yield "  ".join([str(node_at(columns, index)), *notes])
