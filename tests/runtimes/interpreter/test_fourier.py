"""Fourier transforms against sums over all frequencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest

from topos.errors import UnsupportedError
from topos.runtimes.interpreter.kernels.linear_algebra import transformed
from topos.runtimes.interpreter.run import compiled

Array = npt.NDArray[Any]
Run = Callable[..., Array]

RNG = np.random.default_rng(11)


def waves(extent: int, sign: int) -> Array:
    """Returns the matrix that a transform of `extent` elements multiplies by."""
    steps = np.arange(extent)
    return np.asarray(np.exp(sign * 2j * np.pi * np.outer(steps, steps) / extent))


def numbers(*shape: int) -> Array:
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


@pytest.mark.parametrize("extent", [1, 2, 5, 8])
def test_a_transform_sums_over_all_frequencies(run: Run, extent: int) -> None:
    x = numbers(3, extent)
    type = f"tensor<3x{extent}xcomplex<f64>>"
    forward = run(
        f"%r = stablehlo.fft %a, type = FFT, length = [{extent}] : ({type}) -> {type}", type, x
    )
    np.testing.assert_allclose(forward, x @ waves(extent, -1), atol=1e-12)
    back = run(
        f"%r = stablehlo.fft %a, type = IFFT, length = [{extent}] : ({type}) -> {type}", type, x
    )
    np.testing.assert_allclose(back, x @ waves(extent, 1) / extent, atol=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_transform_is_a_sum_in_the_stated_order(sign: int) -> None:
    x, y = RNG.standard_normal((2, 6))
    with gmpy2.context(precision=200):
        turns = [2 * gmpy2.const_pi() * k / 6 for k in range(6)]
        w = [(float(gmpy2.cos(turn)), sign * float(gmpy2.sin(turn))) for turn in turns]
    w[3] = (-1.0, 0.0)

    def times(power: int, number: tuple[float, float]) -> tuple[float, float]:
        (c, d), (a, b) = w[power % 6], number
        return a * c - b * d, a * d + b * c

    def plus(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
        return left[0] + right[0], left[1] + right[1]

    # 6 = 2 * 3: two transforms of length 3, of the even and of the odd elements.
    inner = [
        [
            plus(
                plus((x[r], y[r]), times(2 * j, (x[2 + r], y[2 + r]))),
                times(4 * j, (x[4 + r], y[4 + r])),
            )
            for j in range(3)
        ]
        for r in range(2)
    ]
    wanted = [plus(inner[0][j % 3], times(j, inner[1][j % 3])) for j in range(6)]
    real, imaginary = transformed((x, y), 0, sign)
    assert list(zip(real.tolist(), imaginary.tolist(), strict=True)) == wanted


def test_several_lengths_transform_the_last_axes(run: Run) -> None:
    x = numbers(2, 3, 4, 5)
    type = "tensor<2x3x4x5xcomplex<f64>>"
    got = run(
        f"%r = stablehlo.fft %a, type = FFT, length = [3, 4, 5] : ({type}) -> {type}", type, x
    )
    wanted = np.einsum("bijk,il,jm,kn->blmn", x, waves(3, -1), waves(4, -1), waves(5, -1))
    np.testing.assert_allclose(got, wanted, atol=1e-12)


@pytest.mark.parametrize("extent", [4, 5])
def test_real_numbers_have_half_a_spectrum(run: Run, extent: int) -> None:
    x = RNG.standard_normal((2, extent))
    half = extent // 2 + 1
    real, spectrum = f"tensor<2x{extent}xf64>", f"tensor<2x{half}xcomplex<f64>>"
    got = run(
        f"%r = stablehlo.fft %a, type = RFFT, length = [{extent}] : ({real}) -> {spectrum}",
        spectrum,
        x,
    )
    np.testing.assert_allclose(got, (x @ waves(extent, -1))[:, :half], atol=1e-12)
    back = run(
        f"%r = stablehlo.fft %a, type = IRFFT, length = [{extent}] : ({spectrum}) -> {real}",
        real,
        got,
    )
    np.testing.assert_allclose(back, x, atol=1e-12)


def test_narrow_elements_are_transformed_wide_and_rounded_once(run: Run) -> None:
    x = numbers(2, 1000).astype(np.complex64)
    type = "tensor<2x1000xcomplex<f32>>"
    got = run(f"%r = stablehlo.fft %a, type = FFT, length = [1000] : ({type}) -> {type}", type, x)
    wanted = np.fft.fft(x.astype(np.complex128)).astype(np.complex64)
    assert got.tobytes() == wanted.tobytes()


def test_the_fast_posture_keeps_narrow_elements() -> None:
    x = numbers(2, 1000).astype(np.complex64)
    type = "tensor<2x1000xcomplex<f32>>"
    text = (
        f"func.func @main(%a: {type}) -> {type} {{\n"
        f"%r = stablehlo.fft %a, type = FFT, length = [1000] : ({type}) -> {type}\n"
        f"return %r : {type}\n}}"
    )
    (got,) = compiled(text, exact=False)(x)
    assert got.tobytes() == np.fft.fft(x).tobytes()


def test_a_transform_of_nothing_is_nothing(run: Run) -> None:
    for shape, length, bins in (((0, 4), 4, (0, 3)), ((2, 0), 0, (2, 0))):
        real = f"tensor<{shape[0]}x{shape[1]}xf32>"
        spectrum = f"tensor<{bins[0]}x{bins[1]}xcomplex<f32>>"
        got = run(
            f"%r = stablehlo.fft %a, type = RFFT, length = [{length}] : ({real}) -> {spectrum}",
            spectrum,
            np.zeros(shape, np.float32),
        )
        assert got.shape == bins
        assert got.dtype == np.complex64


def test_lengths_are_those_of_the_axes(run: Run) -> None:
    type = "tensor<4xcomplex<f32>>"
    with pytest.raises(UnsupportedError, match=r"needs \[4\] as fft_length, got \[3\]"):
        run(
            f"%r = stablehlo.fft %a, type = FFT, length = [3] : ({type}) -> {type}",
            type,
            np.zeros(4, np.complex64),
        )
