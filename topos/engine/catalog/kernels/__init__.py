"""Home kernels: what this process runs in place of an elected pattern's nodes.

A kernel takes the match's operands and returns its results, an array or a tuple of them; `out` is
a C-contiguous array that the root is then written to. It writes no operand. Each was measured
against the numpy calls of the nodes it stands for; a pattern that does not pay has no kernel, and
its nodes run one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from topos.backend import Function
from topos.backend.fused import Normalization
from topos.engine.catalog.batch_norm import BatchNorm
from topos.engine.catalog.kernels import (
    attention,
    elementwise,
    reduce_window,
    row_update,
    window_product,
    window_product_gradient,
)
from topos.engine.catalog.pattern import INEXACT, Match, PatternKind
from topos.engine.choices import Choices
from topos.payload import TensorType, f32, f64

__all__ = ["home"]

Home = Callable[[Any, Sequence[TensorType], Choices], Function | str]


def _training(form: BatchNorm, types: object, choices: Choices) -> Function | str:
    return INEXACT if choices.exact else Normalization(*form)


def _inference(form: BatchNorm, types: object, choices: Choices) -> Function | str:
    return INEXACT if choices.exact else Normalization(*form).by


_HOMES: Final[dict[PatternKind, Home]] = {
    PatternKind.ATTENTION: attention.home,
    PatternKind.BATCH_NORM_INFERENCE: _inference,
    PatternKind.BATCH_NORM_TRAINING: _training,
    PatternKind.ELEMENTWISE: elementwise.home,
    PatternKind.REDUCE_WINDOW: reduce_window.home,
    PatternKind.REDUCE_WINDOW_GRADIENT: reduce_window.home_gradient,
    PatternKind.ROW_UPDATE: row_update.home,
    PatternKind.WINDOW_PRODUCT: window_product.home,
    PatternKind.WINDOW_PRODUCT_BIAS_GRADIENT: window_product_gradient.home_bias,
    PatternKind.WINDOW_PRODUCT_INPUT_GRADIENT: window_product_gradient.home_input,
    PatternKind.WINDOW_PRODUCT_WEIGHTS_GRADIENT: window_product_gradient.home_weights,
}

# Kernels that call the operations' own, or only move data.
_ANY: Final = (PatternKind.ELEMENTWISE, PatternKind.ROW_UPDATE)


def home(match: Match, types: Sequence[TensorType], choices: Choices) -> Function | str:
    """Returns the kernel for operands of `types`, or why there is none.

    Under `EXACT` its results have the bits of the claimed nodes, for operands without a NaN, and
    an invalid operation is reported by the hardware's flag as theirs is.
    """
    wide = types[0].element in (f32, f64) and not any(0 in type.shape for type in types)
    if not wide and match.kind not in _ANY:
        # The other formats compute in f32 and round each node, which no other kernel does.
        return "a kernel needs f32 or f64, and operands that are not empty"
    return _HOMES[match.kind](match.form, types, choices)
