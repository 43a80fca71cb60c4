"""Modules: what they record, and what they hold."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from tests.exact import same
from topos import Symbol, Tape, Tensor, Value, f64, mean
from topos.neural import (
    Activation,
    BatchNorm,
    Conv2d,
    Embedding,
    LayerNorm,
    Linear,
    Mlp,
    Module,
    MultiHeadAttention,
    Path,
    RmsNorm,
    Sequential,
    Visitor,
    init,
    label,
    named_parameters,
    parameters,
)

DRAWN = np.random.default_rng(5)
ROWS = Tensor(DRAWN.standard_normal((6, 4)).astype(np.float32))


XAVIER = init.xavier(1)


class Block:
    """A module written outside the package: a residual connection around a norm and a layer."""

    def __init__(self, tape: Tape, features: int, weights: init.Initializer) -> None:
        self.norm = LayerNorm(tape, features)
        self.mixing = Linear(tape, features, features, weights=weights, bias=None)

    def express(self, tape: Tape, value: Value) -> Value:
        return value + self.mixing.express(tape, self.norm.express(tape, value)).tanh()

    def visit(self, visitor: Visitor) -> None:
        visitor.child("norm", self.norm)
        visitor.child("mixing", self.mixing)


class Model:
    """A module of one's own, with a list of blocks and a parameter of its own."""

    def __init__(self, tape: Tape) -> None:
        self.gain: Symbol = tape.parameter(1.0).symbol
        self.blocks = [Block(tape, 4, XAVIER.split(i)) for i in range(2)]
        self.head = Sequential(Mlp(tape, [4, 3, 2], weights=XAVIER), Activation.SIGMOID)

    def express(self, tape: Tape, value: Value) -> Value:
        for block in self.blocks:
            value = block.express(tape, value)
        return self.head.express(tape, value) * tape.value(self.gain).broadcast((6, 2))

    def visit(self, visitor: Visitor) -> None:
        visitor.parameter("gain", self.gain)
        visitor.children("blocks", self.blocks)
        visitor.child("head", self.head)


PATHS = [
    "gain",
    *(
        f"blocks.{i}.{name}"
        for i in range(2)
        for name in ("norm.scale", "norm.shift", "mixing.weights")
    ),
    *(f"head.0.layers.{i}.{name}" for i in range(2) for name in ("weights", "bias")),
]


def test_a_module_of_ones_own_stands_beside_those_of_the_package() -> None:
    tape = Tape()
    model = Model(tape)
    assert isinstance(model, Module)
    assert [str(path) for path, _ in named_parameters(model)] == PATHS
    assert parameters(model) == [symbol for _, symbol in named_parameters(model)]
    assert set(parameters(model)) == set(tape.into_network().parameters().symbols())


def test_a_model_of_ones_own_trains() -> None:
    tape = Tape()
    model = Model(tape)
    label(tape, model)
    wanted = tape.input(np.eye(6, 2, dtype=np.float32))
    error = model.express(tape, tape.input(ROWS)) - wanted
    loss = mean(error * error).named("loss")
    adjoints = tape.differentiate(loss, parameters(model))
    plan = tape.into_network().entry(["loss", *adjoints.roots()]).lower()
    state, losses = plan.network.parameters(), []
    for _ in range(20):
        run = plan.forward(state)
        losses.append(run.of("loss").item())
        state = state.step(run.recorded_gradients(adjoints), lambda own, slope: own - 0.5 * slope)
    assert losses[-1] < 0.5 * losses[0]
    assert [str(path) for path, _ in named_parameters(model)] == PATHS


def test_a_label_is_the_name_that_the_recording_speaks_of() -> None:
    tape = Tape()
    model = Model(tape)
    label(tape, model, "model")
    network = tape.into_network()
    assert network.symbol("model.blocks.1.mixing.weights") == model.blocks[1].mixing.weights
    assert "'model.head.0.layers.0.bias'" in network.describe()


def test_a_shared_parameter_has_two_paths_and_is_one() -> None:
    tape = Tape()
    layer = Linear(tape, 4, 4, weights=XAVIER)
    model = Sequential(layer, Activation.TANH, layer)
    paths = ["0.weights", "0.bias", "2.weights", "2.bias"]
    assert [str(path) for path, _ in named_parameters(model)] == paths
    assert parameters(model) == [layer.weights, layer.bias]


def test_a_module_outlives_its_recording() -> None:
    tape = Tape()
    model = Model(tape)
    model.express(tape, tape.input(ROWS)).named("first")
    tape = tape.into_network().into_tape()
    again = pickle.loads(pickle.dumps(model))
    again.express(tape, tape.input(ROWS)).named("second")
    run = tape.into_network().forward()
    assert same(run.of("first"), run.of("second"))


def test_modules_take_the_element_of_the_tape() -> None:
    tape = Tape(element=f64)
    modules: list[Module] = [
        Conv2d(tape, 3, 2, (2, 1), weights=XAVIER),
        Embedding(tape, 5, 2, table=init.normal(1)),
        MultiHeadAttention(tape, 4, 2, weights=XAVIER),
        RmsNorm(tape, 3),
        BatchNorm(tape, 3),
    ]
    found = [symbol for module in modules for symbol in parameters(module)]
    state = tape.into_network().parameters()
    assert len(found) == 14
    assert {state.of(symbol).element for symbol in found} == {f64}


def test_every_layer_of_an_mlp_draws_weights_of_its_own() -> None:
    tape = Tape()
    mlp = Mlp(tape, [3, 3, 3], weights=XAVIER)
    state = tape.into_network().parameters()
    first, second = (state.of(layer.weights) for layer in mlp.layers)
    assert same(first, XAVIER.split(0)((3, 3)))
    assert not same(first, second)


def test_an_embedding_chooses_rows() -> None:
    tape = Tape()
    embedding = Embedding(tape, 5, 2, table=init.normal(1))
    chosen = embedding.express(tape, tape.input(np.array([[4, 0, 9]]))).symbol
    network = tape.into_network()
    table = network.parameters().of(embedding.table).numpy()
    assert network.forward().of(chosen).numpy().tobytes() == table[[[4, 0, 4]]].tobytes()


def test_a_path_is_dotted_and_compares_by_its_segments() -> None:
    path = Path() / "blocks" / 0 / "weights"
    assert str(path) == "blocks.0.weights"
    assert path == Path(("blocks", 0, "weights"))
    assert path.name == "weights"
    assert path != Path(("blocks", "0", "weights"))
    assert len({path, Path(("blocks", 0, "weights"))}) == 1


def test_a_walk_of_ones_own_sees_every_parameter() -> None:
    class Sizes(Visitor):
        def __init__(self) -> None:
            super().__init__()
            self.depths: list[Any] = []

        def visited(self, path: Path, symbol: Symbol) -> None:
            self.depths.append((path.name, len(self.path.segments)))

    walk = Sizes()
    Model(Tape()).visit(walk)
    assert walk.depths[0] == ("gain", 0)
    assert walk.depths[-1] == ("bias", 4)
    assert walk.path == Path()
