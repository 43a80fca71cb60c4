"""The chain decides: what it elects is what plans run and the oracle uses, and who may be asked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.backend.devices import Device, device
from tests.engine.catalog.recordings import drawn, normalized
from tests.exact import exactly, same
from tests.samples import CASES
from topos import Numerics, Plan, Tape, Tensor, TensorType, f32, f64
from topos.backend import (
    CLEAN,
    Backend,
    BatchNormTask,
    Formula,
    Kernel,
    Precision,
    Service,
    numba,
    own_kernel,
    serve,
    task_of,
    used,
)
from topos.engine.catalog import PatternKind
from topos.engine.choices import Choices
from topos.errors import ArgumentError
from topos.graph import Form

__all__ = ["device"]

PATTERNS = {Formula(kind.value) for kind in PatternKind}


def identity(function: Any) -> Any:
    """Returns what tells one function from another: of a partial one its parts."""
    if isinstance(function, partial):
        parts = (function.func, *function.args)
        return tuple(map(identity, parts)), tuple(sorted(function.keywords.items()))
    return function


def elected(form: Form, numerics: Numerics) -> tuple[Formula | None, Kernel]:
    """Returns the kernel that the chain of a form ends at, as an exact plan needs it."""
    exact, asked = numerics is Numerics.EXACT, task_of(form.operation, form.operands)
    formula, kernel = None, own_kernel(form.operation, form.operands)
    if asked is not None:
        formula = asked[0]
        kernel, backend, _ = serve(*asked, exact=exact)
        native = form.operands[0].element in (f32, f64)
        if exact and backend is None and native and formula in CLEAN:
            kernel = Kernel.of(CLEAN[formula])
    return formula, kernel.guarded() if exact and form.operation.introduces_nan else kernel


def steps(numerics: Numerics) -> Iterator[tuple[Form, Kernel]]:
    """Yields every node that a plan of a sample computes, and the kernel that it runs there."""
    for sample, element in CASES:
        tape = Tape(element=element)
        result, _ = sample.record(tape, element)
        columns = tape.columns
        plan = tape.into_network().entry([result.symbol], numerics=numerics).lower()
        for step in plan._schedule.steps:
            if step.kernel is not None:
                yield columns.forms[step.targets[0]], step.kernel


@pytest.mark.parametrize("numerics", Numerics)
def test_a_plan_runs_what_the_chain_elects(numerics: Numerics) -> None:
    seen, others = set(), []
    for form, kernel in steps(numerics):
        formula, wanted = elected(form, numerics)
        seen.add(formula)
        if list(map(identity, kernel)) != list(map(identity, wanted)):
            others.append((formula, form.operands, kernel, wanted))
    assert others == []
    assert seen == {None, *Formula} - PATTERNS - {Formula.MODULE}


def test_a_plan_runs_the_fused_normalization_that_the_chain_elects() -> None:
    tape = Tape()
    output, *_ = normalized(tape.input(drawn(6, 3)), (0,))
    plan = tape.into_network().entry([output.symbol]).lower()
    steps = {step.name: step for step in plan._schedule.steps}
    task = BatchNormTask(TensorType((6, 3), f32), 0.125)
    served = serve(Formula.BATCH_NORM_TRAINING, task, exact=False)
    kernel = steps["batch_norm_training"].kernel
    assert kernel is not None
    assert kernel.function == served.kernel.function


def products(*, rows: int = 8) -> tuple[Plan, Tape]:
    """Returns a fast plan of a product of f64, and its tape."""
    tape = Tape(element=f64)
    x = tape.input(np.random.default_rng(0).standard_normal((rows, rows)), name="x")
    (x @ x).tanh().named("y")
    return tape.into_network().entry(["y"]).lower(), tape


def test_a_tally_counts_the_oracle() -> None:
    plan, _ = products()
    rows = (
        Service(Formula.GEMM, Precision.F64, None),
        Service(Formula.TANH, Precision.F64, None),
    )
    with Backend.tallied() as forward:
        plan.network.forward()
    with Backend.tallied() as interpreted:
        plan.network.entry(["y"]).interpret()
    square = Tensor(np.eye(3))
    with Backend.tallied() as eager:
        square @ square + square
    assert forward.rows() == interpreted.rows() == rows
    assert eager.rows() == rows[:1]


@pytest.fixture
def repaid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the oracle ask numba for tasks of every size."""
    pytest.importorskip("numba")
    for formula, row in numba.TABLE.items():
        monkeypatch.setitem(numba.TABLE, formula, row._replace(repays=0))


