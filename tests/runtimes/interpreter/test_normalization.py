"""Batch normalization: the formulas, any axis of features, and one rounding for each step."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.interpreter.conftest import NAMES
from topos.payload.kernels import reduction
from topos.runtimes.interpreter.run import compiled
from topos.stablehlo.types import ELEMENTS

Array = npt.NDArray[Any]

EPSILON = 0.125
# The types of operands and results, where x is the operand's and c that of its features.
TYPES = {
    "training": ("xcc", "xcc"),
    "inference": ("xcccc", "x"),
    "grad": ("xcccx", "xcc"),
}


def normalized(kind: str, feature: int, *arguments: Array, exact: bool = True) -> list[Array]:
    """Returns the results of a batch normalization."""
    element = NAMES[arguments[0].dtype.name]
    shape = arguments[0].shape
    wide = f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"
    spelled = {"x": wide, "c": f"tensor<{shape[feature]}x{element}>"}
    operands, results = ([spelled[letter] for letter in part] for part in TYPES[kind])
    names = [f"%{letter}" for letter in "abcde"[: len(operands)]]
    head = ", ".join(f"{name}: {type}" for name, type in zip(names, operands, strict=True))
    values = ["%r"] if len(results) == 1 else [f"%r#{place}" for place in range(len(results))]
    text = (
        f"func.func @main({head}) -> ({', '.join(results)}) {{\n"
        f'%r:{len(results)} = "stablehlo.batch_norm_{kind}"({", ".join(names)})'
        f" {{epsilon = {EPSILON} : f32, feature_index = {feature} : i64}}"
        f" : ({', '.join(operands)}) -> ({', '.join(results)})\n"
        f"return {', '.join(values)} : {', '.join(results)}\n}}"
    )
    return list(compiled(text, exact)(*arguments))


def arguments(dtype: Any, shape: tuple[int, ...], feature: int) -> list[Array]:
    """Returns an operand, scale, offset, mean, variance and cotangent."""
    numbers = np.random.default_rng(len(shape))
    vector = (shape[feature],)
    drawn = [numbers.standard_normal(each) for each in (shape, *[vector] * 4, shape)]
    drawn[4] **= 2
    return [each.astype(dtype) for each in drawn]


SHAPES = [((6,), 0), ((3, 4), 1), ((4, 3), 0), ((2, 3, 4), 1), ((2, 3, 2, 4), 3)]


@pytest.mark.parametrize(("shape", "feature"), SHAPES)
@pytest.mark.parametrize("exact", [True, False])
def test_training(shape: tuple[int, ...], feature: int, exact: bool) -> None:
    x, scale, offset, *_ = arguments(np.float64, shape, feature)
    rows = np.moveaxis(x, feature, -1).reshape(-1, shape[feature])
    output, mean, variance = normalized("training", feature, x, scale, offset, exact=exact)
    np.testing.assert_allclose(mean, rows.mean(0), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(variance, rows.var(0), rtol=1e-12, atol=1e-15)
    wanted = (rows - rows.mean(0)) / np.sqrt(rows.var(0) + EPSILON) * scale + offset
    got = np.moveaxis(output, feature, -1).reshape(rows.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("shape", "feature"), SHAPES)
def test_inference(shape: tuple[int, ...], feature: int) -> None:
    x, scale, offset, mean, variance, _ = arguments(np.float64, shape, feature)
    (output,) = normalized("inference", feature, x, scale, offset, mean, variance)
    rows = np.moveaxis(x, feature, -1)
    wanted = (rows - mean) * (scale / np.sqrt(variance + EPSILON)) + offset
    np.testing.assert_allclose(np.moveaxis(output, feature, -1), wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("shape", "feature"), SHAPES[1:])
@pytest.mark.parametrize("exact", [True, False])
def test_the_gradient_is_that_of_training(
    shape: tuple[int, ...], feature: int, exact: bool
) -> None:
    x, scale, offset, _, _, cotangent = arguments(np.float64, shape, feature)

    def loss(x: Array, scale: Array, offset: Array) -> float:
        output, _, _ = normalized("training", feature, x, scale, offset)
        return float((output * cotangent).sum())

    _, mean, variance = normalized("training", feature, x, scale, offset)
    got = normalized("grad", feature, x, scale, mean, variance, cotangent, exact=exact)
    step = 1e-5
    for position, gradient in enumerate(got):
        for place in list(np.ndindex(gradient.shape))[:6]:
            ends = []
            for sign in (1, -1):
                moved = [x.copy(), scale.copy(), offset.copy()]
                moved[position][place] += sign * step
                ends.append(loss(*moved))
            slope = (ends[0] - ends[1]) / (2 * step)
            np.testing.assert_allclose(gradient[place], slope, rtol=1e-5, atol=1e-7)


def test_exact_steps_round_one_by_one() -> None:
    x, scale, offset, *_ = arguments(np.float32, (5, 7, 3), 1)
    one = np.float32
    count = one(15)
    mean = reduction.sum(x, (0, 2)) / count
    centered = x - mean[:, None]
    variance = reduction.sum(centered * centered, (0, 2)) / count
    output = centered / np.sqrt(variance + one(EPSILON))[:, None] * scale[:, None]
    output = output + offset[:, None]
    got = normalized("training", 1, x, scale, offset)
    for value, wanted in zip(got, (output, mean, variance), strict=True):
        assert value.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_short_floats(element: str) -> None:
    dtype = ELEMENTS[element]
    narrow = arguments(dtype, (4, 3), 1)
    wide = [each.astype(np.float64) for each in narrow]
    for kind, parts in (("training", (0, 1, 2)), ("grad", (0, 1, 3, 4, 5))):
        wanted = normalized(kind, 1, *(wide[part] for part in parts))
        for exact in (True, False):
            got = normalized(kind, 1, *(narrow[part] for part in parts), exact=exact)
            for value, close in zip(got, wanted, strict=True):
                assert value.dtype == dtype
                tolerance = 0.1 if dtype == ml_dtypes.bfloat16 else 0.02
                np.testing.assert_allclose(
                    value.astype(np.float64), close, rtol=tolerance, atol=tolerance
                )
