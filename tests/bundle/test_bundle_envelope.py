"""The envelope holds what runtimes do, and not what another program does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.bundle.bundled_models import attention, inferred, mlp, recorded
from topos import Activation, Element, Plan, Tape, Value, bf16, f16, f32, f64, i64, runtimes
from topos.bundle.envelope import FLOOR, deviation, envelopes, factor
from topos.bundle.plan_subject import subjects_of
from topos.bundle.sample import calls_of
from topos.bundle.subject import Subject

MODELS: dict[str, Callable[[Element], Plan]] = {
    "mlp": lambda element: mlp(3, element=element),
    "attention": lambda element: attention(2, element=element),
}
STATISTICS = {"mean": np.linspace(-1, 1, 5, dtype=np.float32), "variance": np.ones(5, np.float32)}


def subject_of(plan: Plan) -> Subject:
    (subject,) = subjects_of([plan], None, None)
    return subject


def shares(plan: Plan, other: Plan) -> float:
    """Returns how far the oracle of another program is, in envelopes of the first."""
    subject, wrong = subject_of(plan), subject_of(other)
    calls = calls_of(subject, [], 0)
    answers = [subject.evaluated(inputs) for inputs in calls]
    ((name, allowed),) = envelopes(subject, calls, answers).items()
    return max(
        deviation(ours[name].numpy(), wrong.evaluated(inputs)[name].numpy()) / allowed
        for inputs, ours in zip(calls, answers, strict=True)
    )


def test_a_walk_without_moves_has_the_oracles_bits() -> None:
    for plan in (mlp(3), attention(), attention(element=bf16)):
        subject = subject_of(plan)
        (inputs, _) = calls_of(subject, [], 0)
        oracle = plan.network.entry(plan.results).interpret(None, inputs)
        ((name, result),) = subject.evaluated(inputs).items()
        assert result.numpy().tobytes() == oracle.of(name).numpy().tobytes()


@pytest.mark.parametrize(
    ("model", "element"), [("mlp", f64), ("attention", f32), ("mlp", f16), ("attention", bf16)]
)
def test_the_oracle_reordered_by_every_runtime_lies_inside_with_margin(
    model: str, element: Element
) -> None:
    plan = MODELS[model](element)
    subject = subject_of(plan)
    calls = calls_of(subject, [], 0)
    answers = [subject.evaluated(inputs) for inputs in calls]
    ((name, allowed),) = envelopes(subject, calls, answers).items()
    for runtime in ("interpreter", "xla"):
        if not runtimes.load(runtime).status().ready:
            continue
        compiled = plan.compile(runtime, numerics="fast")
        for inputs, ours in zip(calls, answers, strict=True):
            theirs = compiled.forward(None, inputs).of(name).numpy()
            assert deviation(ours[name].numpy(), theirs) <= allowed / 4


def square(change: str, element: Element) -> Plan:
    """Returns a square network, or one that is wrong in its second layer."""

    def body(tape: Tape, value: Value) -> Value:
        for layer in range(3):
            weight = tape.parameter(drawn(layer, 6, 6), element=element, name=f"w{layer}")
            bias = tape.parameter(drawn(layer + 9, 6), element=element, name=f"b{layer}")
            wrong = change if layer == 1 else ""
            product = value @ (weight.transpose() if wrong == "transposed" else weight)
            if wrong != "without a bias":
                product = product + bias.broadcast_along([0], [4])
            function = Activation.SILU if wrong == "another activation" else Activation.GELU
            value = product if wrong == "without an activation" else function(product)
        return value

    return recorded(body, 4, features=6, element=element)


def drawn(seed: int, *shape: int) -> list[float]:
    numbers: list[float] = (0.5 * np.random.default_rng(seed).standard_normal(shape)).tolist()
    return numbers


CHANGES = ("transposed", "without a bias", "another activation", "without an activation")


@pytest.mark.parametrize("element", [f64, f32, f16, bf16], ids=str)
@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_program_lies_outside(change: str, element: Element) -> None:
    far = {"f64": 1e9, "f32": 100.0, "f16": 4.0, "bf16": 1.0}
    assert shares(square("", element), square(change, element)) > far[element.name]
    assert shares(square("", element), square("", element)) == 0


def test_another_formula_of_one_activation_is_told_apart_in_f32() -> None:
    plan, other = (mlp(3, activation=kind) for kind in (Activation.GELU, Activation.GELU_TANH))
    assert shares(plan, other) > 5


def test_the_envelope_grows_with_the_factor_and_not_with_the_scale() -> None:
    def allowed(factor: float) -> float:
        plan = recorded(lambda tape, features: (features * factor) @ features.transpose(), 3)
        subject = subject_of(plan)
        calls = calls_of(subject, [], 0)
        answers = [subject.evaluated(inputs) for inputs in calls]
        return envelopes(subject, calls, answers)["scores"]

    assert allowed(1.0) == pytest.approx(allowed(1024.0), rel=1e-3)
    assert factor("f32") * 2.0**-24 < allowed(1.0) < factor("f32") * 2.0**-19


def test_a_conversion_that_rounds_nothing_moves_nothing_and_a_quotient_does() -> None:
    tape = Tape()
    whole = tape.input(shape=[4], element=i64, name="whole").convert(f32).named("converted")
    (whole / 3.0).named("thirds")
    # Nothing times a mask stays nothing, and is not greater than nothing.
    masked = whole * tape.leaf([1.0, 0.0, 1.0, 0.0])
    masked.greater(0.0).named("positive")
    plan = tape.into_network().entry(["converted", "thirds", "positive"]).lower()
    subject = subject_of(plan)
    calls = calls_of(subject, [{"whole": np.array([1, 2, 3, 7])}], 0)
    answers = [subject.evaluated(inputs) for inputs in calls]
    found = envelopes(subject, calls, answers)
    assert found["converted"] == FLOOR * 2.0**-23
    assert factor("f32") * 2.0**-24 <= found["thirds"] <= factor("f32") * 2.0**-22
    assert found["positive"] == 0


def test_a_result_that_others_are_made_of_is_kept() -> None:
    tape = Tape()
    inner = tape.input(shape=[3], name="x").exp().named("inner")
    (inner + inner).named("outer")
    subject = subject_of(tape.into_network().entry(["outer"], observe=["inner"]).lower())
    (inputs, _) = calls_of(subject, [], 0)
    found = subject.evaluated(inputs)
    assert list(found) == ["outer", "inner"]
    assert (found["inner"].numpy() * 2 == found["outer"].numpy()).all()


def test_cancellation_widens_the_envelope() -> None:
    def allowed(offset: float) -> float:
        plan = recorded(lambda tape, features: (features + offset) - offset, 3)
        subject = subject_of(plan)
        calls = calls_of(subject, [], 0)
        answers = [subject.evaluated(inputs) for inputs in calls]
        return envelopes(subject, calls, answers)["scores"]

    assert allowed(1000.0) > 50 * allowed(0.0)


def test_what_only_moves_data_is_exact_but_for_the_floor() -> None:
    (subject,) = subjects_of([inferred(2)], None, STATISTICS)
    assert {slot.name for slot in subject.inputs} == {"features"}
    moving = recorded(lambda tape, features: features.transpose().reshape((10,)), 2)
    held = subject_of(moving)
    calls = calls_of(held, [], 0)
    answers = [held.evaluated(inputs) for inputs in calls]
    # The arguments alone move, by one unit each.
    assert envelopes(held, calls, answers)["scores"] <= factor("f32") * 2.0**-23


@pytest.mark.parametrize(
    ("oracle", "other", "share"),
    [
        ([1.0, -2.0], [1.0, -2.0], 0.0),
        ([1.0, -2.0], [1.5, -2.0], 0.25),
        ([0.0, -0.0], [-0.0, 0.0], 0.0),
        ([np.nan, 4.0], [np.nan, 3.0], 0.25),
        ([np.nan, 4.0], [4.0, 4.0], np.inf),
        ([np.inf, 4.0], [-np.inf, 4.0], np.inf),
        ([np.inf, 4.0], [np.inf, 4.0], 0.0),
        ([1.0], [np.inf], np.inf),
        ([0.0], [1.0], np.inf),
    ],
)
def test_a_deviation_is_a_share_of_the_largest(
    oracle: list[float], other: list[float], share: float
) -> None:
    assert deviation(np.array(oracle), np.array(other)) == share


def test_integers_deviate_where_they_differ_at_all() -> None:
    large = np.array([2**62 + 1, 2**62])
    assert deviation(large, large.copy()) == 0
    assert deviation(large, large - np.array([1, 0])) > 0
    assert deviation(np.array([True, False]), np.array([True, True])) > 0
    assert deviation(np.zeros(2, np.float32), np.zeros(2)) == np.inf
