"""The product equals the plain triple loop, in every element and layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.backend import twins
from topos.payload.kernels import canonical, product

Array = npt.NDArray[Any]
Draw = Callable[..., Array]
Layouts = Callable[[Array], list[Array]]
Same = Callable[[Any, Any], bool]

SHAPES = [
    ((), 2, 3, 4),
    ((), 8, 8, 8),
    ((), 0, 3, 4),
    ((), 3, 0, 4),
    ((), 3, 4, 0),
    ((0,), 2, 3, 2),
    ((), 1, 70, 1),
    ((), 1, 5, 40),
    ((), 37, 3, 2),
    ((30,), 2, 3, 3),
    ((2, 1, 3), 3, 5, 4),
    ((2,), 13, 4, 11),
]


def by_definition(left: Array, right: Array, compute: Any) -> Array:
    """Returns the product by three loops over scalars; `compute` is the format of the sums."""
    *batch, rows, depth = left.shape
    columns = right.shape[-1]
    result = np.empty((*batch, rows, columns), left.dtype)
    with np.errstate(all="ignore"):
        for index in np.ndindex(*batch):
            for i, j in np.ndindex(rows, columns):
                total = compute(0)
                for k in range(depth):
                    total = total + compute(left[*index, i, k]) * compute(right[*index, k, j])
                result[*index, i, j] = np.nan if total != total else total
    return result


def compute_format(dtype: np.dtype[Any]) -> Any:
    return np.float32 if dtype.itemsize == 2 else dtype.type


@pytest.mark.parametrize(("batch", "rows", "depth", "columns"), SHAPES)
@pytest.mark.parametrize("tame", [True, False])
def test_product_is_the_triple_loop(
    batch: tuple[int, ...],
    rows: int,
    depth: int,
    columns: int,
    tame: bool,
    floating: np.dtype[Any],
    draw: Draw,
    layouts: Layouts,
    same: Same,
) -> None:
    left = draw(floating, (*batch, rows, depth), 1, tame=tame)
    right = draw(floating, (*batch, depth, columns), 2, tame=tame)
    expected = by_definition(left, right, compute_format(floating))
    for first, second in zip(layouts(left), reversed(layouts(right)), strict=True):
        assert same(product.matmul(first, second), expected)


def by_rows(left: Array, right: Array) -> Array:
    """Returns the product of matrices as one update of all elements for each k."""
    total = np.zeros((left.shape[0], right.shape[1]), left.dtype)
    for k in range(left.shape[1]):
        for i in range(left.shape[0]):
            total[i] = total[i] + left[i, k] * right[k]
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(300, 7, 530), (5000, 5, 17), (17, 5, 5000), (130, 90, 129), (1, 3, 70_001), (70_001, 3, 1)],
)
def test_tiles_have_the_bits_of_the_whole(
    rows: int, depth: int, columns: int, dtype: Any, draw: Draw, same: Same
) -> None:
    left = draw(dtype, (rows, depth), 3, tame=True)
    right = draw(dtype, (depth, columns), 4, tame=True)
    if rows > columns:
        expected = np.ascontiguousarray(by_rows(right.T, left.T).T)
    else:
        expected = by_rows(left, right)
    assert same(product.matmul(left, right), expected)


def test_long_contraction_adds_in_order(draw: Draw, same: Same) -> None:
    # More products than one chunk of running sums holds.
    left = draw(np.float32, (2, 17_000), 5, tame=True)
    right = draw(np.float32, (17_000, 2), 6, tame=True)
    assert same(product.matmul(left, right), by_definition(left, right, np.float32))


@pytest.mark.parametrize("extents", [(300, 4, 9, 9), (3, 200, 3, 200), (3, 200, 3, 2)])
def test_batch_is_the_plain_product_of_each_slice(
    extents: tuple[int, int, int, int], floating: np.dtype[Any], draw: Draw, same: Same
) -> None:
    batch, rows, depth, columns = extents
    left = draw(floating, (batch, rows, depth), 7, tame=True)
    right = draw(floating, (batch, depth, columns), 8, tame=True)
    slices = [product.matmul(first, second) for first, second in zip(left, right, strict=True)]
    assert same(product.matmul(left, right), np.stack(slices))


def test_broadcast_operands_have_the_bits_of_their_copies(
    floating: np.dtype[Any], draw: Draw, same: Same
) -> None:
    left = np.broadcast_to(draw(floating, (1, 5, 3), 1, tame=True), (4, 5, 3))
    right = np.broadcast_to(draw(floating, (4, 1, 6), 2, tame=True), (4, 3, 6))
    expected = product.matmul(left.copy(), right.copy())
    assert same(product.matmul(left, right), expected)


def test_sum_starts_at_positive_zero(floating: np.dtype[Any], same: Same) -> None:
    zeros = np.zeros((2, 3), floating)
    assert same(product.matmul(-zeros, zeros.T), np.zeros((2, 2), floating))
    # More sums than one tile holds.
    rows, columns = np.zeros((700, 1), floating), np.zeros((1, 300), floating)
    assert same(product.matmul(-rows, columns), np.zeros((700, 300), floating))


def test_multiplication_is_not_fused(same: Same) -> None:
    # Fused, the second product would keep the 2**-46 that its own rounding drops.
    left = np.array([[-1.0, 1 + 2.0**-23]], np.float32)
    right = np.array([[1 + 2.0**-22], [1 + 2.0**-23]], np.float32)
    assert same(product.matmul(left, right), np.zeros((1, 1), np.float32))


@pytest.mark.parametrize(("batch", "rows", "depth", "columns"), SHAPES)
def test_integer_products_wrap(
    batch: tuple[int, ...],
    rows: int,
    depth: int,
    columns: int,
    integral: np.dtype[Any],
    draw: Draw,
    layouts: Layouts,
    same: Same,
) -> None:
    left, right = (
        draw(integral, (*batch, rows, depth), 1),
        draw(integral, (*batch, depth, columns), 2),
    )
    exact = np.matmul(left.astype(object), right.astype(object)) if depth else 0
    half = 1 << (8 * integral.itemsize - 1)
    wrapped = (np.asarray(exact, object) + half) % (2 * half) - half
    expected = np.broadcast_to(wrapped, (*batch, rows, columns)).astype(integral)
    for first, second in zip(layouts(left), reversed(layouts(right)), strict=True):
        assert same(product.matmul(first, second), expected)


def test_nan_of_a_product_is_canonical(floating: np.dtype[Any], same: Same) -> None:
    left = np.array([[np.inf, 1.0]], floating)
    right = np.array([[0.0], [1.0]], floating)
    result = product.matmul(left, right)
    assert result.view(f"u{floating.itemsize}")[0, 0] == canonical.LAYOUTS[floating].quiet


@pytest.mark.parametrize("turn", [lambda array: array, lambda array: np.array(array.T).T])
def test_large_operands_are_taken_in_parts(turn: Callable[[Array], Array]) -> None:
    pytest.importorskip("numba")
    random = np.random.default_rng(1)
    small, large = (random.standard_normal(shape, np.float32) for shape in [(2, 5), (5, 1_800_000)])
    wanted = np.zeros((2, 1_800_000), np.float32)
    for k in range(5):
        wanted += small[:, k, None] * large[k]
    assert len(product.cuts(large, -1)) == 2
    for matmul in (product.matmul, twins.matmul):
        assert matmul(small, turn(large)).tobytes() == wanted.tobytes()
        assert matmul(turn(large).T, small.T).tobytes() == wanted.T.tobytes()