@pytest.mark.usefixtures("repaid")
@pytest.mark.parametrize("spoiled", [False, True])
def test_the_oracle_computes_large_tasks_by_compiled_kernels_with_its_bits(spoiled: bool) -> None:
    tape = Tape(element=f64)
    values = np.random.default_rng(1).standard_normal((40, 40))
    if spoiled:
        values[3, 5:9] = np.nan, np.inf, -np.inf, -np.nan
    x = tape.input(values, name="x")
    ((x @ x).tanh() + x.exp() - (x * x + 1.0).ln()).sum(1).named("y")
    network = tape.into_network()
    with Backend.tallied() as tally:
        compiled = network.forward()
    assert {row.backend for row in tally} == {Backend.NUMBA}
    exact = network.entry(["y"], numerics="exact").lower()
    with Backend.tallied() as tally:
        assert same(exact.forward().of("y"), compiled.of("y"))
    assert {row.backend for row in tally} == {Backend.NUMBA}
    Backend.use({"numba": False})
    try:
        with Backend.tallied() as tally:
            plain = network.forward()
    finally:
        Backend.use(None)
    assert {row.backend for row in tally} == {None}
    assert all(same(plain.of(each), compiled.of(each)) for each in plain.symbols())


def test_the_oracle_leaves_small_tasks_to_its_own_kernels() -> None:
    assert all(row.repays > 1 << 18 for row in numba.TABLE.values())


def served(plan: Plan) -> set[Backend | None]:
    """Returns who served a run."""
    with Backend.tallied() as tally:
        plan.forward()
    return {row.backend for row in tally}


def test_an_entry_names_the_backends_that_it_uses() -> None:
    pytest.importorskip("numba")
    plan, _ = products()
    network = plan.network
    assert served(plan) == {Backend.SIMD}
    assert served(network.entry(["y"], backends=["numba"]).lower()) == {Backend.NUMBA}
    assert served(network.entry(["y"], backends={"simd": False}).lower()) == {Backend.NUMBA}
    alone = network.entry(["y"], backends=[]).lower()
    assert served(alone) == {None}
    assert same(alone.forward().of("y"), network.forward().of("y"))
    assert Choices(Numerics.FAST, ()).__reduce__()[1] == (Numerics.FAST, ())


def test_a_process_chooses_for_entries_that_do_not() -> None:
    plan, _ = products()
    Backend.use([])
    try:
        assert used() == ()
        assert served(plan.network.entry(["y"]).lower()) == {None}
        assert served(plan) == {Backend.SIMD}, "a plan that was lowered stays as it is"
        assert served(plan.network.entry(["y"], backends=[Backend.SIMD]).lower()) == {Backend.SIMD}
    finally:
        Backend.use(None)
    assert set(Backend.ALL) - set(used()) == {Backend.METAL, Backend.CUDA}


def test_a_device_is_off_until_somebody_asks(device: Device) -> None:
    Backend.use(None)
    plan, _ = products()
    assert served(plan) == {Backend.SIMD}
    asked = plan.network.entry(["y"], backends={"cuda": True}).lower()
    assert served(asked) == {Backend.CUDA}
    assert device.calls > 0


def test_an_unknown_backend_is_a_mistake() -> None:
    plan, _ = products()
    names = "'accelerate', 'metal', 'cuda', 'simd', 'numba', 'fused', 'stablehlo'"
    wrong: Any
    for wrong, message in (
        (["numpy"], f"a backend is one of {names}, got 'numpy'"),
        (
            "simd",
            "backends are a sequence of names, or a mapping from names to truth values, got 'simd'",
        ),
    ):
        with pytest.raises(ArgumentError, match=exactly(message)):
            plan.network.entry(["y"], backends=wrong)
        with pytest.raises(ArgumentError, match=exactly(message)):
            Backend.use(wrong)
