"""The backends as data: every question about coverage, chains and status has an answer."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import pytest

from tests.exact import exactly
from topos import TensorType, bool_, f32, f64, i32
from topos.backend import (
    Backend,
    Coverage,
    Declined,
    Dispatch,
    Fidelity,
    Formula,
    GemmTask,
    MapTask,
    Precision,
    Status,
    Task,
)
from topos.backend.formula import MAPS
from topos.engine.catalog import PatternKind
from topos.errors import ArgumentError
from topos.op import MapOperation
from topos.payload import DIFFERENTIABLE


def test_all_backends_stand_in_the_order_of_the_chains() -> None:
    names = ["accelerate", "metal", "cuda", "simd", "numba", "fused", "stablehlo"]
    assert [backend.value for backend in Backend.ALL] == names
    assert list(Backend) == list(Backend.ALL)


def test_every_coverage_is_whole_or_nothing() -> None:
    for backend, formula in itertools.product(Backend.ALL, Formula):
        coverage = backend.coverage(formula)
        assert isinstance(coverage, Coverage)
        terms = [coverage.fidelity, coverage.dispatch]
        assert all(terms) if coverage.precisions else terms == [None, None]
        if coverage.fidelity is Fidelity.ENVELOPE:
            assert coverage.bound, f"{backend} states no bound of {formula}"


@pytest.mark.parametrize("backend", Backend.ALL)
def test_a_chain_holds_whoever_serves_but_no_writer_of_text(backend: Backend) -> None:
    for formula, precision in itertools.product(Formula, Precision):
        coverage = backend.coverage(formula)
        covered = precision in coverage.precisions
        assert backend.serves(formula, precision) is covered
        on_tasks = covered and coverage.dispatch is not Dispatch.TEXT
        assert (backend in formula.chain(precision)) is on_tasks


@pytest.mark.parametrize("backend", Backend.ALL)
def test_every_backend_has_a_status_with_a_reason(backend: Backend) -> None:
    status = backend.status()
    assert isinstance(status, Status)
    assert status.detail
    # What this install lacks cannot be ready; what it has may still fail its trial.
    assert backend.compiled() or not status.ready


def test_numpy_fused_kernels_and_text_are_ready_everywhere() -> None:
    for backend in (Backend.SIMD, Backend.FUSED, Backend.STABLEHLO):
        assert backend.compiled()
        assert backend.status().ready


def test_products_go_to_the_host_first_and_large_maps_to_a_device() -> None:
    product, exponential = Formula.GEMM.chain(Precision.F32), Formula.EXP.chain(Precision.F32)
    assert product == (
        *(Backend.ACCELERATE, Backend.METAL, Backend.CUDA),
        *(Backend.SIMD, Backend.NUMBA),
    )
    assert exponential == (Backend.METAL, Backend.CUDA, Backend.ACCELERATE, Backend.SIMD)


def test_metal_never_sees_float64() -> None:
    assert not any(Backend.METAL.serves(formula, Precision.F64) for formula in Formula)


def test_every_map_and_every_pattern_is_a_formula_of_its_name() -> None:
    assert [formula.value for formula in MAPS] == [
        Formula(operation.value).value for operation in sorted(MapOperation, key=_place)
    ]
    assert all(Backend.FUSED.coverage(Formula(kind.value)).precisions for kind in PatternKind)


def _place(operation: MapOperation) -> int:
    return MAPS.index(Formula(operation.value))


def test_every_differentiable_element_has_a_precision_and_no_integer_has() -> None:
    precisions = [Precision.of(element.dtype) for element in DIFFERENTIABLE]
    assert precisions == [Precision(element.name) for element in DIFFERENTIABLE]
    assert Precision.of(i32.dtype) is Precision.of(bool_.dtype) is None


@pytest.mark.parametrize(
    ("backend", "formula", "task", "reason"),
    [
        (
            Backend.FUSED,
            Formula.GEMM,
            GemmTask(TensorType((2, 2), f32), TensorType((2, 2), f32)),
            "it has no kernel for gemm of f32",
        ),
        (
            Backend.STABLEHLO,
            Formula.EXP,
            MapTask(TensorType((2,), f64)),
            "it takes a whole plan, by Plan.compile",
        ),
    ],
)
def test_a_backend_declines_with_its_reason(
    backend: Backend, formula: Formula, task: Task, reason: str
) -> None:
    assert backend.offer(formula, task) == Declined(reason)


def test_an_exact_run_is_declined_what_is_only_near() -> None:
    task = MapTask(TensorType((100,), f64))
    declined = Backend.SIMD.offer(Formula.EXP, task, exact=True)
    assert declined == Declined("an exact run takes no kernel that is only near the oracle's bits")
    assert not isinstance(Backend.SIMD.offer(Formula.EXP, task), Declined)


def test_questions_load_no_foreign_package() -> None:
    code = """
import sys
from topos.backend import Backend, Formula, Precision
for backend in Backend.ALL:
    for formula in Formula:
        backend.coverage(formula)
        [formula.chain(precision) for precision in Precision]
    backend.compiled()
print([name for name in ("numba", "mlx", "cupy", "jax") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("backend", Backend.ALL)
def test_a_name_of_a_formula_or_a_precision_is_refused(backend: Backend) -> None:
    formula = r"a formula is one of Formula\.GEMM, Formula\.EXP, .*, got 'gemm'"
    precision = (
        "a precision is one of Precision.F64, Precision.F32, Precision.F16, Precision.BF16,"
        " got 'f32'"
    )
    wrong: Any
    for wrong in ("gemm", Precision.F32, None):
        with pytest.raises(ArgumentError, match=r"a formula is one of Formula\.GEMM, "):
            backend.coverage(wrong)
    wrong = "gemm"
    with pytest.raises(ArgumentError, match=formula):
        backend.serves(wrong, Precision.F32)
    wrong = "f32"
    with pytest.raises(ArgumentError, match=exactly(precision)):
        backend.serves(Formula.GEMM, wrong)
    with pytest.raises(ArgumentError, match=exactly(precision)):
        Formula.GEMM.chain(wrong)


def test_an_offer_refuses_a_name_of_a_formula() -> None:
    wrong: Any = "gemm"
    with pytest.raises(ArgumentError, match=r"a formula is one of Formula\.GEMM, "):
        Backend.SIMD.offer(wrong, MapTask(TensorType((2,), f64)))
