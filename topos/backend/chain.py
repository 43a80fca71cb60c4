"""The chain: which backend a task goes to, decided once for plans, scans and the oracle."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cache, partial
from typing import Any, Final, NamedTuple

import numpy as np

from topos.backend.backend import Backend, used
from topos.backend.device import disable, failure_of
from topos.backend.formula import MAPS, Formula, Precision
from topos.backend.tally import Service, count, is_counting
from topos.backend.task import (
    BatchNormTask,
    GemmTask,
    MapTask,
    Normalized,
    OperationTask,
    ReduceTask,
    Task,
    demand_task,
    precision_of,
    task_of,
)
from topos.backend.terms import Declined, Dispatch, Function, Kernel
from topos.errors import ElementError, ToposError
from topos.op import Array, Map, MapOperation, MatMul, MaxAlong, Operation, SumAlong
from topos.payload import TensorType, kernels
from topos.payload.storage import literal

CLEAN: Final = {
    Formula.ADD: np.add,
    Formula.SUB: np.subtract,
    Formula.MUL: np.multiply,
    Formula.DIV: np.divide,
    Formula.NEG: np.negative,
    Formula.SQRT: np.sqrt,
}
"""What the oracle's kernels of float32 and float64 are where no operand is a NaN: numpy's, which
report one that arises by the hardware's flag."""


def reference(formula: Formula, task: Task) -> Kernel:
    """Returns the oracle's kernel for a task of `formula`."""
    match task:
        case GemmTask(left, right):
            return own_kernel(MatMul(), (left, right))
        case MapTask(operand):
            return own_kernel(Map(MapOperation(formula.value)), (operand,))
        case ReduceTask(operand, axes):
            kind = SumAlong if formula is Formula.SUM else MaxAlong
            return own_kernel(kind(axes), (operand,))
        case BatchNormTask():
            return Kernel(partial(_batch_norm, task), writes=True)
        case OperationTask(operation, operands):
            return own_kernel(operation, operands)


def own_kernel(operation: Operation, operands: tuple[TensorType, ...]) -> Kernel:
    """Returns the oracle's kernel of `operation` over operands of these types."""
    writes = operation.writes
    return Kernel(
        operation.kernel(*operands), writes, broadcasts=writes and operation.is_elementwise
    )


@np.errstate(all="ignore")
def _batch_norm(
    task: BatchNormTask, values: Array, scale: Array, shift: Array, out: Array | None = None
) -> Normalized:
    """Computes the recorded formula, `scale * ((x - mean) / sqrt(variance + epsilon)) + shift`."""
    arithmetic, total = kernels.arithmetic, kernels.reduction.sum
    terms, epsilon = (
        literal(float(number), task.element) for number in (len(values), task.epsilon)
    )
    mean = arithmetic.divide(total(values, (0,)), terms)
    centred = arithmetic.subtract(values, mean)
    variance = arithmetic.divide(total(arithmetic.multiply(centred, centred), (0,)), terms)
    deviation = kernels.maps.sqrt(arithmetic.add(variance, epsilon))
    scaled = arithmetic.multiply(scale, arithmetic.divide(centred, deviation))
    return Normalized(Kernel(arithmetic.add)(scaled, shift, out=out), mean, variance)


# A device takes only large maps, and those it computes faster than any library of the host. For a
# product the host's library goes first.
_DEVICES_FIRST: Final = (
    Backend.METAL,
    Backend.CUDA,
    Backend.ACCELERATE,
    Backend.SIMD,
    Backend.NUMBA,
    Backend.FUSED,
    Backend.STABLEHLO,
)
# No backend repays a task of the oracle whose operands are all smaller, and to ask takes longer
# than to compute it.
_SMALL: Final = 1 << 12


class Served(NamedTuple):
    """The kernel of a task and who it is of; `None` is the oracle, or the element if `own`."""

    kernel: Kernel
    backend: Backend | None
    own: bool = False


