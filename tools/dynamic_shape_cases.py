"""Functions that jax exports with symbolic dimensions, and the extents that each is run at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import jax
import numpy as np
import numpy.typing as npt
from jax import lax
from jax import numpy as jnp

__all__ = ["CASES", "TOGETHER", "Case"]

Array = npt.NDArray[Any]


class Case(NamedTuple):
    """A function of arrays whose shapes are written with symbols, and the symbols' extents."""

    function: Callable[..., Any]
    shapes: tuple[str, ...]
    extents: tuple[Mapping[str, int], ...]
    constraints: tuple[str, ...] = ()
    elements: tuple[str, ...] = ()

    def element(self, position: int) -> str:
        """Returns the dtype of an argument, float32 where none is stated."""
        return self.elements[position] if self.elements else "float32"

    def drawn(self, extents: Mapping[str, int]) -> list[Array]:
        """Returns arguments of those extents, the same each time."""
        generator = np.random.default_rng(11)
        arrays: list[Array] = []
        for position, shape in enumerate(self.shapes):
            sizes = [_extent(part, extents) for part in shape.split(",") if part.strip()]
            # Sums of positive terms keep what a unit of precision is worth.
            drawn = np.asarray(generator.random(sizes) * 2 + 0.25)
            arrays.append(drawn.astype(self.element(position)))
        return arrays


def _extent(text: str, extents: Mapping[str, int]) -> int:
    """Returns the value of a dimension such as `2*b + 1`."""
    total = 0
    for term in text.split("+"):
        product = 1
        for factor in term.split("*"):
            product *= extents[factor.strip()] if factor.strip() in extents else int(factor)
        total += product
    return total


def _attention(query: Any, key: Any, value: Any) -> Any:
    scores = jnp.einsum("bqd,bkd->bqk", query, key) / np.sqrt(query.shape[-1])
    return jax.nn.softmax(scores, axis=-1) @ value


def _layer_norm(x: Any, scale: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * scale


def _cell(state: Any, x: Any) -> Any:
    state = jnp.tanh(state + x)
    return state, state * x


def _masked(x: Any) -> Any:
    rows = jnp.arange(x.shape[0])
    return jnp.where(rows[:, None] >= rows[None, :], x[None, :], -1.0)


def _halves(x: Any) -> Any:
    half = x.shape[0] // 2
    return x[:half] + x[half : 2 * half]


def _doubled(x: Any) -> Any:
    return lax.while_loop(
        lambda carried: carried[0] < x.shape[0],
        lambda carried: (carried[0] + 1, carried[1] * 2.0 - x),
        (0, x),
    )


def _loss(weights: Any, x: Any) -> Any:
    return jnp.square(x @ weights).mean()


_B: Final = ({"b": 1}, {"b": 4}, {"b": 7})
_AB: Final = ({"a": 1, "b": 3}, {"a": 4, "b": 4}, {"a": 5, "b": 2})

CASES: Final[Mapping[str, Case]] = {
    "batch matmul": Case(
        lambda x, y: x @ y, ("b, i, 3", "b, 3, 4"), tuple({**each, "i": 2} for each in _B)
    ),
    "reshape with -1": Case(lambda x: x.reshape(x.shape[0], -1), ("a, b, 3",), _AB),
    "concatenation": Case(lambda x, y: jnp.concatenate([x, y, x]), ("a, 2", "b, 2"), _AB),
    "broadcasting": Case(lambda x, y: x[:, None] + y[None, :], ("a", "b"), _AB),
    "softmax": Case(lambda x: jax.nn.softmax(x, axis=-1), ("a, b",), _AB),
    "attention": Case(_attention, ("2, a, 4", "2, b, 4", "2, b, 3"), _AB),
    "convolution": Case(
        lambda x, w: lax.conv_general_dilated(x, w, (2, 1), "SAME"),
        ("b, 2, h, 5", "3, 2, 3, 3"),
        ({"b": 1, "h": 3}, {"b": 2, "h": 4}, {"b": 3, "h": 7}),
    ),
    "take": Case(
        lambda x, at: jnp.take(x, at, axis=0), ("a, 2", "b"), _AB, (), ("float32", "int32")
    ),
    "scan": Case(lambda x: lax.scan(_cell, jnp.zeros(3), x), ("b, 3",), _B),
    "while loop": Case(_doubled, ("b",), _B),
    "sort": Case(lambda x: jnp.sort(x, axis=0), ("b, 2",), _B),
    "argmax": Case(lambda x: jnp.argmax(x, axis=1), ("a, b",), _AB),
    "cumulative sum": Case(lambda x: jnp.cumsum(x, axis=0), ("b, 2",), _B),
    "padding": Case(lambda x: jnp.pad(x, ((1, x.shape[0]), (0, 2))), ("b, 2",), _B),
    "dynamic slice": Case(
        lambda x, at: lax.dynamic_slice(x, (at, 0), (x.shape[0] - 1, 2)),
        ("b, 3", ""),
        ({"b": 2}, {"b": 4}, {"b": 7}),
        ("b>=2",),
        ("float32", "int32"),
    ),
    "arange": Case(lambda x: x * jnp.arange(x.shape[0]), ("b",), _B),
    "2*b + 1": Case(lambda x: x[::2].sum() + x.shape[0], ("2*b + 1",), _B),
    "b // 2": Case(_halves, ("b",), ({"b": 2}, {"b": 5}, {"b": 8}), ("b>=2",)),
    "b % 3": Case(lambda x: x[: x.shape[0] % 3], ("b",), _B),
    "a <= b": Case(
        lambda x, y: x[: y.shape[0]] * y,
        ("b", "a"),
        ({"a": 1, "b": 2}, {"a": 3, "b": 3}, {"a": 2, "b": 6}),
        ("b>=2", "a<=b"),
    ),
    "mask": Case(_masked, ("b",), _B),
    "einsum": Case(lambda x, y: jnp.einsum("abi,ib->a", x, y), ("a, b, 3", "3, b"), _AB),
    "layer norm": Case(_layer_norm, ("a, b", "b"), _AB),
    "gradient": Case(jax.grad(_loss), ("3, 2", "b, 3"), _B),
    "top k": Case(
        lambda x: lax.top_k(x, 2),
        ("a, b",),
        ({"a": 1, "b": 3}, {"a": 4, "b": 4}, {"a": 2, "b": 2}),
        ("b>=2",),
    ),
    "split": Case(lambda x: jnp.split(x, 2), ("2*b, 2",), _B),
}


def _everything(*arrays: Any) -> Any:
    left = iter(arrays)
    return [case.function(*(next(left) for _ in case.shapes)) for case in CASES.values()]


TOGETHER: Final = Case(
    _everything,
    tuple([shape for case in CASES.values() for shape in case.shapes]),
    tuple({"a": a, "b": b, "h": h, "i": 2} for a, b, h in ((1, 2, 3), (3, 3, 4), (2, 5, 7))),
    ("b>=2", "a<=b"),
    tuple([case.element(at) for case in CASES.values() for at in range(len(case.shapes))]),
)
"""All functions as one, whose export and compilation take less time than theirs together."""
