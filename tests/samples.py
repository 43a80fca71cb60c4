"""One sample an operation: operands, the vocabulary's spelling, and jax's spelling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from tests.sample import Sample, indices, mask, numbers
from topos.compiler import DIFFERENTIABLE, Direction, Element, MapOperation, Operation
from topos.graph.composite import concat
from topos.op import (
    Add,
    Broadcast,
    BroadcastAlong,
    Compare,
    Concatenate,
    Convert,
    Div,
    Fold,
    Gather,
    Input,
    Leaf,
    LogSoftmax,
    LogSumExp,
    Map,
    MatMul,
    MaxAlong,
    Maximum,
    Minimum,
    Mul,
    Narrow,
    Neg,
    Pad,
    Parameter,
    Permute,
    Power,
    Reshape,
    Scatter,
    Select,
    Step,
    Sub,
    Sum,
    SumAlong,
    Transpose,
    Unfold,
)
from topos.payload import bf16, bool_, f16, f32, f64, i32, i64

Array = npt.NDArray[Any]
FLOATS = DIFFERENTIABLE
NUMBERS = (*FLOATS, i64, i32)
ANY = (*NUMBERS, bool_)


def _jnp() -> Any:
    import jax.numpy

    return jax.numpy


def _binary(
    name: str, operation: type[Operation], elements: tuple[Element, ...], ours: Any, theirs: Any
) -> Sample:
    draws = numbers(3, 4), numbers(3, 4, low=0.5, high=2.5, seed=1)
    return Sample(name, operation, elements, draws, ours, theirs)


def _maps() -> Iterator[Sample]:
    positive = {MapOperation.LN, MapOperation.SQRT, MapOperation.RSQRT, MapOperation.LOG1P}
    for function in MapOperation:
        draw = numbers(4, 5, low=0.1, high=3.0) if function in positive else numbers(4, 5)
        yield Sample(
            f"map_{function.value}",
            Map,
            FLOATS,
            (draw,),
            lambda x, function=function: getattr(x, function.value)(),
            lambda x, function=function: _jax_map(function)(x),
        )


def _jax_map(function: MapOperation) -> Any:
    import jax

    others = {
        MapOperation.LN: jax.numpy.log,
        MapOperation.RSQRT: jax.lax.rsqrt,
        MapOperation.LOGISTIC: jax.lax.logistic,
        MapOperation.ERF: jax.lax.erf,
    }
    return others.get(function) or getattr(jax.numpy, function.value)


def _comparisons() -> Iterator[Sample]:
    draws = numbers(3, 4), numbers(3, 4, seed=2)
    for direction in Direction:
        name = direction.name.lower()
        yield Sample(
            f"compare_{name}",
            Compare,
            ANY,
            draws,
            lambda x, y, name=name: getattr(x, name)(y),
            lambda x, y, name=name: getattr(_jnp(), name)(x, y),
        )


def _converts() -> Iterator[Sample]:
    for target in (f64, f32, f16, bf16, i64, i32, bool_):
        yield Sample(
            f"convert_to_{target}",
            Convert,
            ANY,
            (numbers(3, 4),),
            lambda x, target=target: x.convert(target),
            lambda x, target=target: x.astype(target.dtype),
        )


def _windows(x: Any, size: int, step: int) -> Any:
    jnp = _jnp()
    count = (x.shape[1] - size) // step + 1
    return jnp.stack([x[:, j : j + (count - 1) * step + 1 : step] for j in range(size)], axis=-1)


def _unwindows(x: Any, step: int, extent: int) -> Any:
    jnp = _jnp()
    out = jnp.zeros((x.shape[0], extent), x.dtype)
    for j in range(x.shape[-1]):
        out = out.at[:, j : j + (x.shape[1] - 1) * step + 1 : step].add(x[..., j])
    return out


SAMPLES: tuple[Sample, ...] = (
    Sample("parameter", Parameter, FLOATS, (numbers(2, 3),), lambda x: x, lambda x: x),
    Sample(
        "input",
        Input,
        ANY,
        (numbers(2, 3)._replace(is_data=True), numbers(2, 3, seed=4, low=-1.7)),
        lambda x, y: y.maximum(x),
        lambda x, y: _jnp().maximum(y, x),
    ),
    Sample(
        "leaf",
        Leaf,
        NUMBERS,
        (numbers(2, 3),),
        lambda x: x * 3.0 if x.element.differentiable else x * 3,
        lambda x: x * 3,
    ),
    _binary("add", Add, NUMBERS, lambda x, y: x + y, lambda x, y: x + y),
    _binary("sub", Sub, NUMBERS, lambda x, y: x - y, lambda x, y: x - y),
    _binary("mul", Mul, NUMBERS, lambda x, y: x * y, lambda x, y: x * y),
    _binary("div", Div, FLOATS, lambda x, y: x / y, lambda x, y: x / y),
    Sample("neg", Neg, NUMBERS, (numbers(3, 4),), lambda x: -x, lambda x: -x),
    _binary("maximum", Maximum, ANY, lambda x, y: x.maximum(y), lambda x, y: _jnp().maximum(x, y)),
    _binary("minimum", Minimum, ANY, lambda x, y: x.minimum(y), lambda x, y: _jnp().minimum(x, y)),
    _binary("step", Step, NUMBERS, lambda x, y: x.step(y), lambda x, y: (x >= y).astype(x.dtype)),
    Sample(
        "power",
        Power,
        FLOATS,
        (numbers(3, 4, low=0.3, high=2.0), numbers(3, 4, seed=1)),
        lambda x, y: x**y,
        lambda x, y: x**y,
    ),
    *_maps(),
    *_comparisons(),
    Sample(
        "select",
        Select,
        ANY,
        (mask(1, 0, 0, 1, 1, 0, shape=(2, 3)), numbers(2, 3), numbers(2, 3, seed=3)),
        lambda c, x, y: c.select(x, y),
        lambda c, x, y: _jnp().where(c, x, y),
    ),
    *_converts(),
    Sample(
        "matmul",
        MatMul,
        NUMBERS,
        (numbers(3, 5, low=0.25), numbers(5, 4, low=0.25, seed=1)),
        lambda x, y: x @ y,
        lambda x, y: _jnp().matmul(x, y, precision="highest"),
    ),
    Sample(
        "matmul_batched",
        MatMul,
        FLOATS,
        (numbers(2, 3, 4, low=0.25), numbers(2, 4, 2, low=0.25, seed=1)),
        lambda x, y: x @ y,
        lambda x, y: _jnp().matmul(x, y, precision="highest"),
    ),
    Sample("sum", Sum, NUMBERS, (numbers(3, 7, low=0.25),), lambda x: x.sum(), lambda x: x.sum()),
    Sample(
        "broadcast",
        Broadcast,
        ANY,
        (numbers(),),
        lambda x: x.broadcast((2, 3)),
        lambda x: _jnp().broadcast_to(x, (2, 3)),
    ),
    Sample(
        "sum_along",
        SumAlong,
        NUMBERS,
        (numbers(3, 5, 2, low=0.25),),
        lambda x: x.sum((0, 2)),
        lambda x: x.sum((0, 2)),
    ),
    Sample(
        "broadcast_along",
        BroadcastAlong,
        ANY,
        (numbers(3, 2),),
        lambda x: x.broadcast_along((0, 2), (4, 5)),
        lambda x: _jnp().broadcast_to(x[None, :, None, :], (4, 3, 5, 2)),
    ),
    Sample(
        "max_along",
        MaxAlong,
        ANY,
        (numbers(3, 5, 2),),
        lambda x: x.max((1, 2)),
        lambda x: x.max((1, 2)),
    ),
    Sample(
        "reshape",
        Reshape,
        ANY,
        (numbers(3, 4),),
        lambda x: x.reshape((2, 6)),
        lambda x: x.reshape((2, 6)),
    ),
    Sample(
        "permute",
        Permute,
        ANY,
        (numbers(2, 3, 4),),
        lambda x: x.permute((2, 0, 1)),
        lambda x: x.transpose((2, 0, 1)),
    ),
    Sample(
        "transpose",
        Transpose,
        ANY,
        (numbers(2, 3, 4),),
        lambda x: x.transpose(),
        lambda x: x.swapaxes(-1, -2),
    ),
    Sample(
        "narrow",
        Narrow,
        ANY,
        (numbers(4, 6),),
        lambda x: x.narrow(1, 2, 3),
        lambda x: x[:, 2:5],
    ),
    Sample(
        "pad",
        Pad,
        ANY,
        (numbers(2, 3),),
        lambda x: x.pad((1, 0), (2, 1)),
        lambda x: _jnp().pad(x, ((1, 2), (0, 1))),
    ),
    Sample(
        "concatenate",
        Concatenate,
        ANY,
        (numbers(2, 3), numbers(2, 1, seed=1), numbers(2, 2, seed=2)),
        lambda *x: concat(x, 1),
        lambda *x: _jnp().concatenate(x, 1),
    ),
    Sample(
        "unfold",
        Unfold,
        ANY,
        (numbers(2, 7),),
        lambda x: x.unfold(1, 3, 2),
        lambda x: _windows(x, 3, 2),
    ),
    Sample(
        "fold",
        Fold,
        NUMBERS,
        (numbers(2, 4, 3),),
        lambda x: x.fold(1, 2, 10),
        lambda x: _unwindows(x, 2, 10),
    ),
    Sample(
        "gather",
        Gather,
        ANY,
        (numbers(3, 5, 2), indices(4, 0, 9, -3, 2, 2, shape=(2, 3))),
        lambda x, i: x.gather(i, 1),
        lambda x, i: _jnp().take(x, _jnp().clip(i, 0, 4), axis=1),
    ),
    Sample(
        "scatter",
        Scatter,
        NUMBERS,
        (numbers(3, 2, 2), indices(3, 0, 3, 7, shape=(2, 2))),
        lambda x, i: x.reshape((3, 2, 2)).scatter(i, 1, 4),
        lambda x, i: _jnp().zeros((3, 4), x.dtype).at[:, _jnp().clip(i, 0, 3)].add(x),
    ),
    Sample(
        "log_softmax",
        LogSoftmax,
        FLOATS,
        (numbers(3, 6, low=-4, high=4),),
        lambda x: x.log_softmax(1),
        lambda x: _log_softmax(x, 1),
    ),
    Sample(
        "log_sum_exp",
        LogSumExp,
        FLOATS,
        (numbers(3, 6, low=-4, high=4),),
        lambda x: x.log_sum_exp(0),
        lambda x: _log_sum_exp(x, 0),
    ),
)


def _log_softmax(x: Any, axis: int) -> Any:
    import jax

    return jax.nn.log_softmax(x, axis)


def _log_sum_exp(x: Any, axis: int) -> Any:
    import jax

    return jax.nn.logsumexp(x, axis)


CASES = tuple((sample, element) for sample in SAMPLES for element in sample.elements)
"""Every sample with every element it takes."""


def title(case: object) -> str:
    """Returns what pytest calls a sample, an element or a case."""
    if isinstance(case, Sample):
        return case.name
    return str(case)
