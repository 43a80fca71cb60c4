"""Programs of jax, flax and optax that the judge is tried on, exported with their arguments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import flax.linen as nn
import jax
import numpy as np
import numpy.typing as npt
import optax
from jax import export, lax
from jax import numpy as jnp
from jax import random as jrandom
from jax.scipy import special

Array = npt.NDArray[Any]
F32: Final = np.float32


class Case(NamedTuple):
    """A function, and the arguments that it is exported for and run on."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def exported(self) -> tuple[str, list[Array]]:
        """Returns the text of the module and the arguments of its @main."""
        structures = jax.tree.map(
            lambda value: jax.ShapeDtypeStruct(np.shape(value), jnp.asarray(value).dtype),
            self.arguments,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = export.export(jax.jit(self.function), platforms=["cpu"])(*structures)
        leaves = jax.tree.leaves(self.arguments)
        kept = [np.asarray(jnp.asarray(leaves[place])) for place in made.module_kept_var_idx]
        return made.mlir_module(), kept


def normal(*shape: int, seed: int = 0) -> Array:
    """Returns normal numbers of a shape, the same each time."""
    return np.random.default_rng(seed + len(shape)).standard_normal(shape).astype(F32)


class Perceptron(nn.Module):
    """Three dense layers."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        for width in (16, 16):
            x = nn.relu(nn.Dense(width)(x))
        return nn.Dense(4)(x)


class Convolutions(nn.Module):
    """A convolution, both poolings, and a dense layer."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = nn.relu(nn.Conv(4, (3, 3))(x))
        x = nn.avg_pool(nn.max_pool(x, (2, 2), (2, 2)), (2, 2), (2, 2))
        return nn.Dense(3)(x.reshape(x.shape[0], -1))


class Normalized(nn.Module):
    """A bias before a batch norm, whose true gradient is zero."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = nn.BatchNorm(use_running_average=False)(nn.Conv(4, (3, 3))(x))
        return nn.relu(x).mean((1, 2))


class Attention(nn.Module):
    """A block of a transformer."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(y, y)
        return x + nn.Dense(8)(nn.gelu(nn.Dense(16)(nn.LayerNorm()(x))))


def networks() -> Iterator[Case]:
    """Yields networks, their gradients, and steps of optimizers."""
    inputs = {"mlp": normal(8, 12), "cnn": normal(2, 8, 8, 1), "attention": normal(2, 5, 8)}
    networks = {"mlp": Perceptron(), "cnn": Convolutions(), "attention": Attention()}
    for name, network in networks.items():
        x = inputs[name]
        weights = network.init(jrandom.PRNGKey(0), x)

        def loss(weights: Any, x: Any, network: nn.Module = network) -> Any:
            return jnp.mean(jnp.sin(jnp.asarray(network.apply(weights, x))) ** 2)

        yield Case(name, network.apply, (weights, x))
        yield Case(f"{name}_gradient", jax.grad(loss), (weights, x))
        if name == "mlp":
            yield from _steps(loss, weights, x)
    yield from _normalized(inputs["cnn"])


def _steps(loss: Callable[..., Any], weights: Any, x: Array) -> Iterator[Case]:
    for name in ("adam", "adamw", "adagrad", "lamb", "lion", "rmsprop", "sgd"):
        optimizer = getattr(optax, name)(1e-2)

        def step(weights: Any, state: Any, x: Any, optimizer: Any = optimizer) -> tuple[Any, Any]:
            updates, state = optimizer.update(jax.grad(loss)(weights, x), state, weights)
            return optax.apply_updates(weights, updates), state

        yield Case(name, step, (weights, optimizer.init(weights), x))


def _normalized(x: Array) -> Iterator[Case]:
    network = Normalized()
    variables = network.init(jrandom.PRNGKey(2), x)

    def trained(variables: Any, x: Any) -> Any:
        return network.apply(variables, x, mutable=["batch_stats"])

    def loss(weights: Any, statistics: Any, x: Any) -> Any:
        return jnp.sum(trained({"params": weights, "batch_stats": statistics}, x)[0] ** 2)

    yield Case("batch_norm", trained, (variables, x))
    parts = (variables["params"], variables["batch_stats"])
    yield Case("batch_norm_gradient", jax.grad(loss), (*parts, x))


def _lstm(x: Any, weights: Any, recurrent: Any) -> Any:
    def cell(state: Any, x: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(x @ weights + h @ recurrent, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((x.shape[1], recurrent.shape[0]), x.dtype)
    return lax.scan(cell, (zero, zero), x)


def _lorenz(state: Any) -> Any:
    def slope(s: Any) -> Any:
        return jnp.stack(
            [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]
        )

    def step(s: Any, _: None) -> Any:
        h = F32(0.01)
        first = slope(s)
        second = slope(s + h / 2 * first)
        third = slope(s + h / 2 * second)
        s = s + h / 6 * (first + 2 * second + 2 * third + slope(s + h * third))
        return s, s

    return lax.scan(step, state, None, length=100)


def _newton(x: Any) -> Any:
    return lax.while_loop(
        lambda pair: jnp.abs(pair[0] ** 2 - pair[1]) > 1e-5,
        lambda pair: ((pair[0] + pair[1] / pair[0]) / 2, pair[1]),
        (x, x),
    )


def loops() -> Iterator[Case]:
    """Yields loops and branches."""
    lstm = (normal(7, 3, 5), normal(5, 24), normal(6, 24))
    yield Case("lstm", _lstm, lstm)
    yield Case(
        "lstm_gradient",
        jax.grad(lambda weights, x, recurrent: jnp.sum(_lstm(x, weights, recurrent)[1])),
        (lstm[1], lstm[0], lstm[2]),
    )
    yield Case("lorenz", _lorenz, (normal(3),))
    yield Case("newton", _newton, (F32(7.3),))
    yield Case("cond", lambda x: lax.cond(jnp.sum(x) > 0, jnp.sin, jnp.cos, x), (normal(9),))
    branches = [jnp.sin, jnp.cos, jnp.tan]
    yield Case("switch", lambda i, x: lax.switch(i, branches, x), (np.int32(2), normal(9)))
    yield Case("cumulative", lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 0)), (normal(20, 3),))
    yield Case(
        "hessian", jax.hessian(lambda x: jnp.sum(jnp.exp(jnp.sin(x)) * x[::-1])), (normal(6),)
    )
    yield Case("jacobian", jax.jacfwd(lambda x: jnp.tanh(x) @ jnp.outer(x, x)), (normal(6),))


def _standardized(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def maps() -> Iterator[Case]:
    """Yields elementwise functions and what is made of them."""
    for name in ("sin", "cos", "tan", "exp", "expm1", "log1p", "tanh", "arctan", "sinh", "cbrt"):
        yield Case(name, getattr(jnp, name), (normal(64) * 3,))
    size = np.abs(normal(32))
    yield Case("erf", special.erf, (normal(64),))
    for name in ("gammaln", "digamma", "i0e"):
        yield Case(name, getattr(special, name), (size,))
    yield Case("erfinv", special.erfinv, (size / 4,))
    yield Case("betainc", special.betainc, (size, size + 1, np.clip(size / 4, 0, 1)))
    yield Case("softmax", jax.nn.softmax, (normal(6, 9) * 5,))
    yield Case("log_sum_exp", jax.nn.logsumexp, (normal(6, 9) * 5,))
    yield Case("variance", lambda x: jnp.var(x, 0), (normal(50, 3) + 100,))
    yield Case("moments", lambda x: (x.mean(), x.std()), (normal(1000),))
    yield Case("huber", optax.huber_loss, (normal(20), normal(20, seed=4)))
    cross = optax.softmax_cross_entropy_with_integer_labels
    yield Case("cross_entropy", cross, (normal(8, 10) * 4, np.arange(8)))
    bf16 = jnp.bfloat16
    moments = (normal(30).astype(bf16), normal(30, seed=5).astype(bf16))
    yield Case("bf16_moment", lambda m, g: m * bf16(0.9) + g * bf16(0.1), moments)
    layers = (normal(6, 16).astype(bf16), normal(16, 8).astype(bf16))
    yield Case("bf16_layer", lambda x, w: jax.nn.gelu(x @ w), layers)
    half = normal(6, 16).astype(np.float16)
    yield Case("f16_norm", _standardized, (half,))
    yield Case(
        "f64_polynomial", lambda x: jnp.polyval(jnp.arange(8.0), x), (np.linspace(-2, 2, 40),)
    )
    yield Case("complex", lambda x: jnp.abs(jnp.exp(1j * x) * x + jnp.sqrt(x + 0j)), (normal(20),))


def moves() -> Iterator[Case]:
    """Yields what sorts, picks, slides and draws."""
    table, places = normal(10, 4), np.array([1, 9, 3, 3])
    yield Case("sort", lambda x: (jnp.sort(x), jnp.argsort(x)), (normal(5, 17),))
    yield Case("top_k", lambda x: lax.top_k(x, 3), (normal(5, 17),))
    yield Case("argmax", lambda x: jnp.argmax(x @ x.T, 1), (normal(9, 17),))
    yield Case("median", lambda x: jnp.median(x, 0), (normal(11, 4),))
    yield Case("gather", lambda x, i: x[i], (table, places))
    yield Case(
        "scatter", lambda x, i, u: (x.at[i].add(u), x.at[i].max(u)), (table, places, normal(4, 4))
    )
    yield Case("embedding", jax.grad(lambda t, i: jnp.sum(jnp.tanh(t[i]) ** 2)), (table, places))
    yield Case("convolve", jnp.convolve, (normal(40), normal(7, seed=3)))
    yield Case(
        "transposed",
        lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"),
        (normal(1, 5, 5, 2), normal(3, 3, 2, 3)),
    )
    yield Case("resize", lambda x: jax.image.resize(x, (7, 9), "bicubic"), (normal(4, 5),))
    yield Case("interpolate", jnp.interp, (normal(20), np.sort(normal(10)), normal(10)))
    yield Case("histogram", lambda x: jnp.histogram(x, bins=5)[0], (normal(40),))
    distances = lambda x, c: ((x[:, None] - c[None]) ** 2).sum(-1)  # noqa: E731  # Used twice.
    yield Case(
        "nearest", lambda x, c: jnp.argmin(distances(x, c), 1), (normal(30, 3), normal(4, 3))
    )
    yield Case("pairs", lambda x: jnp.sqrt(jnp.maximum(distances(x, x), 1e-12)), (normal(12, 3),))
    yield Case(
        "einsum", lambda a, b: jnp.einsum("bij,bkj->bik", a, b), (normal(3, 4, 5), normal(3, 6, 5))
    )
    key = jrandom.PRNGKey(5)
    yield Case("normal", lambda key: jrandom.normal(key, (64,)), (key,))
    yield Case("gamma", jrandom.gamma, (key, np.abs(normal(8)) + 1))
    yield Case("permutation", lambda key: jrandom.permutation(key, 20), (key,))
    yield Case("categorical", jrandom.categorical, (key, normal(6, 9)))
    yield Case("poisson", lambda key: jrandom.poisson(key, 5.0, (8,)), (key,))


def algebra() -> Iterator[Case]:
    """Yields linear algebra and transforms."""
    square = normal(6, 6)
    yield Case("qr", jnp.linalg.qr, (normal(6, 4),))
    yield Case(
        "cholesky", lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(6, dtype=F32)), (square,)
    )
    yield Case("solve", jnp.linalg.solve, (square, normal(6, 2)))
    yield Case("eigenvalues", lambda x: jnp.linalg.eigvalsh(x + x.T), (square,))
    yield Case("singular", lambda x: jnp.linalg.svd(x, compute_uv=False), (normal(6, 4),))
    yield Case("determinant", jnp.linalg.det, (square,))
    yield Case("inverse", jnp.linalg.inv, (square,))
    yield Case("expm", jax.scipy.linalg.expm, (normal(4, 4),))
    yield Case("fft", jnp.fft.fft, (normal(4, 32),))
    yield Case("rfft", lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), (normal(4, 32),))


def cases() -> Iterator[Case]:
    """Yields every case."""
    for family in (networks, loops, maps, moves, algebra):
        yield from family()
