"""Raising: elected patterns written as the operations of StableHLO that they amount to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from topos.emit.patterns import batch_norm, windows
from topos.emit.writer import Site, Ssa, stamped
from topos.engine.catalog import Match, PatternKind, discover, elect
from topos.graph import Columns, Form
from topos.payload import TensorType

__all__ = ["raised", "raising", "results_of"]


class _Raise(NamedTuple):
    """Whether a form over operands of some types has an operation, and how it is written."""

    supports: Callable[[Any, Sequence[TensorType]], bool]
    write: Callable[[Any, Site], Ssa]


_RAISES: Final[dict[PatternKind, _Raise]] = {
    PatternKind.BATCH_NORM_INFERENCE: _Raise(batch_norm.supports, batch_norm.inference),
    PatternKind.BATCH_NORM_TRAINING: _Raise(batch_norm.supports, batch_norm.training),
    PatternKind.REDUCE_WINDOW: _Raise(windows.supports_maxima, windows.maxima),
    PatternKind.WINDOW_PRODUCT: _Raise(windows.supports_product, windows.product),
    PatternKind.WINDOW_PRODUCT_WEIGHTS_GRADIENT: _Raise(
        windows.supports_gradient, windows.weights_gradient
    ),
}


def raised(columns: Columns, order: Sequence[int], results: Iterable[int]) -> tuple[Match, ...]:
    """Returns the matches that are written as one operation; a result is never inside one."""
    return elect(discover(columns, order), partial(_supports, columns), results)


def raising(columns: Columns, match: Match, exact: bool) -> Callable[..., str]:
    """Returns the text of `match` as a function of names, as `stamp` does for a node."""
    form = columns.forms[match.root]
    site = Site(Form(form.operation, _types(columns, match), form.type), exact)
    value = _RAISES[match.kind].write(match.form, site)
    return stamped(site, value, columns.locations is not None)


def results_of(match: Match) -> dict[int, str]:
    """Returns the name of each result: numbered, where there are several."""
    if len(match.results) == 1:
        return {match.root: f"%v{match.root}"}
    return {node: f"%v{match.root}#{place}" for place, node in enumerate(match.results)}


def _supports(columns: Columns, match: Match) -> bool:
    found = _RAISES.get(match.kind)
    return found is not None and found.supports(match.form, _types(columns, match))


def _types(columns: Columns, match: Match) -> tuple[TensorType, ...]:
    return tuple(columns.forms[operand].type for operand in match.operands)
