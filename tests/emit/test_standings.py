"""What becomes of each match of the catalog: fused in a run, raised in a text, or why neither."""

from __future__ import annotations

from tests.engine.catalog.recordings import attended, convolved, drawn, normalized, pooled
from topos import Backend, Element, Numerics, Plan, Symbol, Tape, bf16, f32, f64

EXACT = "no kernel of it has the oracle's bits"


def everything(numerics: Numerics = Numerics.FAST, element: Element = f32) -> Plan:
    """Returns a plan with a match of several kinds."""
    tape = Tape(element=element)
    image = tape.input(drawn(2, 3, 7, 7, element=element))
    maps, _ = convolved(image, 4)
    pool = pooled(maps)
    normal, *_ = normalized(tape.input(drawn(4, 3, element=element)), (0,))
    roots = [pool.symbol, normal.symbol, attended(tape, 2, element=element).symbol]
    return tape.into_network().entry(roots, numerics=numerics).lower()


def told(plan: Plan) -> dict[str, tuple[str, str]]:
    """Returns how each kind stands: a plus stands before what is taken."""
    return {
        match.kind.value: (
            ("+ " if match.fused.taken else "- ") + match.fused.detail,
            ("+ " if match.raised.taken else "- ") + match.raised.detail,
        )
        for match in plan.patterns()
    }


def test_a_fast_plan_fuses_all_and_raises_what_stablehlo_has() -> None:
    plan = everything()
    assert told(plan) == {
        "window_product": ("+ one kernel", "+ stablehlo.convolution"),
        "reduce_window": ("+ one kernel", "+ stablehlo.reduce_window"),
        "batch_norm_training": ("+ one kernel", "+ stablehlo.batch_norm_training"),
        "attention": ("+ one kernel", "- StableHLO has no operation for it"),
    }
    text = plan.emit_stablehlo()
    for match in plan.patterns():
        assert not match.raised.taken or match.raised.detail in text
        assert match.kind.value in plan.schedule()
    (attention,) = (each for each in plan.patterns() if each.kind.value == "attention")
    assert str(attention).endswith("; fused; not raised: StableHLO has no operation for it")


def test_an_exact_plan_says_which_kernels_would_change_its_bits() -> None:
    found = told(everything(Numerics.EXACT))
    assert {kind: fused for kind, (fused, _) in found.items()} == {
        "window_product": "+ one kernel",
        "reduce_window": "+ one kernel",
        "batch_norm_training": f"- {EXACT}",
        "attention": f"- {EXACT}",
    }
    assert found["batch_norm_training"][1] == "+ stablehlo.batch_norm_training"


def test_an_element_is_the_reason_where_it_is() -> None:
    found = told(everything(element=bf16))
    narrow = "- a kernel needs f32 or f64, and operands that are not empty"
    assert {fused for fused, _ in found.values()} == {narrow}
    assert found["batch_norm_training"][1].startswith("- bf16 rounds every step")
    (match,) = strict(0.1).patterns()
    assert match.raised.detail == "the operation's epsilon is of f32, which cannot hold 0.1"


def strict(epsilon: float) -> Plan:
    tape = Tape(element=f64)
    value = tape.input(drawn(4, 3, element=f64))
    mean = value.sum((0,)) / 4.0
    centred = value - mean.broadcast_along([0], [4])
    deviation = ((centred * centred).sum((0,)) / 4.0 + epsilon).sqrt().broadcast_along([0], [4])
    scale, shift = tape.input(drawn(3, element=f64)), tape.input(drawn(3, seed=1, element=f64))
    affine = centred / deviation * scale.broadcast_along([0], [4])
    affine = affine + shift.broadcast_along([0], [4])
    return tape.into_network().entry([affine.symbol]).lower()


def test_a_backend_that_is_not_asked_is_a_reason() -> None:
    tape = Tape()
    pool: Symbol = pooled(tape.input(drawn(1, 1, 4, 4))).symbol
    network = tape.into_network()
    (match,) = network.entry([pool], backends=[Backend.SIMD]).lower().patterns()
    assert match.fused == (False, "the plan does not use the backend FUSED")
    assert match.raised.taken
