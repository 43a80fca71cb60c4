"""Einstein sums: names in any order, diagonals, ellipses, and sums over one side."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import Run, spelled
from topos.errors import VerifyError

EXTENTS = {"a": 2, "b": 3, "c": 4, "d": 5}
CONFIGURATIONS = (
    "ab,bc->ac",
    "ab,cb->ca",
    "abc,dcb->da",
    "abc,abd->bdca",
    "abc,bd->dac",
    "ab,cd->dbca",
    "ab,b->a",
    "ab,c->b",
    "aab,bc->ca",
    "ab,ab->",
    "aa,aa->a",
)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_an_einsum_of_two(run: Run, configuration: str) -> None:
    inputs, result = configuration.split("->")
    random = np.random.default_rng(len(configuration))
    left, right = (
        random.integers(-9, 9, [EXTENTS[name] for name in term]).astype(np.int32)
        for term in inputs.split(",")
    )
    wanted = np.einsum(configuration, left, right)
    type = spelled(np.zeros([EXTENTS[name] for name in result], np.int32))
    types = f"({spelled(left)}, {spelled(right)}) -> {type}"
    body = f'%r = stablehlo.einsum %a, %b, config = "{configuration}" : {types}'
    got = run(body, type, left, right)
    assert got.tobytes() == np.ascontiguousarray(wanted, np.int32).tobytes()


def test_axes_of_an_ellipsis_count_from_the_last_and_broadcast(run: Run) -> None:
    random = np.random.default_rng(8)
    left, right = (
        random.integers(-9, 9, shape).astype(np.int32) for shape in ((2, 3, 4, 5), (1, 5, 6))
    )
    type = "tensor<2x3x4x6xi32>"
    types = f"({spelled(left)}, {spelled(right)}) -> {type}"
    body = f'%r = "stablehlo.einsum"(%a, %b) {{einsum_config = "...ab,...bc->...ac"}} : {types}'
    assert run(body, type, left, right).tobytes() == (left @ right).tobytes()


@pytest.mark.parametrize("configuration", ["ab->ba", "aab->b", "ab->a", "abc->"])
def test_an_einsum_of_one(run: Run, configuration: str) -> None:
    term, result = configuration.split("->")
    shape = [EXTENTS[name] for name in term]
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - np.float32(1)
    wanted = np.einsum(configuration, array)
    type = spelled(np.zeros([EXTENTS[name] for name in result], np.float32))
    body = (
        f'%r = "stablehlo.unary_einsum"(%a) {{einsum_config = "{configuration}"}}'
        f" : ({spelled(array)}) -> {type}"
    )
    assert run(body, type, array).tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_a_sum_over_one_side_rounds_at_every_step(run: Run) -> None:
    array, one = np.array([2.0**24, 1, 1], np.float32), np.ones((), np.float32)
    types = "(tensor<3xf32>, tensor<f32>) -> tensor<f32>"
    body = f'%r = stablehlo.einsum %a, %b, config = "a,->" : {types}'
    assert run(body, "tensor<f32>", array, one) == np.float32(2.0**24)


def test_an_einsum_that_sums_nothing_moves_bits(run: Run) -> None:
    array = np.array([[-0.0, 1.0], [np.nan, 2.0]], np.float32)
    type = spelled(array)
    body = f'%r = "stablehlo.unary_einsum"(%a) {{einsum_config = "ab->ba"}} : ({type}) -> {type}'
    assert run(body, type, array).tobytes() == array.T.tobytes()


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        ("a...,bc->aa", "a result of distinct names"),
        ("abc...,bc->ac", "to name 2 axes"),
        ("...,...->...", "needs one extent of 1, got"),
        ("a...,bc->ad", "that its terms have"),
        ("a...,bc->ca", "results in tensor<5x2xf32>"),
    ],
)
def test_what_does_not_fit_is_refused(run: Run, configuration: str, reason: str) -> None:
    left, right = np.zeros((2, 3), np.float32), np.zeros((3, 5), np.float32)
    types = "(tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>"
    body = f'%r = stablehlo.einsum %a, %b, config = "{configuration}" : {types}'
    with pytest.raises(VerifyError, match=reason):
        run(body, "tensor<2x5xf32>", left, right)


@pytest.mark.parametrize("configuration", ["a...->aa", "...->...", "a...->ba"])
def test_what_does_not_fit_one_operand_is_refused(run: Run, configuration: str) -> None:
    array = np.zeros((2, 3), np.float32)
    body = (
        f'%r = "stablehlo.unary_einsum"(%a) {{einsum_config = "{configuration}"}}'
        " : (tensor<2x3xf32>) -> tensor<2x2xf32>"
    )
    with pytest.raises(VerifyError, match=r"results in|distinct names"):
        run(body, "tensor<2x2xf32>", array)
