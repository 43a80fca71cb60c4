"""Functions of linear algebra that jax lowers, with matrices to try them on.

What a decomposition leaves free, a sign or a phase, is not returned: the function itself multiplies
the factors and returns the product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsp
import numpy as np
import numpy.typing as npt
from jax.lax import linalg as lax
from jax.numpy import linalg

__all__ = ["CASES", "Case"]

Array = npt.NDArray[Any]
Function = Callable[..., Any]

SIZE: Final = 5
REAL: Final = ("float32", "float64")
ALL: Final = (*REAL, "complex64", "complex128")


class Case(NamedTuple):
    """A function on matrices that `draw` makes, in each of `elements`."""

    function: Function
    draw: Callable[[np.random.Generator, np.dtype[Any]], Sequence[Array]]
    elements: tuple[str, ...] = ("float32", "float64", "complex64")


def _normal(generator: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    if dtype.kind == "c":
        parts = generator.standard_normal((2, *shape))
        return np.asarray(parts[0] + 1j * parts[1], dtype)
    return np.asarray(generator.standard_normal(shape), dtype)


def _matrix(*shape: int) -> Any:
    return lambda generator, dtype: [_normal(generator, dtype, shape)]


def _regular(*batch: int) -> Any:
    """Returns square matrices far from a singular one, with eigenvalues far apart."""
    scale = np.diag(np.arange(1.0, SIZE + 1)) * 4

    def draw(generator: np.random.Generator, dtype: np.dtype[Any]) -> Sequence[Array]:
        noise = _normal(generator, dtype, (*batch, SIZE, SIZE))
        return [np.asarray(scale + noise, dtype)]

    return draw


def _hermitian(*batch: int) -> Any:
    def draw(generator: np.random.Generator, dtype: np.dtype[Any]) -> Sequence[Array]:
        (matrix,) = _regular(*batch)(generator, dtype)
        return [np.asarray(matrix + np.conj(np.swapaxes(matrix, -1, -2)) + 8 * np.eye(SIZE), dtype)]

    return draw


def _with_right_side(draw: Any, *shape: int) -> Any:
    return lambda generator, dtype: [
        *draw(generator, dtype),
        _normal(generator, dtype, shape or (SIZE, 2)),
    ]


def _diagonals(generator: np.random.Generator, dtype: np.dtype[Any]) -> Sequence[Array]:
    lower, upper = _normal(generator, dtype, (2, SIZE))
    lower[0], upper[-1] = 0, 0
    middle = np.asarray(8 + _normal(generator, dtype, (SIZE,)), dtype)
    return [lower, middle, upper, _normal(generator, dtype, (SIZE, 2))]


def _adjoint(matrix: Any) -> Any:
    return jnp.conj(matrix).mT


def _svd(x: Any, **options: Any) -> Any:
    left, values, right = linalg.svd(x, full_matrices=False, **options)
    return (left * values[..., None, :]) @ right, values


def _full_svd(x: Any) -> Any:
    left, values, right = linalg.svd(x)
    count = values.shape[-1]
    return (left[..., :count] * values[..., None, :]) @ right[..., :count, :], left @ _adjoint(left)


def _qr(x: Any, mode: str = "reduced") -> Any:
    unitary, triangle = linalg.qr(x, mode=mode)
    return unitary @ triangle, _adjoint(unitary) @ unitary, jnp.abs(triangle)


def _pivoted_qr(x: Any) -> Any:
    unitary, triangle, pivots = jsp.qr(x, mode="economic", pivoting=True)
    return unitary @ triangle, pivots


def _eigh(x: Any) -> Any:
    values, vectors = linalg.eigh(x)
    return values, (vectors * values[..., None, :]) @ _adjoint(vectors)


def _eig(x: Any) -> Any:
    values, vectors = linalg.eig(x)
    order = jnp.argsort(values.real, axis=-1)
    return jnp.take_along_axis(values, order, -1), x @ vectors - vectors * values[..., None, :] + 1


def _lu(x: Any) -> Any:
    permutation, lower, upper = jsp.lu(x)
    return permutation, lower, upper, permutation @ lower @ upper


def _schur(x: Any) -> Any:
    triangle, unitary = jsp.schur(x)
    return unitary @ triangle @ _adjoint(unitary), _adjoint(unitary) @ unitary


def _hessenberg(x: Any) -> Any:
    reduced, unitary = jsp.hessenberg(x, calc_q=True)
    return unitary @ reduced @ _adjoint(unitary), reduced


def _tridiagonal(x: Any) -> Any:
    _, diagonal, off, _ = lax.tridiagonal(x)
    return diagonal, jnp.abs(off)


def _lstsq(x: Any, y: Any) -> Any:
    return linalg.lstsq(x, y)[0]


def _householder(x: Any) -> Any:
    unitary, triangle = lax.qr(x, full_matrices=False)
    return lax.householder_product(x, jnp.zeros(x.shape[-1], x.dtype)), unitary @ triangle


def _least_squares_by_qr(x: Any, y: Any) -> Any:
    unitary, triangle = linalg.qr(x)
    return jsp.solve_triangular(triangle, _adjoint(unitary) @ y)


def _lapack_svd(x: Any) -> Any:
    left, values, right = lax.svd(x, full_matrices=False, algorithm=lax.SvdAlgorithm.QR)
    return (left * values[..., None, :]) @ right


def _multiplied(x: Any, y: Any) -> Any:
    return jsp.qr_multiply(x, y, mode="left")[0] if x.ndim == 2 else y


BATCH: Final = (2, 3)
SQUARE: Final = _regular()
SOLVED: Final = _with_right_side(SQUARE)
CASES: Final[dict[str, Case]] = {
    "inv": Case(linalg.inv, SQUARE, ALL),
    "inv, batched": Case(linalg.inv, _regular(*BATCH)),
    "det": Case(linalg.det, SQUARE, ALL),
    "det, batched": Case(linalg.det, _regular(*BATCH)),
    "slogdet": Case(lambda x: tuple(linalg.slogdet(x)), SQUARE),
    "solve": Case(linalg.solve, SOLVED, ALL),
    "solve, batched": Case(linalg.solve, _with_right_side(_regular(3), 3, SIZE, 2)),
    "scipy solve, positive": Case(lambda x, y: jsp.solve(x, y, assume_a="pos"),
                                  _with_right_side(_hermitian())),
    "cholesky": Case(linalg.cholesky, _hermitian(), ALL),
    "cholesky, batched": Case(linalg.cholesky, _hermitian(*BATCH)),
    "cholesky, upper": Case(lambda x: linalg.cholesky(x, upper=True), _hermitian()),
    "cho_factor, cho_solve": Case(lambda x, y: jsp.cho_solve(jsp.cho_factor(x), y),
                                  _with_right_side(_hermitian())),
    "qr": Case(_qr, _matrix(6, 4), ALL),
    "qr, batched": Case(_qr, _matrix(2, 6, 4)),
    "qr, complete": Case(lambda x: _qr(x, "complete"), _matrix(6, 4)),
    "qr, wide": Case(_qr, _matrix(4, 6)),
    "qr, pivoted": Case(_pivoted_qr, SQUARE, REAL),
    "qr_multiply": Case(_multiplied, _with_right_side(SQUARE, SIZE, SIZE), REAL),
    "householder_product": Case(_householder, _matrix(6, 4)),
    "least squares by qr": Case(_least_squares_by_qr, _with_right_side(_matrix(6, 4), 6, 2)),
    "svd": Case(_svd, _matrix(6, 4), ALL),
    "svd, batched": Case(_svd, _matrix(2, 6, 4)),
    "svd, full": Case(_full_svd, _matrix(6, 4)),
    "svd, wide": Case(_svd, _matrix(4, 6)),
    "svd, by qr": Case(_lapack_svd, _matrix(6, 4)),
    "svdvals": Case(linalg.svdvals, _matrix(6, 4)),
    "pinv": Case(linalg.pinv, _matrix(6, 4)),
    "matrix_rank": Case(linalg.matrix_rank, _matrix(6, 4)),
    "cond": Case(linalg.cond, SQUARE),
    "norm, nuclear": Case(lambda x: linalg.norm(x, "nuc"), _matrix(6, 4)),
    "norm, spectral": Case(lambda x: linalg.norm(x, 2), _matrix(6, 4)),
    "lstsq": Case(_lstsq, _with_right_side(_matrix(6, 4), 6, 2), REAL),
    "eigh": Case(_eigh, _hermitian(), ALL),
    "eigh, batched": Case(_eigh, _hermitian(*BATCH)),
    "eigvalsh": Case(linalg.eigvalsh, _hermitian()),
    "eig": Case(_eig, SQUARE, ALL),
    "eig, batched": Case(_eig, _regular(*BATCH)),
    "eigvals": Case(lambda x: jnp.sort(linalg.eigvals(x).real), SQUARE),
    "eigh_tridiagonal": Case(
        lambda x, y: jsp.eigh_tridiagonal(x[0], y[0, 1:], eigvals_only=True),
        _with_right_side(SQUARE, SIZE, SIZE), REAL,
    ),
    "lu": Case(_lu, SQUARE, ALL),
    "lax lu, batched": Case(lambda x: tuple(lax.lu(x)), _regular(*BATCH)),
    "lu_factor, lu_solve": Case(lambda x, y: jsp.lu_solve(jsp.lu_factor(x), y), SOLVED),
    "schur": Case(_schur, SQUARE, ALL),
    "hessenberg": Case(_hessenberg, SQUARE),
    "tridiagonal": Case(_tridiagonal, _hermitian()),
    "tridiagonal_solve": Case(lax.tridiagonal_solve, _diagonals),
    "expm": Case(lambda x: jsp.expm(x / 16), SQUARE),
    "expm_frechet": Case(lambda x, y: jsp.expm_frechet(x / 16, y / 16, compute_expm=False),
                         _with_right_side(SQUARE, SIZE, SIZE), REAL),
    "sqrtm": Case(jsp.sqrtm, SQUARE, REAL),
    "polar": Case(lambda x: tuple(jsp.polar(x, method="svd")), _matrix(6, 4), REAL),
    "matrix_power": Case(lambda x: linalg.matrix_power(x / 8, -3), SQUARE),
    "tensorsolve": Case(lambda x, y: linalg.tensorsolve(x, y[:, 0]), SOLVED),
    "tensorinv": Case(lambda x: linalg.tensorinv(x, ind=1), SQUARE),
    "triangular_solve, lower": Case(
        lambda x, y: lax.triangular_solve(x, y, left_side=True, lower=True), SOLVED, ALL),
    "triangular_solve, right, upper": Case(
        lambda x, y: lax.triangular_solve(x, y.T), SOLVED),
    "triangular_solve, adjoint": Case(
        lambda x, y: lax.triangular_solve(
            x, y, left_side=True, transpose_a=True, conjugate_a=True), SOLVED),
    "triangular_solve, unit": Case(
        lambda x, y: lax.triangular_solve(
            x / 16, y, left_side=True, lower=True, unit_diagonal=True), SOLVED),
    "triangular_solve, batched": Case(
        lambda x, y: lax.triangular_solve(x, y, left_side=True, lower=True),
        _with_right_side(_regular(3), 3, SIZE, 2)),
    "solve_triangular, transposed": Case(
        lambda x, y: jsp.solve_triangular(x, y, trans=1), SOLVED),
    "gradient of inv": Case(jax.grad(lambda x: jnp.sum(linalg.inv(x) ** 2)), SQUARE, REAL),
    "gradient of cholesky": Case(
        jax.grad(lambda x: jnp.sum(linalg.cholesky(x) ** 2)), _hermitian(), REAL),
    "gradient of eigvalsh": Case(
        jax.grad(lambda x: jnp.sum(linalg.eigvalsh(x) ** 2)), _hermitian(), REAL),
    "gradient of slogdet": Case(jax.grad(lambda x: linalg.slogdet(x)[1]), SQUARE, REAL),
    "cholesky_update": Case(
        lambda x, y: lax.cholesky_update(linalg.cholesky(x).T, y[:, 0]),
        _with_right_side(_hermitian()), REAL),
    "symmetric_product": Case(
        lambda x: lax.symmetric_product(x, jnp.zeros((6, 6), x.dtype), symmetrize_output=True),
        _matrix(6, 4), REAL),
}  # fmt: skip
"""The functions by name."""
