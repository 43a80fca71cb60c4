"""Initializers: the stream of a seed, pinned to the bit, and what is made of it."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from tests.exact import same
from topos import Element, Linear, Tape, Tensor, bf16, f16, f32, f64, init
from topos.errors import ArgumentError, FeedError
from topos.neural import stream

# The first words of the generator's published test vectors.
PUBLISHED = {
    1234567: [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ],
    0: [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F],
}
GOLDEN: dict[str, tuple[init.Initializer, tuple[int, ...]]] = {
    "uniform": (init.uniform(1), (3,)),
    "bounded": (init.uniform(2, 0.25, 0.75), (3,)),
    "normal": (init.normal(3), (3,)),
    "narrow_normal": (init.normal(4, 0.02), (3,)),
    "xavier": (init.xavier(5), (1, 3)),
    "xavier_window": (init.xavier(5), (3, 1, 1, 1)),
    "kaiming": (init.kaiming(6), (3, 1)),
    "scaled": (init.scaled(7, 0.5), (3, 1)),
    "dropout": (init.dropout(8, 0.5), (3,)),
    "split": (init.normal(9).split(2).split(0), (3,)),
}
BITS = {
    "uniform": {
        "f64": "580289ec2d0ac13f74c7b2d0c675df3f94ccbebbe824ee3f",
        "f32": "6f51083e37aefb3e4627713f",
        "f16": "4330dd37893b",
        "bf16": "083efc3e713f",
    },
    "bounded": {
        "f64": "75c9e15d8375e13fc2bf006184fce33fe5d7fdcbbb87e13f",
        "f32": "1bac0b3f23e41f3fde3d0c3f",
        "f16": "5d38ff386238",
        "bf16": "0c3f203f0c3f",
    },
    "normal": {
        "f64": "03c36c6c104dc3bfa4386d4180e3ddbfecc6a0fb84c6f33f",
        "f32": "83681abe021cefbe28349e3f",
        "f16": "d3b079b7f23c",
        "bf16": "1abeefbe9e3f",
    },
    "narrow_normal": {
        "f64": "784ab5fc40fa903ffb9afe7b5e3c8bbf53dbafcd063fa4bf",
        "f32": "08d2873cf4e259bc36f821bd",
        "f16": "3f24cfa210a9",
        "bf16": "883c5abc22bd",
    },
    "xavier": {
        "f64": "9015d34b46c0d1bfb0e9cd1bd9c6e33ff79c064584f3e4bf",
        "f32": "32028ebec9361e3f229c27bf",
        "f16": "70b4f2383db9",
        "bf16": "8ebe1e3f28bf",
    },
    "xavier_window": {
        "f64": "9015d34b46c0d1bfb0e9cd1bd9c6e33ff79c064584f3e4bf",
        "f32": "32028ebec9361e3f229c27bf",
        "f16": "70b4f2383db9",
        "bf16": "8ebe1e3f28bf",
    },
    "kaiming": {
        "f64": "f68f0d1fb13af4bf1357f38b3161dc3f2dbad128cc0ccc3f",
        "f32": "89d5a1bf8c09e33e6166603e",
        "f16": "0fbd18370333",
        "bf16": "a2bfe33e603e",
    },
    "scaled": {
        "f64": "a2f909182443d23fdcd157afd5ef9e3f5f3e5c54a438e1bf",
        "f32": "2119923ead7ef73c23c509bf",
        "f16": "9134bc274eb8",
        "bf16": "923ef73c0abf",
    },
    "dropout": {
        "f64": "000000000000004000000000000000400000000000000040",
        "f32": "000000400000004000000040",
        "f16": "004000400040",
        "bf16": "004000400040",
    },
    "split": {
        "f64": "5ea4ae277ed7ec3f41baf8f8d848e53fa2c0b4f9cc7acfbf",
        "f32": "f1bb663fc8462a3f68d67bbe",
        "f16": "363b5239dfb3",
        "bf16": "673f2a3f7cbe",
    },
}


@pytest.mark.parametrize("seed", PUBLISHED)
def test_a_stream_is_that_of_splitmix64(seed: int) -> None:
    wanted = PUBLISHED[seed]
    assert stream.words(seed, len(wanted)).tolist() == wanted
    assert [stream.split(seed, place) for place in range(len(wanted))] == wanted


@pytest.mark.parametrize("element", [f64, f32, f16, bf16], ids=str)
@pytest.mark.parametrize("name", GOLDEN)
def test_the_bits_of_an_initializer_are_pinned(name: str, element: Element) -> None:
    initializer, shape = GOLDEN[name]
    drawn = initializer(shape, element)
    assert (drawn.shape, drawn.element) == (shape, element)
    assert drawn.numpy().tobytes().hex() == BITS[name][element.name]


def test_the_ends_of_a_seed_are_streams() -> None:
    first, last = (init.uniform(seed)((4,)) for seed in (0, 2**64 - 1))
    assert not same(first, last)
    assert same(first, init.uniform(0)((4,)))


@pytest.mark.parametrize("make", [init.uniform, init.normal], ids=["uniform", "normal"])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8])
def test_a_longer_draw_begins_with_the_shorter(
    make: Callable[[int], init.Initializer], count: int
) -> None:
    longer = make(11)((9,)).narrow(0, 0, count)
    assert same(make(11)((count,)), longer)


def test_an_element_is_the_wide_number_rounded_once() -> None:
    wide = init.normal(12)((50,), f64)
    for element in (f32, f16, bf16):
        assert same(init.normal(12)((50,), element), wide.convert(element))


def test_a_normal_draw_has_its_moments() -> None:
    drawn = init.normal(13, 2.0)((40_000,), f64).numpy()
    assert abs(drawn.mean()) < 0.03
    assert abs(drawn.std() - 2.0) < 0.03
    # Kurtosis tells a normal distribution from others of the same deviation.
    assert abs((drawn**4).mean() / drawn.var() ** 2 - 3.0) < 0.15
    assert abs(np.corrcoef(drawn[::2], drawn[1::2])[0, 1]) < 0.03


def test_a_uniform_draw_fills_its_bounds() -> None:
    drawn = init.uniform(14, -0.5, 1.5)((40_000,), f64).numpy()
    assert -0.5 <= drawn.min() < -0.499
    assert 1.499 < drawn.max() < 1.5
    assert np.histogram(drawn, 8)[0].min() > 4_700


@pytest.mark.parametrize(
    ("shape", "inputs", "outputs"), [((300, 100), 300, 100), ((40, 20, 5, 4), 400, 800)]
)
def test_weights_are_measured_by_their_inputs_and_outputs(
    shape: tuple[int, ...], inputs: int, outputs: int
) -> None:
    bound = math.sqrt(6.0 / (inputs + outputs))
    uniform = init.xavier(15)(shape, f64).numpy()
    assert 0.999 * bound < np.abs(uniform).max() <= bound
    for make, gain in [(init.kaiming(15), math.sqrt(2.0)), (init.scaled(15, 3.0), 3.0)]:
        deviation = make(shape, f64).numpy().std()
        assert abs(deviation * math.sqrt(inputs) / gain - 1.0) < 0.03


def test_a_dropout_mask_keeps_its_share_and_the_mean() -> None:
    mask = init.dropout(16, 0.2)((40_000,)).numpy()
    assert set(mask.tolist()) == {0.0, 1.25}
    assert abs((mask == 0.0).mean() - 0.2) < 0.01
    assert init.dropout(16, 0.0)((5,)).numpy().tolist() == [1.0] * 5


def test_splits_are_streams_of_their_own() -> None:
    whole = init.normal(17)
    drawn = [whole((64,)), *(whole.split(place)((64,)) for place in range(3))]
    pairs = np.corrcoef([each.numpy() for each in drawn])
    assert np.abs(pairs - np.eye(4)).max() < 0.5
    assert same(whole.split(2)((64,)), drawn[3])


def test_an_initializer_crosses_a_pickle() -> None:
    for initializer, shape in GOLDEN.values():
        again: init.Initializer = pickle.loads(pickle.dumps(initializer))
        assert same(again(shape), initializer(shape))


def test_a_constant_is_the_same_for_every_split() -> None:
    half = init.constant(0.5)
    assert half.split(3)((2, 1), bf16).numpy().tolist() == [[0.5], [0.5]]
    assert same(init.ones((2,)), Tensor([1.0, 1.0]))
    assert same(init.zeros(()), Tensor(0.0))


def test_unset_records_a_shape_alone() -> None:
    tape = Tape()
    layer = Linear(tape, 2, 3, weights=init.unset.split(1), bias=init.zeros)
    network = tape.into_network()
    with pytest.raises(FeedError, match=r"needs a payload of f32\[2, 3\], got none"):
        network.parameters()
    held = network.parameters({layer.weights: Tensor(np.ones((2, 3), np.float32))})
    assert len(held) == 2
    with pytest.raises(ArgumentError, match="unset makes no payload"):
        init.unset((2,))
