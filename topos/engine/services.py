"""Services: who computes what of a plan, decided once, when it is lowered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from topos.backend import (
    Backend,
    BatchNormTask,
    Formula,
    Normalized,
    Precision,
    Service,
    precision_of,
    serve,
)
from topos.engine.catalog import Match, PatternKind
from topos.graph import Form
from topos.op import Array, Kernel
from topos.op.task import task_of
from topos.payload import TensorType, kernels

__all__ = ["Chosen", "chosen", "fused_service", "own_batch_norm"]


class Chosen(NamedTuple):
    """The kernel of a node, and the row that it adds to a tally, if it is a task."""

    kernel: Kernel
    service: Service | None


def chosen(form: Form, kernel: Kernel, *, exact: bool) -> Chosen:
    """Returns the kernel that the chain of the node's task elects, `kernel` where that is as good.

    `kernel` is the operation's own for the posture: numpy's function in a fast plan, in an exact
    one the compiled twin or the oracle's kernel, each made to report a NaN.
    """
    asked = task_of(form.operation, *form.operands)
    if asked is None:
        return Chosen(kernel, None)
    formula, task = asked
    served = serve(formula, task, exact)
    service = Service(formula, precision_of(task), served.backend)
    if exact:
        found = Kernel(kernels.clean.guarded(served.kernel)) if served.own else kernel
        return Chosen(found, service)
    wide = service.precision in (Precision.F64, Precision.F32)
    if not served.own and (served.backend is None or (served.backend is Backend.SIMD and wide)):
        return Chosen(kernel, service)
    return Chosen(Kernel(served.kernel, writes=True), service)


def fused_service(kind: PatternKind, result: TensorType, backend: Backend | None) -> Service:
    """Returns the row of an elected pattern, which `backend` serves."""
    return Service(Formula(kind.value), Precision.of(result.element.dtype), backend)


def own_batch_norm(match: Match, operand: TensorType, *, exact: bool) -> Kernel | None:
    """Returns the kernel that an element of the user's own has for a normalization of rows."""
    if match.kind is not PatternKind.BATCH_NORM_TRAINING:
        return None
    if len(operand.shape) != 2 or match.form.feature != 1:
        return None
    task = BatchNormTask(operand, match.form.epsilon)
    served = serve(Formula.BATCH_NORM_TRAINING, task, exact)
    if not served.own:
        return None
    function: Callable[..., Any] = served.kernel
    return Kernel(partial(_reporting, function) if exact else function)


def _reporting(kernel: Callable[..., Normalized], *operands: Array) -> Any:
    """Returns what `kernel` does; raises `FloatingPointError` where a result holds a NaN."""
    results = kernel(*operands)
    if any(map(kernels.clean.has_nan, results)):
        raise FloatingPointError("a NaN arose")
    return results
