"""Choices: who computes what of a plan, each form asked once along the chain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from topos.backend import (
    CLEAN,
    Backend,
    BatchNormTask,
    Formula,
    Function,
    GemmTask,
    Kernel,
    OperationTask,
    Served,
    Service,
    own_kernel,
    precision_of,
    serve,
    task_of,
    used,
)
from topos.engine.numerics import Numerics
from topos.op import Operation
from topos.payload import Element, TensorType

_NATIVE = (np.dtype(np.float32), np.dtype(np.float64))


class Choice(NamedTuple):
    """The kernel of a form, the row that it adds to a tally, if it is counted, and its result."""

    kernel: Kernel
    service: Service | None
    result: TensorType


class Choices:
    """Who computes what in one plan and its scans, decided for each form where it is first met.

    Under exact numerics a kernel has the oracle's bits for operands without a NaN, and raises
    `FloatingPointError` under `numpy.errstate(invalid="raise")` where a NaN arises.
    """

    __slots__ = ("_known", "backends", "exact")

    def __init__(self, numerics: Numerics, backends: tuple[Backend, ...] | None = None) -> None:
        self.exact = numerics is Numerics.EXACT
        self.backends = used() if backends is None else backends
        self._known: dict[tuple[Operation, tuple[TensorType, ...]], Choice] = {}

    def of(self, operation: Operation, operands: tuple[TensorType, ...]) -> Choice:
        """Returns who computes `operation` over operands of these types."""
        found = self._known.get((operation, operands))
        if found is None:
            # Two threads may ask at once; their answers are alike.
            found = self._known[operation, operands] = self._choice(operation, operands)
        return found

    def product(self, element: Element) -> Function:
        """Returns the product of stacks of matrices inside a fused kernel."""
        # Of one number, so that no device takes what a kernel asks for block by block.
        one = TensorType((1, 1), element)
        return self._served(Formula.GEMM, GemmTask(one, one)).kernel.function

    def batch_norm(self, operand: TensorType, epsilon: float) -> Kernel | None:
        """Returns the kernel that an element of the user's own has for a normalization of rows."""
        task = BatchNormTask(operand, epsilon)
        served = self._served(Formula.BATCH_NORM_TRAINING, task)
        if not served.own:
            return None
        kernel = Kernel(served.kernel.function)
        return kernel.guarded() if self.exact else kernel

    def _served(self, formula: Formula, task: Any) -> Served:
        return serve(formula, task, self.exact, self.backends)

    def _choice(self, operation: Operation, operands: tuple[TensorType, ...]) -> Choice:
        asked, result = task_of(operation, operands), operation.infer(*operands)
        if asked is None:
            kernel = own_kernel(operation, operands)
            return Choice(self._clean(operation, kernel, operands[0], result), None, result)
        formula, task = asked
        kernel, backend, own = self._served(formula, task)
        element = operands[0].element
        has_clean = element.native and element.dtype in _NATIVE
        if backend is None and not own and self.exact and has_clean:
            kernel = Kernel.of(CLEAN[formula]) if formula in CLEAN else kernel
        counted = not isinstance(task, OperationTask)
        service = Service(formula, precision_of(task), backend) if counted else None
        return Choice(self._clean(operation, kernel, operands[0], result), service, result)

    def _clean(
        self, operation: Operation, kernel: Kernel, operand: TensorType, result: TensorType
    ) -> Kernel:
        # An arithmetic of the user's own has its bits whatever the operands hold, and what is
        # converted out of it may be a NaN that no flag told of.
        arises = operation.introduces_nan or not operand.element.native
        return kernel.guarded() if self.exact and arises and result.element.native else kernel

    def __reduce__(self) -> Any:
        # A kernel may be compiled or on a device: it is asked for again where it is needed.
        numerics = Numerics.EXACT if self.exact else Numerics.FAST
        return type(self), (numerics, self.backends)
