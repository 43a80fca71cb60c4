"""What a pattern is, and what it answers: a match, inside the engine and as public data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from topos.graph import Symbol
from topos.op import Operation

if TYPE_CHECKING:
    from topos.engine.catalog.view import View


class PatternKind(Enum):
    """The patterns that the catalog recognizes."""

    ATTENTION = "attention"
    BATCH_NORM_INFERENCE = "batch_norm_inference"
    BATCH_NORM_TRAINING = "batch_norm_training"
    ELEMENTWISE = "elementwise"
    REDUCE_WINDOW = "reduce_window"
    REDUCE_WINDOW_GRADIENT = "reduce_window_gradient"
    ROW_UPDATE = "row_update"
    WINDOW_PRODUCT = "window_product"
    WINDOW_PRODUCT_BIAS_GRADIENT = "window_product_bias_gradient"
    WINDOW_PRODUCT_INPUT_GRADIENT = "window_product_input_gradient"
    WINDOW_PRODUCT_WEIGHTS_GRADIENT = "window_product_weights_gradient"


class Match(NamedTuple):
    """An offer: nodes that one kernel or one operation may stand for.

    `claimed` holds every covered node, ascending, `operands` what the kernel takes, in order, and
    `results` what it answers: the root, then named results, which may be read like the root.
    `form` is the pattern's own record of parameters.
    """

    kind: PatternKind
    root: int
    claimed: tuple[int, ...]
    operands: tuple[int, ...]
    results: tuple[int, ...]
    form: Any

    @property
    def place(self) -> int:
        """The node at whose turn the kernel runs: the root, or the last named result.

        Named results may be read before the root is recorded; then every operand must be there.
        """
        named = max(self.results[1:], default=-1)
        return named if max(self.operands) < named else self.root

    @property
    def interior(self) -> tuple[int, ...]:
        """The claimed nodes that nobody can read once the match is elected."""
        return tuple(node for node in self.claimed if node not in self.results)


class Pattern(NamedTuple):
    """A recognizer: the operations that end it, and what it offers at a node of such a one."""

    roots: tuple[type[Operation], ...]
    match: Callable[[View, int], Iterator[Match]]


INEXACT: Final = "no kernel of it has the oracle's bits"
"""Why an exact plan evaluates the nodes of most patterns one by one."""

SHARED: Final = "another pattern has some of its nodes, or a value inside it is read elsewhere"
"""Why a match that could be taken is not."""


class Standing(NamedTuple):
    """Whether one consumer takes a match, and as what, or why not."""

    taken: bool
    detail: str


class PatternMatch(NamedTuple):
    """One recognized pattern as data: its kind, the node whose result is the group's, its nodes.

    `results` are the root and then the named results, such as the statistics of a batch
    normalization. A view of data that two matches share is listed with the first. `fused` tells
    whether the plan runs it as one kernel, and `raised` whether the emitted text has one operation
    for it; what is neither is only recognized.
    """

    kind: PatternKind
    root: Symbol
    claimed: tuple[Symbol, ...]
    results: tuple[Symbol, ...]
    fused: Standing
    raised: Standing

    def __str__(self) -> str:
        nodes = " ".join(map(str, self.claimed))
        fused = "fused" if self.fused.taken else f"not fused: {self.fused.detail}"
        raised = f"raised to {self.raised.detail}"
        if not self.raised.taken:
            raised = f"not raised: {self.raised.detail}"
        return f"{self.root} = {self.kind.value} of {nodes}; {fused}; {raised}"
