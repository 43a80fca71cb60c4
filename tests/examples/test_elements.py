"""Elements of the user's own in examples/elements: what they compute, held against other ways."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import mpmath
import numpy as np
import pytest

from examples.elements import dual as examples_dual
from examples.elements import fp8 as examples_fp8
from examples.elements import intervals as examples_intervals
from examples.elements.dual import DUAL, dual
from examples.elements.dual import record as record_dual
from examples.elements.fp8 import F8, carried, table
from examples.elements.fp8 import record as record_perceptron
from examples.elements.intervals import INTERVAL, interval
from examples.elements.intervals import record as record_intervals
from tests.exact import exactly
from topos import (
    Adam,
    Element,
    Linear,
    Tape,
    Tensor,
    batch_norm,
    bf16,
    checkpoint,
    conv2d,
    f32,
    f64,
    init,
    layer_norm,
    max_pool,
    named_parameters,
    softmax,
)
from topos.errors import BundleError, ElementError, EmitError, ExecutionError, FeedError

MAPS: Final = ("exp", "ln", "sqrt", "tanh", "logistic", "sin", "cos")
ENCLOSED: Final[dict[str, Any]] = {
    "exp": mpmath.exp,
    "ln": mpmath.log,
    "sqrt": mpmath.sqrt,
    "tanh": mpmath.tanh,
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
}
OWN: Final = pytest.mark.parametrize("element", [DUAL, INTERVAL, F8], ids=str)


def test_a_run_over_dual_numbers_has_the_values_and_the_recorded_derivative() -> None:
    plain, own = record_dual(f64), record_dual(DUAL)
    start = np.random.default_rng(0).normal(size=(2, 3))
    run = plain.forward(None, {"x": start})
    direction = np.random.default_rng(1).normal(size=(2, 3))
    plan = own.entry(["loss"], numerics="exact").lower()
    result = plan.forward(None, {"x": dual(start, direction)}).of("loss").numpy()
    assert result["value"].tobytes() == run.of("loss").numpy().tobytes()
    slope = (run.of("dloss/dx").numpy() * direction).sum()
    assert float(result["tangent"]) == pytest.approx(slope, rel=1e-13)


@pytest.mark.parametrize("function", [*MAPS, "square", "ratio", "largest"])
def test_each_function_of_dual_numbers_has_its_recorded_derivative(function: str) -> None:
    def loss(tape: Tape) -> None:
        x = tape.input([0.25, 1.5, 3.0], name="x")
        composed = {
            "square": lambda: x * x - x,
            "ratio": lambda: 2.0 / (x + 1.0),
            "largest": lambda: x.maximum(1.0).max().broadcast((3,)) * x.minimum(2.0),
        }
        (composed.get(function) or getattr(x, function))().sum().named("loss")

    def recorded(element: Element) -> Any:
        tape = Tape(element=element)
        loss(tape)
        tape.differentiate("loss", ["x"])
        return tape.into_network()

    gradient = recorded(f64).forward().of("dloss/dx").numpy()
    for place in range(3):
        point = dual([0.25, 1.5, 3.0], np.eye(3)[place])
        run = recorded(DUAL).forward(None, {"x": point})
        assert float(run.of("loss").numpy()["tangent"]) == pytest.approx(gradient[place], 1e-14)
        values = run.of("dloss/dx").convert(f64).numpy()
        np.testing.assert_allclose(values, gradient, 1e-14)


def test_intervals_enclose_the_exact_result_and_that_of_f64() -> None:
    def program(tape: Tape) -> None:
        x, w = tape.input(shape=(4, 6), name="x"), tape.input(shape=(6, 3), name="w")
        (x @ w - 0.1).maximum(0.0).sum((0,)).named("y")

    generator = np.random.default_rng(3)
    feeds = {"x": generator.normal(size=(4, 6)), "w": generator.normal(size=(6, 3))}
    numbers = Tape.record(program, element=f64)[0].forward(None, dict(feeds)).of("y").numpy()
    points = {name: Tensor(array, f64).convert(INTERVAL) for name, array in feeds.items()}
    own, _ = Tape.record(program, element=INTERVAL)
    bounds = own.entry(["y"], numerics="exact").lower().forward(None, dict(points)).of("y").numpy()
    x, w = (np.vectorize(Fraction, otypes=[object])(array) for array in feeds.values())
    exact = np.maximum(x @ w - Fraction(0.1), 0).sum(0)
    for low, high, near, true in zip(bounds["low"], bounds["high"], numbers, exact, strict=True):
        assert Fraction(low) < true < Fraction(high)
        assert low < near < high
        assert high - low < 1e-13


@pytest.mark.parametrize("function", ENCLOSED)
def test_maps_of_intervals_enclose_the_exact_ends(function: str) -> None:
    low = np.array([0.1, 0.5, 1.0, 7.0])
    image = getattr(Tensor(interval(low, low + 0.25), INTERVAL), function)().numpy()
    with mpmath.workdps(50):
        for start, found in zip(low, image, strict=True):
            ends = [ENCLOSED[function](mpmath.mpf(start + shift)) for shift in (0.0, 0.25)]
            assert found["low"] < ends[0] < ends[1]
            assert ends[1] < found["high"] or found["high"] == 1.0


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_layers_over_dual_numbers_have_the_values_of_f64(numerics: str) -> None:
    def program(tape: Tape) -> None:
        images = tape.input(np.linspace(-1.0, 1.0, 72).reshape(2, 1, 6, 6).tolist(), name="x")
        pooled = max_pool(conv2d(images, tape.leaf(KERNELS)), 2).reshape((2, 8))
        batch, *_ = batch_norm(pooled, *rows(tape))
        softmax(layer_norm(batch, *rows(tape)), 1).named("y")

    plans = [
        Tape.record(program, element=element)[0].entry(["y"], numerics=numerics).lower()
        for element in (f64, DUAL)
    ]
    plain, own = (plan.forward().of("y") for plan in plans)
    np.testing.assert_allclose(own.convert(f64).numpy(), plain.numpy(), 1e-12)
    assert numerics == "fast" or own.convert(f64).numpy().tobytes() == plain.numpy().tobytes()


KERNELS: Final = np.linspace(-1.0, 0.5, 18).reshape(2, 1, 3, 3).tolist()


def rows(tape: Tape) -> tuple[Any, Any]:
    """Returns the scale and the shift of eight features."""
    return tape.leaf([1.0, 2.0] * 4), tape.leaf([0.5] * 8)


def test_two_structures_of_one_size_are_told_apart_in_one_plan() -> None:
    tape = Tape()
    names = {"duals": DUAL, "intervals": INTERVAL}
    for name, element in names.items():
        tape.input([1.0, 2.0], element=element).pad((1,), (0,)).named(name)
    run = tape.into_network().entry(list(names)).lower().forward()
    for name, element in names.items():
        assert run.of(name).numpy().dtype == element.dtype
        assert run.of(name).numpy()[1].item() == Tensor(1.0, element).numpy().item()


def test_intervals_that_overlap_are_not_compared() -> None:
    tape = Tape(element=INTERVAL)
    x = tape.input(shape=(2,), name="x")
    x.less(1.0).named("mask")
    network = tape.into_network()
    apart = {"x": interval([0.0, 2.0], [0.5, 3.0])}
    assert network.forward(None, dict(apart)).of("mask").numpy().tolist() == [True, False]
    message = r"less of intervals failed: ValueError: the intervals \[0.5, 1.5\] and \[1.0, 1.0\]"
    with pytest.raises(ExecutionError, match=message) as raised:
        network.entry(["mask"]).lower().forward(None, {"x": interval([0.0, 0.5], [0.5, 1.5])})
    assert raised.value.__notes__ == ["at %2 'mask'"]
    with pytest.raises(ElementError, match="convert has no way from intervals to f64"):
        Tensor(1.0, INTERVAL).convert(f64)


def test_an_optimizer_steps_parameters_of_an_element() -> None:
    def trained(element: Element) -> Tensor:
        tape = Tape(element=element)
        w = tape.parameter([0.5, -1.0], name="w")
        (w * w).sum().named("loss")
        network = tape.into_network()
        state, optimizer = network.parameters(), Adam(0.1)
        slots = optimizer.start(state)
        plan = network.entry(["loss"], backward=True, numerics="exact").lower()
        gradients = plan.forward(state).backward("loss")
        stepped: Tensor = optimizer.step(state, gradients, slots)[0].of("w")
        return stepped

    points, number = trained(INTERVAL).numpy(), trained(f32).convert(f64).numpy()
    np.testing.assert_allclose(points["low"], number, 1e-6)
    assert (points["low"] < points["high"]).all()
    np.testing.assert_allclose(trained(DUAL).convert(f64).numpy(), number, 1e-6)


def test_the_maps_of_eight_bits_are_rounded_correctly() -> None:
    every = np.arange(256, dtype=np.uint8).view(F8.dtype).astype(np.float64)
    finite = np.sort(np.unique(every[np.isfinite(every)]))
    exact: dict[str, Callable[[Any], Any]] = {"tanh": mpmath.tanh, "exp": mpmath.exp}
    for function, true in exact.items():
        for number, found in zip(every, table(function).astype(np.float64), strict=True):
            if not np.isfinite(number) or not np.isfinite(found):
                assert not np.isfinite(found)
                assert np.isnan(number) or number > 6.1
                continue
            value = true(mpmath.mpf(number))
            place = int(np.searchsorted(finite, found))
            for nearby in finite[max(place - 1, 0) : place + 2]:
                assert abs(value - found) <= abs(value - nearby)


def test_a_perceptron_of_eight_bits_is_what_its_module_computes() -> None:
    wide, narrow = record_perceptron(f32), record_perceptron(F8)
    state = carried(wide.parameters(), narrow, F8)
    entry = narrow.entry(["probabilities", "loss"], numerics="exact")
    oracle, plan = entry.interpret(state), entry.lower()
    emitted = plan.compile("interpreter", numerics="exact").forward(state)
    for name in ("probabilities", "loss"):
        bits = oracle.of(name).numpy().tobytes()
        assert plan.forward(state).of(name).numpy().tobytes() == bits
        assert emitted.of(name).numpy().tobytes() == bits
    tape = Tape(element=F8)
    tape.input([[-300.0, -2.0], [1.0, 2.0]]).max((1,)).named("largest")
    largest = tape.into_network().entry(["largest"]).lower().compile("interpreter").forward()
    assert largest.of("largest").numpy().astype(float).tolist() == [-2.0, 2.0]
    with pytest.raises(ElementError, match="whose largest number is about 448: write 448"):
        Tensor(1e4, F8)
    with pytest.raises(ElementError, match="f8E4M3FN has no sin: define sin in Float8Arithmetic"):
        Tensor(1.0, F8).sin()


@pytest.mark.parametrize("element", [DUAL, INTERVAL], ids=str)
def test_what_no_text_and_no_file_holds_is_refused_by_name(
    element: Element, tmp_path: Path
) -> None:
    network = record_dual(element) if element is DUAL else record_intervals(element)
    plan = network.entry(["loss" if element is DUAL else "scores"]).lower()
    with pytest.raises(EmitError, match=f"the element {element} has no MLIR type"):
        plan.emit_stablehlo()
    with pytest.raises(EmitError, match=f"the element {element} has no MLIR type"):
        plan.compile("interpreter")
    with pytest.raises(BundleError, match=f"a bundle needs elements of .*: {element}"):
        plan.export(tmp_path / "bundle")
    tape = Tape(element=element)
    layer = Linear(tape, 2, 1, weights=init.zeros)
    message = f"a checkpoint needs an element of the format, got {element} 'weights'"
    with pytest.raises(FeedError, match=exactly(message)):
        checkpoint.save(
            tmp_path / "saved", tape.into_network().parameters(), named_parameters(layer)
        )


@OWN
def test_an_element_of_a_module_is_one_object_across_a_pickle(element: Element) -> None:
    assert pickle.loads(pickle.dumps(element)) is element
    tensor = pickle.loads(pickle.dumps(Tensor([1.0, -2.0], element)))
    assert tensor.element is element
    with pytest.raises(ElementError, match="add needs equal elements, got"):
        tensor + Tensor([1.0, 2.0], bf16)


@pytest.mark.parametrize(
    ("script", "line"),
    [
        (examples_dual, r"x\[1, 2\] \+0\.00918925775749073  \+0\.0091892577574907\d  "),
        (examples_intervals, r"cancelled  \+1\.0{17}  \[-3\.0000000000000018, 5\.0"),
        (examples_fp8, r"%v8 = stablehlo\.tanh %v7 : tensor<4x8xf8E4M3FN>"),
    ],
)
def test_a_script_prints_its_table(
    script: ModuleType, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    script.main()
    assert re.search(line, capsys.readouterr().out)
