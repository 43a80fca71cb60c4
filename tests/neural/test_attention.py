"""Attention: against flax, in groups, under masks, and step by step over a cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.exact import same
from tests.neural.near import units
from topos import Element, Tape, Tensor, f16, f32, f64, i32, i64
from topos.neural import (
    Cache,
    MultiHeadAttention,
    cache_step,
    causal_mask,
    init,
    parameters,
    rotary_embedding,
    scaled_dot_product,
)

BATCH, LENGTH, FEATURES, HEADS = 2, 6, 8, 4


def drawn(seed: int, *shape: int, element: Element = f32) -> Tensor:
    return init.normal(seed)(shape, element)


def flax_attention(state: list[Any], inputs: Any, causal: bool) -> Any:
    linen = pytest.importorskip("flax.linen")
    depth = FEATURES // HEADS
    names = ["query", "key", "value", "out"]
    heads = {
        name: {
            "kernel": weights.reshape(FEATURES, HEADS, depth),
            "bias": bias.reshape(HEADS, depth),
        }
        for name, weights, bias in zip(names, state[::2], state[1::2], strict=True)
    }
    heads["out"] = {"kernel": state[6].reshape(HEADS, depth, FEATURES), "bias": state[7]}
    module = linen.MultiHeadDotProductAttention(HEADS, dtype=inputs.dtype)
    mask = linen.make_causal_mask(inputs[..., 0]) if causal else None
    return module.apply({"params": heads}, inputs, mask=mask)


@pytest.mark.parametrize(("element", "causal"), [(f32, True), (f64, False)], ids=str)
def test_attention_and_its_gradients_are_those_of_flax(element: Element, causal: bool) -> None:
    jax = pytest.importorskip("jax")
    tape = Tape(element=element)
    module = MultiHeadAttention(
        tape, FEATURES, HEADS, weights=init.xavier(3), bias=init.normal(4, 0.1), causal=causal
    )
    inputs = tape.input(drawn(5, BATCH, LENGTH, FEATURES, element=element))
    value = module.express(tape, inputs)
    wrt = [inputs.symbol, *parameters(module)]
    adjoints = tape.differentiate((value * value).sum(), wrt)
    symbols = [value.symbol, *adjoints.roots()]
    network = tape.into_network()
    run = network.forward()
    state = [network.parameters().of(symbol).numpy() for symbol in parameters(module)]

    def loss(inputs: Any, *weights: Any) -> Any:
        attended = flax_attention(list(weights), inputs, causal)
        return (attended * attended).sum(), attended

    with jax.enable_x64(True):
        compiled = jax.jit(
            jax.value_and_grad(loss, tuple(range(9)), has_aux=True),
            compiler_options={"xla_backend_optimization_level": 0},
        )
        (_, wanted), slopes = compiled(run.of(inputs.symbol).numpy(), *state)
    # The gradient of the bias of the keys is zero: a softmax does not see a shift of its scores.
    keys = 1 + 3
    for place, symbol in enumerate(symbols):
        ours, theirs = run.of(symbol).numpy(), np.asarray((wanted, *slopes)[place])
        if place == 1 + keys:
            assert np.abs(ours).max() < 1e3 * np.finfo(element.dtype).eps
            continue
        assert units(ours, theirs) <= 24


def test_heads_of_a_group_have_the_bits_of_repeated_keys() -> None:
    queries = drawn(1, 2, 4, 5, 6)
    keys, values = drawn(2, 2, 2, 7, 6), drawn(3, 2, 2, 7, 3)
    often, along = (Tensor(np.repeat(each.numpy(), 2, axis=1)) for each in (keys, values))
    mask = causal_mask(queries, 5, 7)
    grouped = scaled_dot_product(queries, keys, values, mask)
    assert grouped.shape == (2, 4, 5, 3)
    assert same(grouped, scaled_dot_product(queries, often, along, mask))


def test_a_mask_may_differ_by_sample_and_head() -> None:
    queries, keys, values = (drawn(seed, 2, 3, 4, 5) for seed in range(3))
    hidden = np.random.default_rng(0).random((2, 3, 4, 4)) < 0.5
    hidden[..., 0] = False
    attended = scaled_dot_product(queries, keys, values, Tensor(~hidden))
    for sample in range(2):
        for head in range(3):
            q, k, v = (
                each.narrow(0, sample, 1).narrow(1, head, 1) for each in (queries, keys, values)
            )
            alone = scaled_dot_product(q, k, v, Tensor(~hidden[sample, head]))
            assert same(alone, attended.narrow(0, sample, 1).narrow(1, head, 1))


@pytest.mark.parametrize("element", [f64, f32, f16], ids=str)
def test_a_row_that_is_hidden_whole_weighs_every_value_alike(element: Element) -> None:
    queries, keys = (drawn(seed, 1, 1, 2, 4, element=element) for seed in range(2))
    values = Tensor([[[[1.0], [3.0]]]], element)
    mask = Tensor(np.array([[False, False], [True, False]]))
    attended = scaled_dot_product(queries, keys, values, mask)
    assert attended.numpy().ravel().tolist() == [2.0, 1.0]


def test_a_causal_mask_starts_where_it_is_told() -> None:
    like = Tensor(0.0)
    assert causal_mask(like, 2, 4).numpy().tolist() == [
        [True, False, False, False],
        [True, True, False, False],
    ]
    later = [[True, True, True, False], [True, True, True, True]]
    assert causal_mask(like, 2, 4, 2).numpy().tolist() == later
    assert causal_mask(like, 2, 4, Tensor(2, i32)).numpy().tolist() == later


def test_rotary_turns_products_by_the_distance_of_positions_alone() -> None:
    queries, keys = drawn(1, 1, 3, 8, element=f64), drawn(2, 1, 3, 8, element=f64)

    def scores(shift: int) -> Any:
        positions = Tensor(np.arange(3) + shift)
        return (
            rotary_embedding(queries, positions) @ rotary_embedding(keys, positions).transpose()
        ).numpy()

    np.testing.assert_allclose(scores(0), scores(100), rtol=0, atol=1e-13)
    assert np.abs(scores(0) - (queries @ keys.transpose()).numpy()).max() > 0.1


def test_rotary_of_a_narrow_element_takes_its_angles_in_f32() -> None:
    value = Tensor(np.ones((1, 2), np.float16))
    turned = rotary_embedding(value, Tensor([3001], i64)).numpy()
    wanted = [np.cos(3001.0) - np.sin(3001.0), np.cos(3001.0) + np.sin(3001.0)]
    np.testing.assert_allclose(turned[0].astype(float), wanted, atol=2e-3)


def test_a_cache_step_writes_rows_from_its_position_on() -> None:
    cache = Tensor(np.zeros((2, 5, 3), np.float32))
    for length, position in [(1, 0), (1, 4), (2, 1), (3, 3), (5, 0)]:
        new = drawn(length, 2, length, 3)
        wanted = cache.numpy().copy()
        stop = min(5, position + length)
        wanted[:, position:stop] = new.numpy()[:, : stop - position]
        cache = cache_step(cache, new, Tensor(position, i64))
        assert cache.numpy().tobytes() == wanted.tobytes()


@pytest.mark.parametrize(("chunk", "numerics"), [(1, "exact"), (3, "exact"), (2, "interpreter")])
def test_decoding_over_a_cache_has_the_bits_of_the_whole_context(chunk: int, numerics: str) -> None:
    tape = Tape()
    module = MultiHeadAttention(
        tape, FEATURES, HEADS, weights=init.xavier(3), groups=2, causal=True, rotary=10000.0
    )
    inputs = drawn(5, BATCH, LENGTH, FEATURES)
    module.express(tape, tape.input(inputs)).named("attended")
    piece = tape.input(shape=[BATCH, chunk, FEATURES], name="piece")
    position = tape.input(shape=[], element=i64, name="position")
    cache = module.cache(tape, BATCH, LENGTH, name="cache")
    stepped, grown = module.step(tape, piece, cache, position)
    stepped.named("stepped")
    for value, name in zip(grown, ("keys", "values"), strict=True):
        value.named(name)
    network = tape.into_network()
    whole = network.entry(["attended"], numerics="exact").lower().forward().of("attended")
    plan: Any = network.entry(["stepped", "keys", "values"], numerics="exact").lower()
    if numerics == "interpreter":
        plan = plan.compile("interpreter", numerics="exact")
    empty = init.zeros((BATCH, 2, LENGTH, FEATURES // HEADS))
    held = {"keys": empty, "values": empty}
    for start in range(0, LENGTH, chunk):
        fed = {f"cache.{name}": own for name, own in held.items()}
        run = plan.forward(feeds={**fed, **feeds(inputs, start, chunk)})
        held = {name: run.of(name) for name in held}
        assert same(run.of("stepped"), whole.narrow(1, start, chunk))


def feeds(inputs: Tensor, start: int, chunk: int) -> dict[Any, Tensor]:
    return {"piece": inputs.narrow(1, start, chunk), "position": Tensor(start, i64)}


def test_a_cache_has_inputs_that_are_empty_unless_fed() -> None:
    tape = Tape()
    module = MultiHeadAttention(tape, 4, 2, weights=init.xavier(1), causal=True, groups=1)
    cache = module.cache(tape, 3, 7)
    assert isinstance(cache, Cache)
    symbols = [value.symbol for value in cache]
    run = tape.into_network().forward()
    assert [run.of(symbol).shape for symbol in symbols] == [(3, 1, 7, 2)] * 2
    assert not any(run.of(symbol).numpy().any() for symbol in symbols)
