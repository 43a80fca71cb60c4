"""Raising: elected patterns written as the operations of StableHLO that they amount to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from topos.emit.patterns import batch_norm, row_update, windows
from topos.emit.writer import Site, Ssa, stamped
from topos.engine.catalog import SHARED, Match, PatternKind, Standing, discover, elect
from topos.graph import Columns, Form
from topos.payload import TensorType

__all__ = ["RAISES", "raised", "raising", "results_of", "standings"]


class _Raise(NamedTuple):
    """The operation of a form, why it has another meaning over some types, and how it is written.

    The reason is `""` where the meaning is that of the recorded nodes; `when` says when that is.
    """

    operation: str
    when: str
    refusal: Callable[[Any, Sequence[TensorType]], str]
    write: Callable[[Any, Site], Ssa]


_BATCH: Final = "the element is f32, or f64 with an epsilon that f32 holds"
_FLOATS: Final = "the elements are floats"
_READ: Final = f"{_FLOATS}, no operand is empty, and some element of each axis is read"
RAISES: Final[dict[PatternKind, _Raise]] = {
    PatternKind.BATCH_NORM_INFERENCE: _Raise(
        "stablehlo.batch_norm_inference", _BATCH, batch_norm.refusal, batch_norm.inference
    ),
    PatternKind.BATCH_NORM_TRAINING: _Raise(
        "stablehlo.batch_norm_training", _BATCH, batch_norm.refusal, batch_norm.training
    ),
    PatternKind.REDUCE_WINDOW: _Raise(
        "stablehlo.reduce_window",
        "the elements are numbers",
        windows.maxima_refusal,
        windows.maxima,
    ),
    PatternKind.ROW_UPDATE: _Raise(
        "stablehlo.dynamic_update_slice",
        "the value is not empty",
        row_update.refusal,
        row_update.update,
    ),
    PatternKind.WINDOW_PRODUCT: _Raise(
        "stablehlo.convolution", _FLOATS, windows.product_refusal, windows.product
    ),
    PatternKind.WINDOW_PRODUCT_WEIGHTS_GRADIENT: _Raise(
        "stablehlo.convolution", _READ, windows.gradient_refusal, windows.weights_gradient
    ),
}


def raised(columns: Columns, order: Sequence[int], results: Iterable[int]) -> tuple[Match, ...]:
    """Returns the matches that are written as one operation; a result is never inside one."""
    return elect(discover(columns, order), partial(_supports, columns), results)


def raising(columns: Columns, match: Match, exact: bool) -> Callable[..., str]:
    """Returns the text of `match` as a function of names, as `stamp` does for a node."""
    form = columns.forms[match.root]
    site = Site(Form(form.operation, _types(columns, match), form.type), exact)
    value = RAISES[match.kind].write(match.form, site)
    return stamped(site, value, columns.locations is not None)


def results_of(match: Match) -> dict[int, str]:
    """Returns the name of each result: numbered, where there are several."""
    if len(match.results) == 1:
        return {match.root: f"%v{match.root}"}
    return {node: f"%v{match.root}#{place}" for place, node in enumerate(match.results)}


def standings(
    columns: Columns, order: Sequence[int], results: Iterable[int]
) -> Callable[[Match], Standing]:
    """Returns what tells of a match whether it is written as one operation, and which."""
    taken = {(match.kind, match.root) for match in raised(columns, order, results)}

    def standing(match: Match) -> Standing:
        if (match.kind, match.root) in taken:
            return Standing(True, RAISES[match.kind].operation)
        return Standing(False, _refusal(columns, match) or SHARED)

    return standing


def _supports(columns: Columns, match: Match) -> bool:
    return not _refusal(columns, match)


def _refusal(columns: Columns, match: Match) -> str:
    """Returns why no operation of StableHLO has the meaning of a match, or `""` where one has."""
    found = RAISES.get(match.kind)
    if found is None:
        return "StableHLO has no operation for it"
    return found.refusal(match.form, _types(columns, match))


def _types(columns: Columns, match: Match) -> tuple[TensorType, ...]:
    return tuple(columns.forms[operand].type for operand in match.operands)