@cache
def chain(formula: Formula, precision: Precision) -> tuple[Backend, ...]:
    """Returns the backends with a kernel for tasks of `formula` at `precision`, in order."""
    return tuple(
        backend
        for backend in (_DEVICES_FIRST if formula in MAPS else Backend.ALL)
        if backend.serves(formula, precision)
        and backend.coverage(formula).dispatch is not Dispatch.TEXT
    )


def serve(
    formula: Formula, task: Task, exact: bool, backends: Container[Backend] | None = None
) -> Served:
    """Returns the kernel that computes `task`: the element's own, a backend's, or the oracle's.

    An exact run takes only kernels with the oracle's bits. `backends` may be asked, by default
    those that the process uses. A kernel of a device that fails while it runs disables its backend,
    hands the task to the next in the chain, and moves the count of that run's tally there.
    """
    demand_task(formula, task)
    own = _hooked(formula, task, exact)
    if own is not None:
        return Served(Kernel(own, writes=True), None, own=True)
    precision, usable = precision_of(task), used() if backends is None else backends
    for backend in () if precision is None else formula.chain(precision):
        answer = backend.offer(formula, task, exact=exact) if backend in usable else None
        if answer is None or isinstance(answer, Declined):
            continue
        if backend.coverage(formula).dispatch is Dispatch.DEVICE:
            guarded = partial(_guarded, backend, answer, formula, task, exact, usable)
            answer = Kernel(guarded, writes=True)
        return Served(answer, backend)
    return Served(reference(formula, task), None)


def computed(operation: Operation, arrays: Sequence[Array], types: tuple[TensorType, ...]) -> Array:
    """Returns the value of `operation` by the oracle, and counts it where it is a task.

    Its own kernel computes it, or in a large task one of a backend in use that always has the same
    bits. An element is not asked.
    """
    compute: Function = operation.kernel(*types)
    if max([array.size for array in arrays]) >= _SMALL or is_counting():
        match task_of(operation, types):
            case formula, (GemmTask() | MapTask() | ReduceTask()) as task:
                compute, backend = _identical(formula, task) or (compute, None)
                count((Service(formula, precision_of(task), backend),))
    result: Array = compute(*arrays)
    return result


def _identical(
    formula: Formula, task: GemmTask | MapTask | ReduceTask
) -> tuple[Function, Backend] | None:
    """Returns a kernel that always has the oracle's bits, where the task repays its first use."""
    precision = precision_of(task)
    for backend in () if precision is None else formula.chain(precision):
        if backend in used() and backend.repays(formula, task):
            answer = backend.offer(formula, task, exact=True)
            if not isinstance(answer, Declined):
                return answer.function, backend
    return None


def _hooked(formula: Formula, task: Task, exact: bool) -> Function | None:
    """Returns the kernel that an element has for a task; raises `ElementError` for what is none."""
    try:
        found = _asked(formula, task, exact)
    except ToposError:
        raise
    except Exception as error:
        raise ElementError(
            f"a hook of {task.element} failed for {formula.value}: {type(error).__name__}: {error}"
        ) from error
    if found is not None and not callable(found):
        needs = f"a hook of {task.element} has to return a kernel or None for {formula.value}"
        raise ElementError(f"{needs}, got {found!r}")
    return found


def _asked(formula: Formula, task: Task, exact: bool) -> Function | None:
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
    usable: Container[Backend],
    *operands: Any,
    out: Any = None,
) -> Any:
    if failure_of(backend.value) is None:
        try:
            return kernel(*operands, out=out)
        except Exception as error:  # A foreign driver may raise anything.
            disable(backend.value, f"{type(error).__name__}: {error}")
    following = serve(formula, task, exact, usable)
    moved = Service(formula, precision_of(task), backend, -1)
    count((moved, moved._replace(backend=following.backend, times=1)))
    return following.kernel(*operands, out=out)
