"""Optimizers: the trajectories of optax, and states that are values."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest

from tests.exact import exactly, holds, same
from tests.neural.near import units
from tests.neural.training import batches, regression, same_fields, trained
from topos import Element, Recordable, Symbol, Tape, Tensor, bf16, f16, f32, f64, i32
from topos.errors import ArgumentError, ReadError, SymbolError
from topos.neural.clipping import Clipped, clip_by_global_norm, global_norm
from topos.neural.optimizer import Optimizer
from topos.neural.rules import Adam, AdamW, Lion, Sgd, matrices, sign

R = TypeVar("R", bound=Recordable)
STEPS = 25
SHAPES = {"w": (7, 5), "b": (5,)}


class Twin(NamedTuple):
    """An optimizer, the same of optax, and the units granted to its steps of f32 and of f64.

    The units are those of a tensor's largest element; none means equal bits.
    """

    name: str
    ours: Optimizer
    theirs: Callable[[Any], Any]
    units: float = 0.0


TWINS = [
    Twin("sgd", Sgd(1e-2), lambda x: x.sgd(1e-2)),
    Twin("momentum", Sgd(1e-2, momentum=0.9), lambda x: x.sgd(1e-2, momentum=0.9)),
    Twin(
        "nesterov",
        Sgd(1e-2, momentum=0.9, nesterov=True),
        lambda x: x.sgd(1e-2, momentum=0.9, nesterov=True),
    ),
    Twin("adam", Adam(1e-3), lambda x: x.adam(1e-3)),
    Twin("adamw", AdamW(1e-3), lambda x: x.adamw(1e-3, weight_decay=1e-2)),
    Twin(
        "adamw_of_matrices",
        AdamW(1e-3, policy=matrices),
        lambda x: x.adamw(1e-3, weight_decay=1e-2, mask={"w": True, "b": False}),
    ),
    Twin("lion", Lion(1e-3, weight_decay=1e-2), lambda x: x.lion(1e-3, weight_decay=1e-2)),
    Twin(
        "clipped_adam",
        Clipped(Adam(1e-3), 1.0),
        lambda x: x.chain(x.clip_by_global_norm(1.0), x.adam(1e-3)),
        4.0,
    ),
    # The two sides sum the squares in different orders and divide at different places.
    Twin(
        "clipped_sgd",
        Clipped(Sgd(1e-1), 5.0),
        lambda x: x.chain(x.clip_by_global_norm(5.0), x.sgd(1e-1)),
        12.0,
    ),
]


def optax() -> Any:
    return pytest.importorskip("optax")


def furthest(twin: Twin, element: Element) -> float:
    """Returns the largest distance of the two trajectories over all steps."""
    library, random = optax(), np.random.default_rng(0)
    start = {name: random.standard_normal(shape) for name, shape in SHAPES.items()}
    theirs = {name: own.astype(element.dtype) for name, own in start.items()}
    tape = Tape(element=element)
    for name, own in theirs.items():
        tape.parameter(own, name=name)
    parameters = tape.into_network().parameters()
    state, other = twin.ours.start(parameters), twin.theirs(library)
    kept, distance = other.init(theirs), 0.0
    for _ in range(STEPS):
        # Gradients of very different sizes, as a network's layers have.
        drawn = {
            name: np.asarray(
                random.standard_normal(shape) * np.exp(random.standard_normal(shape)), element.dtype
            )
            for name, shape in SHAPES.items()
        }
        slopes = parameters.with_payloads({name: Tensor(own) for name, own in drawn.items()})
        parameters, state = twin.ours.step(parameters, slopes, state)
        updates, kept = other.update(drawn, kept, theirs)
        theirs = library.apply_updates(theirs, updates)
        pairs = [(parameters.of(name).numpy(), np.asarray(theirs[name])) for name in SHAPES]
        distance = max(distance, *(units(*pair) for pair in pairs))
    assert holds(state.count, STEPS, i32)
    return distance


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: str(twin.name))
def test_steps_are_those_of_optax(twin: Twin) -> None:
    optax()
    jax = pytest.importorskip("jax")
    assert furthest(twin, f32) <= twin.units
    with jax.enable_x64(True):
        assert furthest(twin, f64) <= twin.units


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: str(twin.name))
def test_a_step_leaves_parameters_and_state_as_they_were(twin: Twin) -> None:
    network = regression()
    parameters = network.parameters()
    state = twin.ours.start(parameters)
    (feeds,) = batches(1)
    gradients = network.forward(parameters, feeds).backward("loss")
    moved, later = twin.ours.step(parameters, gradients, state)
    assert same_fields(parameters, network.parameters())
    assert holds(state.count, 0, i32)
    assert holds(later.count, 1, i32)
    assert all(
        not payload.numpy().any() for slot in state.slots.values() for _, payload in slot.items()
    )
    assert all(not same(moved.of(symbol), own) for symbol, own in parameters.items())
    assert tuple(later.slots) == twin.ours.slots
    again, twice = twin.ours.step(parameters, gradients, state)
    assert same_fields(again, moved)
    assert all(same_fields(twice.slots[name], later.slots[name]) for name in later.slots)


def test_training_lowers_the_loss() -> None:
    for optimizer in (Adam(1e-2), AdamW(1e-2), Sgd(0.1, momentum=0.9), Lion(1e-2)):
        _, state, losses = trained(regression(), optimizer, batches(30))
        assert float(losses[-1]) < 0.8 * float(losses[0])
        assert repr(state).startswith("OptimizerState(30 steps, ")


@pytest.mark.parametrize("element", [bf16, f16])
def test_narrow_parameters_have_wide_moments(element: Element) -> None:
    parameters, state, losses = trained(regression(element), Adam(1e-2), batches(20, element))
    assert {own.element for _, own in parameters.items()} == {element}
    assert {own.element for slot in state.slots.values() for _, own in slot.items()} == {f32}
    assert float(losses[-1]) < float(losses[0])
    # In bf16 itself 0.999 is one, and the second moment would only grow.
    constant = parameters.map(lambda own: own.fill(1.0))
    for _ in range(3):
        parameters, state = Adam(betas=(0.0, 0.5)).step(parameters, constant, state)
    assert all(float(own.max()) < 1.0 for _, own in state.slots["second_moment"].items())


@dataclass(frozen=True)
class Signs(Optimizer):
    """A user's own optimizer: every weight moves by a fixed distance."""

    distance: float

    @property
    def slots(self) -> tuple[str, ...]:
        return ()

    def scalars(self, count: R) -> tuple[R, ...]:
        return (count.fill(self.distance),)

    def update(
        self, symbol: Symbol, parameter: R, gradient: R, kept: Sequence[R], scalars: Sequence[R]
    ) -> tuple[R, tuple[R, ...]]:
        return parameter - scalars[0] * sign(gradient), ()


