"""LAPACK's factorizations and solvers, multiplied out again, and their codes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtimes.interpreter.lapack import LETTERS, TYPES, adjoint, call, close, info, numbers


@pytest.mark.parametrize("code", TYPES)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_potrf_factors_and_tells_where_it_fails(code: str, uplo: str) -> None:
    a = numbers(code, 3, 4, 4)
    stack = np.asarray(a @ adjoint(a) + np.eye(4), code)
    stack[1, 2, 2] = -1
    factor, failed = call(
        f"{LETTERS[code]}potrf", [stack], [stack, info(3)], f"uplo = {ord(uplo)} : ui8"
    )
    assert failed.tolist() == [0, 3, 0]
    half = np.tril(factor) if uplo == "L" else adjoint(np.triu(factor))
    close(half[::2] @ adjoint(half[::2]), stack[::2])
    kept = np.triu(stack, 1) if uplo == "L" else np.tril(stack, -1)
    rest = np.triu(factor, 1) if uplo == "L" else np.tril(factor, -1)
    assert rest[::2].tobytes() == kept[::2].tobytes()


def test_a_matrix_by_rows_is_read_as_lapack_reads_it() -> None:
    # What lies by rows is the transpose to a routine that reads by columns.
    a = np.array([[4.0, 99.0], [2.0, 5.0]])
    lower = f"uplo = {ord('L')} : ui8"
    factor, _ = call("dpotrf", [a.T.copy()], [a, info()], lower, by_rows=True)
    assert factor.tolist() == [[2, 1], [99, 2]]


@pytest.mark.parametrize("code", TYPES)
@pytest.mark.parametrize("shape", [(2, 4, 4), (5, 3), (3, 5), (40, 40), (0, 3)])
def test_getrf_permutes_and_factors(code: str, shape: tuple[int, ...]) -> None:
    a = numbers(code, *shape)
    *batch, m, n = shape
    swaps = np.zeros((*batch, min(m, n)), np.int32)
    factors, pivots, failed = call(f"{LETTERS[code]}getrf", [a], [a, swaps, info(*batch)])
    assert not failed.any()
    for place in np.ndindex(*batch):
        permuted = a[place].copy()
        for row, other in enumerate(pivots[place] - 1):
            permuted[[row, other]] = permuted[[other, row]]
        k = min(m, n)
        low = np.tril(factors[place], -1)[:, :k] + np.eye(m, k)
        close(low @ np.triu(factors[place])[:k], permuted)
        # The largest of a column is its pivot; complex numbers count by the sum of their parts.
        assert np.abs(low).max(initial=0) <= 2**0.5 + 1e-6


def test_getrf_tells_the_first_zero_pivot() -> None:
    a = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 7.0], [3.0, 6.0, 1.0]])
    _, _, failed = call("dgetrf", [a], [a, np.zeros(3, np.int32), info()])
    assert failed == 2


@pytest.mark.parametrize("code", TYPES)
@pytest.mark.parametrize("shape", [(2, 4, 3), (3, 4)])
def test_geqrf_and_orgqr_make_q_and_r(code: str, shape: tuple[int, ...]) -> None:
    a = numbers(code, *shape)
    *batch, m, n = shape
    scales = np.zeros((*batch, min(m, n)), code)
    letter, q_name = LETTERS[code], "ungqr" if code.isupper() else "orgqr"
    factors, scales = call(f"{letter}geqrf", [a], [a, scales])
    vectors = np.ascontiguousarray(factors[..., : min(m, n)])
    (q,) = call(f"{letter}{q_name}", [vectors, scales], [vectors])
    close(q @ np.triu(factors)[..., : min(m, n), :], a)
    close(
        adjoint(q) @ q, np.broadcast_to(np.eye(min(m, n), dtype=code), (*batch, *2 * (min(m, n),)))
    )


@pytest.mark.parametrize("code", TYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_ormqr_multiplies_by_q(code: str, left: bool, transpose: bool) -> None:
    a, c = numbers(code, 3, 3), numbers(code, 3, 3)
    letter, name = LETTERS[code], "un" if code.isupper() else "or"
    vectors, scales = call(f"{letter}geqrf", [a], [a, np.zeros(3, code)])
    (q,) = call(f"{letter}{name}gqr", [vectors, scales], [vectors])
    options = f"left = {str(left).lower()}, transpose = {str(transpose).lower()}"
    (got,) = call(f"{letter}{name}mqr", [vectors, scales, c], [c], options)
    factor = adjoint(q) if transpose else q
    close(got, factor @ c if left else c @ factor)


@pytest.mark.parametrize("code", TYPES)
def test_trsm_solves(code: str) -> None:
    a, b = numbers(code, 2, 3, 3) + 3 * np.eye(3, dtype=code), numbers(code, 2, 3, 2)
    options = ", ".join(
        f"{key} = {ord(value)} : ui8"
        for key, value in (("diag", "N"), ("side", "L"), ("trans_x", "C"), ("uplo", "U"))
    )
    (x,) = call(f"{LETTERS[code]}trsm", [a, b], [b], options)
    close(adjoint(np.triu(a)) @ x, b)


@pytest.mark.parametrize("code", TYPES)
@pytest.mark.parametrize("extent", [1, 2, 6])
def test_gtsv_solves_three_bands(code: str, extent: int) -> None:
    below, diagonal, above = (numbers(code, extent) for _ in range(3))
    sides = numbers(code, extent, 2)
    results = [below, diagonal, above, sides, info()]
    *_, x, failed = call(f"{LETTERS[code]}gtsv", [below, diagonal, above, sides], results)
    full = np.diag(diagonal) + np.diag(below[1:], -1) + np.diag(above[:-1], 1)
    close(full @ x, sides)
    assert failed == 0


def test_gtsv_tells_a_zero_pivot() -> None:
    band, sides = np.zeros(3), np.ones((3, 1))
    *_, failed = call("dgtsv", [band, band, band, sides], [band, band, band, sides, info()])
    assert failed == 1
