"""LAPACK's singular values, eigenvalues and reductions, multiplied out again."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.runtimes.interpreter.lapack import LETTERS, TYPES, adjoint, call, close, info, numbers


@pytest.fixture(params=["scipy", "numpy"])
def linear_algebra(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test with scipy and without it."""
    if request.param == "scipy":
        pytest.importorskip("scipy.linalg")
    else:
        monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    return str(request.param)


@pytest.mark.parametrize("code", TYPES)
@pytest.mark.parametrize("name", ["gesdd", "gesvd"])
@pytest.mark.parametrize("mode", ["A", "S", "N"])
def test_singular_values_and_vectors(linear_algebra: str, code: str, name: str, mode: str) -> None:
    a = numbers(code, 2, 4, 3)
    real = code.lower()
    columns = 3 if mode == "S" else 4
    values, left = np.zeros((2, 3), real), np.zeros((2, 4, columns), code)
    results = [a, values, left, np.zeros((2, 3, 3), code), info(2)]
    options = f"mode = {ord(mode)} : ui8"
    _, s, u, v, failed = call(f"{LETTERS[code]}{name}", [a], results, options)
    assert not failed.any()
    close(s, np.sqrt(np.linalg.eigvalsh(adjoint(a) @ a)[:, ::-1]).astype(real))
    if mode != "N":
        close(u[:, :, :3] * s[:, None, :] @ v, a)


@pytest.mark.parametrize("code", TYPES)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigenvalues_of_hermitian_matrices(linear_algebra: str, code: str, uplo: str) -> None:
    a = numbers(code, 2, 3, 3)
    whole = np.asarray(a + adjoint(a))
    read = np.tril(whole) if uplo == "L" else np.triu(whole)
    name = "heevd" if code.isupper() else "syevd"
    options = f"mode = {ord('V')} : ui8, uplo = {ord(uplo)} : ui8"
    results = [a, np.zeros((2, 3), code.lower()), info(2)]
    vectors, values, failed = call(f"{LETTERS[code]}{name}", [read], results, options)
    assert not failed.any()
    assert (np.diff(values) >= 0).all()
    close(whole @ vectors, (vectors * values[:, None, :]).astype(code))


@pytest.mark.parametrize("code", TYPES)
def test_eigenvalues_of_any_matrix(linear_algebra: str, code: str) -> None:
    a = numbers(code, 2, 4, 4)
    vectors, real = np.zeros((2, 4, 4), code.upper()), np.zeros((2, 4), code.lower())
    parts = [real.astype(code)] if code.isupper() else [real, real]
    options = f"compute_left = {ord('N')} : ui8, compute_right = {ord('V')} : ui8"
    *found, _, right, failed = call(
        f"{LETTERS[code]}geev", [a], [*parts, vectors, vectors, info(2)], options
    )
    assert not failed.any()
    values = found[0] if code.isupper() else found[0] + 1j * found[1]
    close(a @ right, right * values[:, None, :])


def test_left_eigenvectors() -> None:
    pytest.importorskip("scipy.linalg")
    a = numbers("D", 3, 3)
    options = f"compute_left = {ord('V')} : ui8, compute_right = {ord('N')} : ui8"
    values, left, _, _ = call("zgeev", [a], [a[0], a, a, info()], options)
    close(adjoint(left) @ a, values[:, None] * adjoint(left))


def test_spectra_of_what_is_not_a_number_are_none(linear_algebra: str) -> None:
    a = np.full((2, 2), np.nan)
    options = f"mode = {ord('S')} : ui8"
    _, s, u, _, failed = call("dgesdd", [a], [a, a[0], a, a, info()], options)
    assert failed > 0
    assert np.isnan(s).all()
    assert np.isnan(u).all()
    options = f"mode = {ord('V')} : ui8, uplo = {ord('L')} : ui8"
    _, values, failed = call("dsyevd", [a], [a, a[0], info()], options)
    assert failed > 0
    assert np.isnan(values).all()
    options = f"compute_left = {ord('N')} : ui8, compute_right = {ord('N')} : ui8"
    complex_a = a.astype(np.complex128)
    real, *_, failed = call("dgeev", [a], [a[0], a[0], complex_a, complex_a, info()], options)
    assert failed > 0
    assert np.isnan(real).all()


@pytest.mark.parametrize("code", TYPES)
def test_gees_makes_a_triangle(code: str) -> None:
    pytest.importorskip("scipy.linalg")
    a = numbers(code, 4, 4)
    parts = [a[0]] if code.isupper() else [a[0], a[0]]
    options = f"mode = {ord('V')} : ui8, sort = {ord('N')} : ui8"
    triangle, basis, *_, failed = call(
        f"{LETTERS[code]}gees", [a], [a, a, *parts, info(), info()], options
    )
    assert failed == 0
    close(basis @ triangle @ adjoint(basis), a)
    assert not np.tril(triangle, -1 if code.isupper() else -2).any()


@pytest.mark.parametrize("code", TYPES)
def test_gehrd_and_sytrd_keep_the_eigenvalues(code: str) -> None:
    pytest.importorskip("scipy.linalg")
    a = numbers(code, 4, 4)
    letter, real = LETTERS[code], code.lower()
    reduced, _, _ = call(
        f"{letter}gehrd", [a], [a, a[0, :3], info()], "high = 4 : i32, low = 1 : i32"
    )
    close(
        np.trace(np.linalg.matrix_power(np.triu(reduced, -1), 3))[None], np.trace(a @ a @ a)[None]
    )
    whole = np.asarray(a + adjoint(a))
    name, options = "hetrd" if code.isupper() else "sytrd", f"uplo = {ord('L')} : ui8"
    results = [a, np.zeros(4, real), np.zeros(3, real), a[0, :3], info()]
    _, diagonal, beside, _, _ = call(f"{letter}{name}", [whole], results, options)
    bands = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    close(np.linalg.eigvalsh(bands), np.linalg.eigvalsh(whole).astype(real))


@pytest.mark.parametrize("code", TYPES)
def test_geqp3_takes_the_longest_columns_first(code: str) -> None:
    pytest.importorskip("scipy.linalg")
    a = numbers(code, 4, 3) * np.array([1, 9, 3], code)
    factors, pivots, scales = call(
        f"{LETTERS[code]}geqp3", [a, np.zeros(3, np.int32)], [a, np.zeros(3, np.int32), a[0]]
    )
    assert pivots[0] == 2
    name = "ungqr" if code.isupper() else "orgqr"
    (q,) = call(f"{LETTERS[code]}{name}", [factors, scales], [factors])
    close(q @ np.triu(factors)[:3], a[:, pivots - 1])