def test_an_optimizer_of_ones_own_has_the_same_standing() -> None:
    network = regression()
    parameters, state, _ = trained(network, Signs(0.25), batches(1))
    moved = parameters.zip(network.parameters(), lambda own, before: own - before)
    assert all(np.allclose(abs(own.numpy()), 0.25, rtol=1e-6) for _, own in moved.items())
    assert repr(state) == "OptimizerState(1 steps, no slots)"


def test_a_parameter_that_is_no_float_stays() -> None:
    tape = Tape()
    w = tape.parameter([1.0, 2.0], name="w")
    places = tape.parameter([1, 0], element=i32, name="places")
    w.gather(places, 0).sum().named("loss")
    network = tape.into_network()
    parameters, state, _ = trained(network, Adam(0.5), [{}])
    assert same(parameters.of("places"), network.parameters().of("places"))
    assert state.slots["first_moment"].symbols() == (network.symbol("w"),)


def test_a_state_crosses_a_pickle() -> None:
    _, state, _ = trained(regression(), Adam(), batches(2))
    twin = pickle.loads(pickle.dumps(state))
    assert same(twin.count, state.count)
    assert all(same_fields(twin.slots[name], state.slots[name]) for name in state.slots)


def test_a_state_of_another_optimizer_is_refused() -> None:
    parameters = regression().parameters()
    state = Sgd(0.1, momentum=0.5).start(parameters)
    message = (
        "a step of Adam needs a state with the slots first_moment, second_moment, got velocity"
    )
    with pytest.raises(ArgumentError, match=exactly(message)):
        Adam().step(parameters, parameters, state)
    message = "a step of Sgd needs a state with the slots none, got velocity"
    with pytest.raises(ArgumentError, match=exactly(message)):
        Sgd(0.1).step(parameters, parameters, state)


def test_a_state_of_another_recording_is_refused() -> None:
    one, two = regression().parameters(), regression().parameters()
    message = "symbol %0 belongs to another recording"
    with pytest.raises(SymbolError, match=exactly(message)):
        Adam().step(one, one, Adam().start(two))
    with pytest.raises(SymbolError, match=exactly(message)):
        Adam().step(one, two, Adam().start(one))


def test_a_parameter_without_a_gradient_is_told() -> None:
    tape = Tape()
    w = tape.parameter(1.0, name="w")
    tape.parameter(1.0, name="other")
    loss = (w * w).named("loss")
    adjoints = tape.differentiate(loss, [w])
    network = tape.into_network()
    parameters = network.parameters()
    run = network.entry(["loss", *adjoints.roots()]).lower().forward()
    with pytest.raises(ReadError, match=exactly("%1 'other' has no entry in this Field")):
        Adam().step(parameters, run.recorded_gradients(adjoints), Adam().start(parameters))


def test_a_sign_keeps_zeros_and_nan() -> None:
    value = Tensor([2.0, -3.0, 0.0, -0.0, float("nan"), float("-inf")])
    assert holds(sign(value), [1.0, -1.0, 0.0, -0.0, float("nan"), -1.0], f32)


def test_clipping_scales_all_gradients_by_one_factor() -> None:
    small = {"a": Tensor([0.3, -0.4]), "b": Tensor(0.0)}
    assert holds(global_norm(list(small.values())), 0.5, f32)
    assert all(same(own, small[name]) for name, own in clip_by_global_norm(small, 0.75).items())
    clipped = clip_by_global_norm({"a": Tensor([3.0, -4.0]), "b": Tensor(12.0)}, 6.5)
    assert holds(clipped["a"], [1.5, -2.0], f32)
    assert holds(clipped["b"], 6.0, f32)
    broken = clip_by_global_norm({"a": Tensor([3.0]), "b": Tensor(float("nan"))}, 1.0)
    assert all(np.isnan(own.numpy()).all() for own in broken.values())


def test_a_global_norm_of_two_elements_is_of_the_wider() -> None:
    mixed = {"a": Tensor([3.0], f32), "b": Tensor([4.0], f64)}
    assert holds(global_norm(list(mixed.values())), 5.0, f64)
    clipped = clip_by_global_norm(mixed, 2.5)
    assert holds(clipped["a"], [1.5], f32)
    assert holds(clipped["b"], [2.0], f64)
