"""Writing: how a scatter's body combines updates into rows, several of which may hit one row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from topos.payload.kernels.canonical import LAYOUTS
from topos.runtimes.interpreter.context import BuildContext
from topos.runtimes.interpreter.kernels.bodies import ORDERLESS, Arrays, Combiner, combiner
from topos.runtimes.interpreter.kernels.orders import extreme_ranks, unranked
from topos.runtimes.interpreter.program import Array, Program, origins
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import elementwise as dialect
from topos.stablehlo.types import dtype_of, is_complex, is_float

__all__ = ["Writer", "in_turns", "writer"]

# Takes rows [targets, ...] to write to, the target of each update, updates [n, ...] in the order in
# which they count, and what the body captures.
Writer = Callable[[Arrays, Array, Arrays, Arrays], None]

# Those that numpy has for complex numbers, and that round alike there and in the oracle, unlike the
# extremes, to which numpy's zeros of either sign are equal.
_ARITHMETIC: Final = frozenset({dialect.Add, dialect.Multiply})
_EXTREMES: Final = frozenset({dialect.Maximum, dialect.Minimum})
# A turn costs as much as this many rows do that numpy takes over element by element.
_ROWS_A_TURN: Final = 32


def writer(context: BuildContext[Any], body: Program) -> Writer:
    """Returns how `body` writes: by the last update alone, by a ufunc, or turn by turn."""
    count = len(context.results)
    reads = origins(body, body.outputs)
    if reads.isdisjoint(range(count)):
        return partial(_last, combiner(body))
    turns = partial(in_turns, combiner(body))
    if count > 1:
        return turns
    if context.exact and body.only in _EXTREMES and dtype_of(context.results[0]) in LAYOUTS:
        return _AtOnce(partial(_ranked_at, body.only is dialect.Maximum), True, turns)
    if not _is_known(context, body.only):
        return turns
    return _AtOnce(ORDERLESS[body.only].at, context.exact, turns)


def _is_known(context: BuildContext[Any], only: type[Definition] | None) -> bool:
    """Returns whether numpy's ufunc for `only` has the bits of the body's own kernel."""
    result = context.results[0]
    if is_complex(result):
        return not context.exact and only in _ARITHMETIC
    if not context.exact or not is_float(result):
        return only in ORDERLESS
    return only in _ARITHMETIC and dtype_of(result) in LAYOUTS


def _last(
    combine: Combiner, rows: Arrays, targets: Array, updates: Arrays, captures: Arrays
) -> None:
    """Writes by a body that does not look at what is there: the last update of a row remains."""
    for row, update in zip(rows, combine(updates, updates, captures), strict=True):
        # numpy assigns in the order of the indices.
        row[targets] = update


@dataclass(frozen=True, slots=True)
class _AtOnce:
    """One well-known operation, which `take` does one update after the other."""

    take: Callable[[Array, Array, Array], None]
    exact: bool
    turns: Writer

    def __call__(self, rows: Arrays, targets: Array, updates: Arrays, captures: Arrays) -> None:
        (row,), (update,) = rows, updates
        if row.ndim > 1 and _seldom_repeats(targets):
            self.turns(rows, targets, updates, captures)
            return
        # This takes the updates one after the other, rounding after each.
        self.take(row, targets, update)
        if self.exact and row.dtype in LAYOUTS:
            _canonicalize(row, targets)


def _ranked_at(greatest: bool, row: Array, targets: Array, update: Array) -> None:
    """Writes the oracle's maximum or minimum, as one of integers."""
    ranks = extreme_ranks(row, greatest)
    (np.maximum if greatest else np.minimum).at(ranks, targets, extreme_ranks(update, greatest))
    row[targets] = unranked(ranks[targets], row.dtype)


def _seldom_repeats(targets: Array) -> bool:
    """Returns whether rows are written in so few turns that these beat numpy's single elements."""
    return len(targets) > 0 and int(np.bincount(targets).max()) * _ROWS_A_TURN <= len(targets)


def _canonicalize(row: Array, targets: Array) -> None:
    """Makes every NaN at `targets` the canonical one; what was not written keeps its bits."""
    layout = LAYOUTS[row.dtype]
    written = row[targets]
    broken = np.isnan(written)
    if broken.any():
        written.view(layout.unsigned)[broken] = layout.quiet
        row[targets] = written


def in_turns(
    combine: Combiner, rows: Arrays, targets: Array, updates: Arrays, captures: Arrays
) -> None:
    """Writes by any body, in turns of which each writes a row at most once."""
    for places, chosen in _turns(targets):
        combined = combine(
            [row[places] for row in rows], [update[chosen] for update in updates], captures
        )
        for row, result in zip(rows, combined, strict=True):
            row[places] = result


def _turns(targets: Array) -> Iterator[tuple[Array, Array]]:
    """Yields the targets of each turn and the updates that they take, in the updates' order."""
    if not len(targets):
        return
    # A stable sort keeps the order of the updates of one target, and they lie side by side.
    order = np.argsort(targets, kind="stable")
    ascending = targets[order]
    first = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    places, counts = ascending[first], np.diff(first, append=len(ascending))
    # With the targets of most updates in front, those of each turn are the leading ones.
    most = np.argsort(-counts, kind="stable")
    places, first, counts = places[most], first[most], counts[most]
    left = len(places)
    for turn in range(int(counts[0])):
        while counts[left - 1] <= turn:
            left -= 1
        yield places[:left], order[first[:left] + turn]
