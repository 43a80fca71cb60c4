"""Every formula and its gradients against jax, flax and optax, within stated units."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.neural.near import Case, computed, foreign, furthest, recorded
from topos import Element, f32, f64
from topos.neural import (
    Activation,
    affine,
    average_pool,
    batch_norm,
    batch_norm_inference,
    bce_with_logits,
    causal_mask,
    conv2d,
    cross_entropy,
    layer_norm,
    max_pool,
    mse,
    rms_norm,
    rotary_embedding,
    scaled_dot_product,
)


def jax() -> Any:
    return pytest.importorskip("jax")


def optax() -> Any:
    return pytest.importorskip("optax")


def linen() -> Any:
    return pytest.importorskip("flax.linen")


def jax_conv(x: Any, w: Any, b: Any, stride: tuple[int, int], padding: tuple[int, int]) -> Any:
    module = linen().Conv(
        w.shape[0], w.shape[2:], stride, [(each, each) for each in padding], dtype=x.dtype
    )
    weights = {"params": {"kernel": w.transpose(2, 3, 1, 0), "bias": b}}
    return module.apply(weights, x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


def flax_pool(function: str, x: Any, size: tuple[int, int], stride: tuple[int, int]) -> Any:
    pooled = getattr(linen(), function)(x.transpose(0, 2, 3, 1), size, stride)
    return pooled.transpose(0, 3, 1, 2)


def flax_norm(kind: str, x: Any, scale: Any, shift: Any = None, **options: Any) -> Any:
    weights = {"scale": scale} if shift is None else {"scale": scale, "bias": shift}
    return getattr(linen(), kind)(dtype=x.dtype, **options).apply({"params": weights}, x)


def flax_batch_norm(x: Any, scale: Any, shift: Any) -> Any:
    module = linen().BatchNorm(
        use_running_average=False, axis=1, epsilon=1e-5, dtype=x.dtype, use_fast_variance=False
    )
    zeros = jax().numpy.zeros_like(scale)
    variables = {
        "params": {"scale": scale, "bias": shift},
        "batch_stats": {"mean": zeros, "var": zeros + 1},
    }
    return module.apply(variables, x, mutable=["batch_stats"])[0]


def flax_batch_norm_inference(x: Any, mean: Any, variance: Any, scale: Any, shift: Any) -> Any:
    module = linen().BatchNorm(use_running_average=True, axis=1, epsilon=1e-5, dtype=x.dtype)
    stats = {"mean": mean, "var": variance * variance}
    params = {"scale": scale, "bias": shift}
    return module.apply({"params": params, "batch_stats": stats}, x)


def jax_attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    if q.dtype == np.float64:
        return wide_attention(q, k, v, causal)
    turned = (each.transpose(0, 2, 1, 3) for each in (q, k, v))
    attended = jax().nn.dot_product_attention(*turned, is_causal=causal)
    return attended.transpose(0, 2, 1, 3)


def wide_attention(q: Any, k: Any, v: Any, causal: bool) -> Any:
    # jax's own takes its softmax in f32, whatever the operands are.
    numpy = jax().numpy
    k, v = (numpy.repeat(each, q.shape[1] // each.shape[1], 1) for each in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / q.shape[-1] ** 0.5
    sees = numpy.tril(numpy.ones(scores.shape[-2:], bool)) if causal else True
    return jax().nn.softmax(numpy.where(sees, scores, -numpy.inf), -1) @ v


def masked_attention(q: Any, k: Any, v: Any) -> Any:
    return scaled_dot_product(q, k, v, causal_mask(q, q.shape[2], k.shape[2]))


def jax_rotary(x: Any, positions: Any) -> Any:
    # The formula of the paper over complex numbers: a pair of features is one of them.
    numpy = jax().numpy
    half = x.shape[-1] // 2
    angles = positions[:, None] / 10000.0 ** (numpy.arange(half, dtype=x.dtype) * 2 / x.shape[-1])
    turn = numpy.exp(1j * angles.astype(x.dtype))
    turned = (x[..., :half] + 1j * x[..., half:]) * turn
    return numpy.concatenate([turned.real, turned.imag], -1).astype(x.dtype)


IMAGES = (2, 3, 7, 6)
CASES = [
    Case(
        "affine",
        affine,
        lambda x, w, b: (
            linen().Dense(4, dtype=x.dtype).apply({"params": {"kernel": w, "bias": b}}, x)
        ),
        [(2, 5, 3), (3, 4), (4,)],
        4,
    ),
    Case(
        "conv2d",
        partial(conv2d, stride=(2, 1), padding=(1, 2)),
        partial(jax_conv, stride=(2, 1), padding=(1, 2)),
        [IMAGES, (4, 3, 3, 2), (4,)],
        8,
    ),
    Case(
        "conv2d_plain",
        conv2d,
        partial(jax_conv, stride=(1, 1), padding=(0, 0)),
        [IMAGES, (4, 3, 2, 3), (4,)],
        8,
    ),
    Case(
        "max_pool",
        partial(max_pool, size=2),
        lambda x: flax_pool("max_pool", x, (2, 2), (2, 2)),
        [IMAGES],
        0,
    ),
    Case(
        "max_pool_overlapping",
        partial(max_pool, size=(3, 2), stride=(2, 1)),
        lambda x: flax_pool("max_pool", x, (3, 2), (2, 1)),
        [IMAGES],
        2,
    ),
    Case(
        "average_pool",
        partial(average_pool, size=(3, 2), stride=(2, 1)),
        lambda x: flax_pool("avg_pool", x, (3, 2), (2, 1)),
        [IMAGES],
        4,
    ),
    Case(
        "layer_norm",
        layer_norm,
        partial(flax_norm, "LayerNorm", epsilon=1e-5, use_fast_variance=False),
        [(4, 5, 6), (6,), (6,)],
        6,
    ),
    Case("rms_norm", rms_norm, partial(flax_norm, "RMSNorm", epsilon=1e-6), [(4, 5, 6), (6,)], 6),
    Case("batch_norm", lambda *x: batch_norm(*x)[0], flax_batch_norm, [(8, 3), (3,), (3,)], 32),
    Case(
        "batch_norm_images",
        lambda *x: batch_norm(*x)[0],
        flax_batch_norm,
        [IMAGES, (3,), (3,)],
        32,
    ),
    Case(
        "batch_norm_inference",
        lambda x, m, v, a, b: batch_norm_inference(x, m, v * v, a, b),
        flax_batch_norm_inference,
        [IMAGES, (3,), (3,), (3,), (3,)],
        8,
    ),
    Case("attention", scaled_dot_product, jax_attention, [(2, 4, 5, 6)] + [(2, 4, 7, 6)] * 2, 16),
    Case(
        "attention_grouped",
        scaled_dot_product,
        jax_attention,
        [(2, 4, 5, 6)] + [(2, 2, 7, 6)] * 2,
        16,
    ),
    Case(
        "attention_causal",
        masked_attention,
        partial(jax_attention, causal=True),
        [(2, 4, 5, 6)] + [(2, 2, 5, 6)] * 2,
        16,
    ),
    Case(
        "rotary_embedding",
        rotary_embedding,
        jax_rotary,
        [(2, 3, 5, 8), (5,)],
        2,
        integers=1,
        below=40,
    ),
    Case(
        "cross_entropy",
        cross_entropy,
        lambda x, y: optax().softmax_cross_entropy_with_integer_labels(x, y).mean(),
        [(6, 5), (6,)],
        4,
        integers=1,
        below=5,
    ),
    Case(
        "cross_entropy_tokens",
        cross_entropy,
        lambda x, y: optax().softmax_cross_entropy_with_integer_labels(x, y).mean(),
        [(2, 3, 5), (2, 3)],
        4,
        integers=1,
        below=5,
    ),
    Case(
        "cross_entropy_soft",
        lambda x, y: cross_entropy(x, y.logistic()),
        lambda x, y: optax().softmax_cross_entropy(x, jax().nn.sigmoid(y)).mean(),
        [(6, 5), (6, 5)],
        8,
    ),
    Case("mse", mse, lambda x, y: optax().squared_error(x, y).mean(), [(6, 5), (6, 5)], 4),
    Case(
        "bce_with_logits",
        lambda x, y: bce_with_logits(x, y.logistic()),
        lambda x, y: optax().sigmoid_binary_cross_entropy(x, jax().nn.sigmoid(y)).mean(),
        [(6, 5), (6, 5)],
        6,
    ),
    Case("tanh", Activation.TANH, lambda x: jax().numpy.tanh(x), [(30, 4)], 4),
    Case("relu", Activation.RELU, lambda x: jax().nn.relu(x), [(30, 4)], 0),
    Case("gelu", Activation.GELU, lambda x: jax().nn.gelu(x, approximate=False), [(30, 4)], 4),
    Case("gelu_tanh", Activation.GELU_TANH, lambda x: jax().nn.gelu(x), [(30, 4)], 6),
    Case("silu", Activation.SILU, lambda x: jax().nn.silu(x), [(30, 4)], 2),
    Case("sigmoid", Activation.SIGMOID, lambda x: jax().nn.sigmoid(x), [(30, 4)], 4),
]


@pytest.mark.parametrize("element", [f32, f64], ids=str)
def test_formulas_and_their_gradients_are_those_of_jax(element: Element) -> None:
    for seed, run in enumerate(foreign(CASES, element, 2)):
        apart = {
            case.name: furthest(case, element, seed, theirs)
            for case, theirs in zip(CASES, run, strict=True)
        }
        assert {
            case.name: apart[case.name] for case in CASES if apart[case.name] > case.units
        } == {}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_formula_computes_on_tensors_what_it_records(case: Case) -> None:
    wanted = recorded(case, f32)[0]
    assert computed(case.ours, case.operands(f32)).tobytes() == wanted.tobytes()
