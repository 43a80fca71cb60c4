"""Serving: the first backend of a chain that takes a task, or the oracle."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from topos.backend import poison
from topos.backend.backend import Backend
from topos.backend.dispatch import Dispatch
from topos.backend.formula import Formula
from topos.backend.offer import Declined, Kernel
from topos.backend.oracle import reference
from topos.backend.tally import Service, count
from topos.backend.task import BatchNormTask, GemmTask, MapTask, Task, demand_task, precision_of

__all__ = ["Served", "serve"]


class Served(NamedTuple):
    """The kernel of a task and who it is of; `None` is the oracle, or the element if `own`."""

    kernel: Kernel
    backend: Backend | None
    own: bool = False


def serve(formula: Formula, task: Task, exact: bool) -> Served:
    """Returns the kernel that computes `task`: the element's own, a backend's, or the oracle's.

    An exact run takes only kernels with the oracle's bits. A kernel of a device that fails while
    it runs poisons its backend, hands the task to the next in the chain, and moves the count of
    that run's tally there.
    """
    demand_task(formula, task)
    own = _hooked(formula, task, exact)
    if own is not None:
        return Served(own, None, own=True)
    precision = precision_of(task)
    for backend in () if precision is None else formula.chain(precision):
        answer = backend.offer(formula, task, exact=exact)
        if isinstance(answer, Declined):
            continue
        if backend.coverage(formula).dispatch is Dispatch.DEVICE:
            answer = partial(_guarded, backend, answer, formula, task, exact)
        return Served(answer, backend)
    return Served(reference(formula, task), None)


def _hooked(formula: Formula, task: Task, exact: bool) -> Kernel | None:
    match task:
        case GemmTask():
            return task.element.gemm(task, exact)
        case MapTask():
            return task.element.map(formula, task, exact)
        case BatchNormTask():
            return task.element.batch_norm(task, exact)
    return None


def _guarded(
    backend: Backend,
    kernel: Kernel,
    formula: Formula,
    task: Task,
    exact: bool,
    *operands: Any,
    out: Any = None,
) -> Any:
    if poison.reason(backend) is None:
        try:
            return kernel(*operands, out=out)
        except Exception as error:  # A foreign driver may raise anything.
            poison.poison(backend, f"{type(error).__name__}: {error}")
    following = serve(formula, task, exact)
    precision = precision_of(task)
    count(
        (
            Service(formula, precision, backend, -1),
            Service(formula, precision, following.backend, 1),
        )
    )
    return following.kernel(*operands, out=out)
