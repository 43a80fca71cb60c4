"""An element of the user's own routes its tasks by overriding the hooks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos import Element, Tape, Tensor, TensorType
from topos.backend import (
    Backend,
    BatchNormTask,
    Formula,
    Function,
    GemmTask,
    Kernel,
    MapTask,
    Normalized,
    serve,
)
from topos.errors import ElementError

Array = npt.NDArray[Any]


def doubled_product(left: Array, right: Array, out: Array | None = None) -> Array:
    return np.matmul(2 * left, right, out=out)


def negated(array: Array, out: Array | None = None) -> Array:
    return np.negative(array, out=out)


def nothing(x: Array, scale: Array, shift: Array, out: Array | None = None) -> Normalized:
    return Normalized(x, scale, shift)


class Routed(Element):
    """An element with kernels that are easy to tell from all others."""

    def __init__(self, name: str) -> None:
        super().__init__(name, np.float32, mlir="f32")

    def gemm(self, task: GemmTask, exact: bool) -> Function | None:
        return None if exact or task.flops < 20 else doubled_product

    def map(self, function: Formula, task: MapTask, exact: bool) -> Function | None:
        return negated if function is Formula.EXP and not exact else None

    def batch_norm(self, task: BatchNormTask, exact: bool) -> Function | None:
        return nothing


r32 = Routed("r32")
plain = Element("p32", np.float32, mlir="f32")
SQUARE = TensorType((3, 3), r32)
BLAS = Kernel(np.matmul, writes=True)


def test_a_hook_that_answers_goes_before_every_backend() -> None:
    served = serve(Formula.GEMM, GemmTask(SQUARE, SQUARE), False)
    assert (served.kernel.function, served.backend, served.own) == (doubled_product, None, True)
    assert serve(Formula.EXP, MapTask(SQUARE), False).kernel.function is negated
    normalized = serve(Formula.BATCH_NORM_TRAINING, BatchNormTask(SQUARE, 0.1), True)
    assert normalized.kernel.function is nothing


def test_a_hook_that_fails_or_returns_no_kernel_is_refused() -> None:
    class Faulty(Routed):
        def gemm(self, task: GemmTask, exact: bool) -> Any:
            return 3 if exact else task.left.shape[7]

    square = TensorType((3, 3), Faulty("faulty"))
    with pytest.raises(ElementError, match=r"has to return a kernel or None for gemm, got 3$"):
        serve(Formula.GEMM, GemmTask(square, square), True)
    with pytest.raises(ElementError, match=r"^a hook of faulty failed for gemm: IndexError: tuple"):
        serve(Formula.GEMM, GemmTask(square, square), False)


def test_a_hook_that_answers_none_leaves_the_task_to_the_backends() -> None:
    few = TensorType((1, 1), r32)
    assert serve(Formula.GEMM, GemmTask(few, few), False) == (BLAS, Backend.SIMD, False)
    assert serve(Formula.LN, MapTask(SQUARE), False).backend is Backend.SIMD
    exact = serve(Formula.EXP, MapTask(SQUARE), True)
    assert (exact.backend, exact.own) == (None, False)


def test_an_element_without_hooks_is_served_like_the_format_it_is_stored_in() -> None:
    operand = TensorType((3, 3), plain)
    task = GemmTask(operand, operand)
    assert serve(Formula.GEMM, task, False) == (BLAS, Backend.SIMD, False)
    assert not serve(Formula.GEMM, task, True).own


@pytest.mark.parametrize("element", [r32, plain], ids=str)
def test_an_element_has_the_maps_of_the_format_it_is_stored_in(element: Element) -> None:
    tape = Tape(element=element)
    x = tape.input([0.5, 1.0], name="x")
    x.exp().log_softmax(0).named("y")
    oracle = tape.into_network().forward().of("y")
    expected = Tensor(np.array([0.5, 1.0], np.float32)).exp().log_softmax(0)
    assert oracle.element is element
    assert oracle.numpy().tobytes() == expected.numpy().tobytes()


def test_an_element_keeps_its_hooks_in_a_pickle() -> None:
    r32.note = "of the user"  # type: ignore[attr-defined]  # A subclass has attributes of its own.
    copy = pickle.loads(pickle.dumps(r32))
    assert isinstance(copy, Routed)
    assert (copy.name, copy.dtype, copy.mlir) == (r32.name, r32.dtype, r32.mlir)
    assert copy.note == "of the user"  # type: ignore[attr-defined]  # As above.
