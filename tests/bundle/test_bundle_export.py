"""An export writes what the oracle answers, whole or not at all, and equal for equal plans."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import topos
from tests.bundle.bundled_models import (
    attention,
    inferred,
    mlp,
    normalized,
    recorded,
    tokens,
)
from topos import Plan, Symbol, Tape, Value, bf16, f16, f32, f64
from topos.bundle import Bundle, export
from topos.bundle.modules import demand_same
from topos.bundle.portable import version_of
from topos.errors import ArgumentError, BundleError, FeedError, ToposError


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_bundle_holds_the_module_the_weights_and_what_the_oracle_answers(tmp_path: Path) -> None:
    plan = mlp()
    parameters = plan.network.parameters().scale(0.5)
    bundle = plan.export(tmp_path / "digits", parameters)
    assert (bundle.name, bundle.batched, bundle.path) == ("digits", False, tmp_path / "digits")
    (program,) = bundle.programs
    assert program.text == plan.emit_stablehlo()
    demand_same(program.text, program.artifact, bundle.compatibility)
    told = [(each.name, each.shape, each.dtype, each.resident) for each in program.arguments]
    types = {each.name: each.type for each in plan.signature().parameters}
    names = [f"layers.{layer}.{kind}" for layer in (0, 1) for kind in ("weights", "bias")]
    assert told == [
        *((name, types[name].shape, np.dtype(np.float32), True) for name in names),
        ("features", (2, 5), np.dtype(np.float32), False),
    ]
    weights = bundle.weights()
    assert {name: array.tobytes() for name, array in weights.items()} == {
        name: parameters.of(name).numpy().tobytes() for name in names
    }
    calls = program.sample()
    assert len(calls) == 2
    for call in calls:
        oracle = plan.network.entry(["scores"]).interpret(parameters, dict(call.inputs))
        assert call.results["scores"].tobytes() == oracle.of("scores").numpy().tobytes()
    assert calls[0].inputs["features"].tobytes() != calls[1].inputs["features"].tobytes()


def test_weights_are_aligned_and_nobody_can_write_to_them(tmp_path: Path) -> None:
    for array in mlp().export(tmp_path / "b").weights().values():
        assert array.ctypes.data % 64 == 0
        owner = array
        while owner is not None:
            assert not owner.flags.writeable
            owner = owner.base  # type: ignore[assignment]  # The end of the chain is None.


def test_equal_plans_and_parameters_make_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        export(tmp_path / name, [mlp(4), mlp(1)], batched=True)
    assert files(tmp_path / "one") == files(tmp_path / "two")
    export(tmp_path / "other", [mlp(4), mlp(1)], batched=True, seed=1)
    same = files(tmp_path / "one").items() & files(tmp_path / "other").items()
    assert {name for name, _ in same} == {
        *("weights.safetensors", "rows1.mlir", "rows1.mlirbc", "rows4.mlir", "rows4.mlirbc")
    }


def test_the_version_follows_the_contents(tmp_path: Path) -> None:
    first = mlp(seed=1).export(tmp_path / "b")
    second = mlp(seed=2).export(tmp_path / "b")
    assert first.version != second.version
    assert mlp(seed=1).export(tmp_path / "c").version == first.version
    assert len(first.version) == 12


def test_programs_of_several_rows_share_weights_and_answer_rows_alike(tmp_path: Path) -> None:
    plans = [mlp(8), mlp(1), mlp(3)]
    # Parameters of one recording serve the others by name.
    parameters = plans[2].network.parameters().scale(1.5)
    bundle = export(tmp_path / "b", plans, parameters, batched=True)
    assert [program.rows for program in bundle.programs] == [1, 3, 8]
    assert [program.name for program in bundle.programs] == ["rows1", "rows3", "rows8"]
    assert [(port.name, port.shape) for port in bundle.inputs] == [("features", (5,))]
    assert [(port.name, port.shape) for port in bundle.results] == [("scores", (3,))]
    first = [program.sample()[0] for program in bundle.programs]
    for call in first[1:]:
        for side in ("inputs", "results"):
            wanted = next(iter(getattr(first[0], side).values()))[0]
            assert next(iter(getattr(call, side).values()))[0].tobytes() == wanted.tobytes()
    bias = parameters.of("layers.0.bias").numpy()
    assert bundle.weights()["layers.0.bias"].tobytes() == bias.tobytes()


def test_values_by_name_serve_as_parameters(tmp_path: Path) -> None:
    plan = mlp()
    values = {
        str(port.name): np.ones(port.type.shape, np.float32) for port in plan.signature().parameters
    }
    bundle = plan.export(tmp_path / "b", values)
    assert all(np.all(array == 1) for array in bundle.weights().values())


def test_parameters_of_a_training_recording_go_by_their_labels(tmp_path: Path) -> None:
    training = mlp(16).network.parameters().scale(2.0)
    bundle = mlp(2).export(tmp_path / "b", training)
    assert (
        bundle.weights()["layers.1.bias"].tobytes()
        == training.of("layers.1.bias").numpy().tobytes()
    )


def test_inputs_become_resident_by_name_or_by_symbol(tmp_path: Path) -> None:
    plan = inferred(2)
    mean = plan.network.symbol("mean")
    statistics: dict[Symbol | str, npt.ArrayLike] = {
        mean: np.zeros(5, np.float32),
        "variance": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
    bundle = plan.export(tmp_path / "b", resident=statistics, batched=True)
    assert [port.name for port in bundle.inputs] == ["features"]
    assert bundle.weights()["variance"].tolist() == [1, 2, 3, 4, 5]
    kept = [argument.name for argument in bundle.programs[0].arguments if argument.resident]
    assert kept == ["scale", "shift", "mean", "variance"]


def test_what_has_no_name_is_numbered(tmp_path: Path) -> None:
    tape = Tape()
    weight = tape.parameter([1.0, 2.0])
    other = tape.parameter([1.0, 2.0], name="input1")
    first, second = tape.input(shape=[2]), tape.input(shape=[2], name="input0")
    total = weight * first + other * second
    plan = tape.into_network().entry([total.symbol]).lower()
    (program,) = plan.export(tmp_path / "b").programs
    assert [each.name for each in program.arguments] == [
        *("parameter0", "input1", "input2", "input0")
    ]
    assert [each.name for each in program.results] == ["result0"]


@pytest.mark.parametrize("element", [f64, f32, f16, bf16], ids=str)
def test_every_element_comes_back_bit_for_bit(tmp_path: Path, element: topos.Element) -> None:
    plan = attention(element=element)
    bundle = plan.export(tmp_path / "b")
    (call, _) = bundle.programs[0].sample()
    assert call.inputs["hidden"].dtype == element.dtype
    oracle = plan.network.entry(["hidden after"]).interpret(None, dict(call.inputs))
    assert call.results["hidden after"].tobytes() == oracle.of("hidden after").numpy().tobytes()


def test_integers_and_truth_values_are_held_too(tmp_path: Path) -> None:
    tape = Tape()
    tokens_, mask = (
        tape.input(shape=[3], element=topos.i32, name="tokens"),
        tape.input(shape=[3], element=topos.bool_, name="mask"),
    )
    tokens_.equal(1).named("ones")
    mask.select(tokens_, 0).named("kept")
    plan = tape.into_network().entry(["ones", "kept"]).lower()
    bundle = plan.export(tmp_path / "b", samples=[{"tokens": np.array([1, 2, 1], np.int32)}])
    (call,) = bundle.programs[0].sample()
    assert call.results["ones"].tolist() == [True, False, True]
    assert call.inputs["mask"].dtype == np.bool_
    assert [result.envelope for result in bundle.programs[0].results] == [0.0, 0.0]


def test_samples_are_the_callers_where_given(tmp_path: Path) -> None:
    words = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 0, 1]])
    bundle = export(
        tmp_path / "b", [tokens(1), tokens(2)], samples=[{"tokens": words}], batched=True
    )
    one, two = (program.sample() for program in bundle.programs)
    assert one[0].inputs["tokens"].tolist() == words[:1].tolist()
    assert two[0].inputs["tokens"].tolist() == words[:2].tolist()
    assert two[1].inputs["tokens"].tolist() == [words[2].tolist(), words[0].tolist()]


def test_a_scale_that_only_some_readers_know_is_refused(tmp_path: Path) -> None:
    for version in ("1.13.7", "week-4", "current", "max"):
        assert mlp().export(tmp_path / version, compatibility=version).compatibility
    assert Bundle.load(tmp_path / "1.13.7").compatibility == "1.13.7"
    assert Bundle.load(tmp_path / "max").compatibility == "0.9.0"
    # The oldest and the newest that jaxlib writes may be named.
    for word in ("max", "current"):
        assert version_of(version_of(word)) == version_of(word)
    for wrong in ("0.0.1", "99.0.0", "week-13", "", 1):
        with pytest.raises(ArgumentError, match="compatibility needs a version"):
            mlp().export(tmp_path / "wrong", compatibility=wrong)  # type: ignore[arg-type]  # Refused.
    assert not (tmp_path / "wrong").exists()


def reversed_rows(tape: Tape, features: Value) -> Value:
    order = tape.leaf(np.arange(features.shape[0])[::-1].copy())
    return features.gather(order, 0)


def share_of_column(tape: Tape, features: Value) -> Value:
    return topos.softmax(features, 0)


def total(tape: Tape, features: Value) -> Value:
    return features.sum()


def doubled(tape: Tape, features: Value) -> Value:
    return features * float(features.shape[0])


def test_rows_that_influence_each_other_are_refused(tmp_path: Path) -> None:
    for plan in (normalized(4), recorded(share_of_column, 3), recorded(reversed_rows, 4)):
        with pytest.raises(BundleError, match="rows that leave each other alone, and row"):
            plan.export(tmp_path / "b", batched=True)
        assert plan.export(tmp_path / "alone").batched is False
    assert [path.name for path in tmp_path.iterdir()] == ["alone"]


def values_with(name: str, value: npt.ArrayLike) -> dict[str, npt.ArrayLike]:
    parameters = mlp().network.parameters()
    names = [str(port.name) for port in mlp().signature().parameters]
    return {each: parameters.of(each).numpy() for each in names} | {name: value}


REFUSED: dict[str, tuple[Sequence[Any], dict[str, Any]]] = {
    "a bundle of 2 plans needs batched=True": ([mlp(1), mlp(2)], {}),
    "one leading extent, got features: f32[2, 5], scores: f32[]": (
        [recorded(total, 2)],
        {"batched": True},
    ),
    "the plans need a number of rows each, got [2, 2]": ([mlp(2), mlp(2)], {"batched": True}),
    "the plans need equal names and types but for the rows": (
        [mlp(1), recorded(reversed_rows, 2)],
        {"batched": True},
    ),
    "one function at several numbers of rows, and the plan of 3 rows returns another 'scores'": (
        [recorded(doubled, 1), recorded(doubled, 3)],
        {"batched": True},
    ),
    "a bundle needs one plan or more, got none": ([], {}),
    "an export needs plans, got int": ([3], {}),
    "a sample needs one row or more, got none": (
        [tokens(2)],
        {"samples": [{"tokens": np.zeros((0, 4), np.int64)}], "batched": True},
    ),
    "a bundle's name needs letters, digits": ([mlp()], {"name": "../up"}),
    "a sample needs 'tokens' of i64[4] a row given": ([tokens(2)], {"batched": True}),
    "a sample needs 'tokens' of i64[2, 4] given": ([tokens(2)], {}),
    "a sample names 'words', and the inputs of a call are tokens": (
        [tokens(2)],
        {"samples": [{"words": 1}]},
    ),
    "'tokens' needs i64[2, 4], got i64[3, 4]": (
        [tokens(2)],
        {"samples": [{"tokens": np.zeros((3, 4), np.int64)}]},
    ),
    "resident values name 'median', and the plan's inputs are features, mean, variance": (
        [inferred(2)],
        {"resident": {"median": [0.0]}},
    ),
    "'mean' needs f32[5], got f64[5]": ([inferred(2)], {"resident": {"mean": np.zeros(5)}}),
    "an export needs parameter 'layers.0.weights' of f32[5, 8], and no value has that name": (
        [mlp()],
        {"parameters": {}},
    ),
    "'layers.0.bias' needs f32[8], got f32[7]": (
        [mlp()],
        {"parameters": values_with("layers.0.bias", np.ones(7, np.float32))},
    ),
    "an export needs Parameters, got list": ([mlp()], {"parameters": [1]}),
    "a seed needs an integer": ([mlp()], {"seed": -1}),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_an_export_says_what_it_needs(tmp_path: Path, reason: str) -> None:
    plans, options = REFUSED[reason]
    with pytest.raises(ToposError) as refused:
        export(tmp_path / "b", plans, **options)
    assert reason in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="an export needs plans, got Network"):
        export(tmp_path / "b", mlp().network)  # type: ignore[arg-type]  # Refused.


def test_a_parameter_without_a_payload_is_asked_for(tmp_path: Path) -> None:
    tape = Tape()
    (tape.parameter(shape=[2], name="w") * tape.input(shape=[2], name="x")).named("y")
    plan: Plan = tape.into_network().entry(["y"]).lower()
    with pytest.raises(FeedError, match="'w' needs a payload"):
        plan.export(tmp_path / "b")
    assert plan.export(tmp_path / "b", {"w": [1.0, 2.0]}).weights()["w"].tolist() == [1, 2]
