"""Transforms and factorizations: fft, cholesky and triangular_solve."""

from __future__ import annotations

from typing import Final

from topos.stablehlo.definition import Definition, Operand, define
from topos.stablehlo.dialect._demands import holding
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.opview import OpView
from topos.stablehlo.rounding import OfOperands, Transform
from topos.stablehlo.shapes import bounds_of, extents_agree, of_bounds, shapes_agree
from topos.stablehlo.typed_attributes import Axes, Choice, Truth
from topos.stablehlo.types import COMPLEX, FLOATS, component

_REAL: Final = frozenset({"f32", "f64"})
_CONTINUOUS: Final = FLOATS | COMPLEX
# Backward stable: as good as exact for matrices a rounding of their largest element away.
_BACKWARD: Final = OfOperands(units=2, of_largest=0.5)


@define("stablehlo.fft")
class Fft(Definition):
    """The discrete Fourier transform of `operand` along its last axes, of `fft_length`."""

    operand = Operand()
    fft_type = Choice("#stablehlo<fft_type", ("FFT", "IFFT", "RFFT", "IRFFT"))
    fft_length = Axes(strict=True)
    assembly = "$operand, type = $fft_type, length = $fft_length : functional-type"
    rounding = Transform("fft_length")

    def infer(self) -> tuple[Type, ...]:
        """Returns the operand's type; real numbers have a spectrum of half the last length."""
        kind, lengths = self.fft_type, self.fft_length
        if not 1 <= len(lengths) <= 3:
            self.refuse(f"needs 1 to 3 numbers as fft_length, got {len(lengths)}")
        elements = _REAL if kind == "RFFT" else COMPLEX
        operand = holding(self, self.operand, "operand", elements)
        if len(operand.shape) < len(lengths):
            self.refuse(f"needs an operand of rank {len(lengths)} or more, got {operand}")
        if kind == "RFFT":
            self._demand_lengths(operand, lengths)
            last = lengths[-1] // 2 + 1 if lengths[-1] else operand.shape[-1]
            return (_spectrum(operand, f"complex<{operand.element}>", last),)
        if kind == "IRFFT":
            half = lengths[-1] // 2 + 1 if lengths[-1] else 0
            # No length at all may also stand for the one bin that a length of 0 or 1 has.
            if not lengths[-1] and operand.shape[-1] == 1:
                half = 1
            self._demand_lengths(operand, (*lengths[:-1], half))
            return (_spectrum(operand, component(operand.element), lengths[-1]),)
        return (operand,)

    def _demand_lengths(self, operand: Tensor, lengths: tuple[int, ...]) -> None:
        if not shapes_agree(operand.shape[-len(lengths) :], lengths):
            self.refuse(f"needs an operand whose last axes are {list(lengths)}, got {operand}")


def _spectrum(operand: Tensor, element: str, last: int | None) -> Tensor:
    bounds = (*bounds_of(operand)[:-1], None)
    return of_bounds((*operand.shape[:-1], last), element, bounds)


@define("stablehlo.cholesky")
class Cholesky(Definition):
    """The Cholesky factor of the matrices in the last two axes of `operand`."""

    operand = Operand(elements=_CONTINUOUS)
    lower = Truth()
    assembly = "$operand, lower = $lower? : same-type"
    rounding = _BACKWARD

    def infer(self) -> tuple[Type, ...]:
        _demand_square(self, self.operand)
        return (self.operand,)


@define("stablehlo.triangular_solve")
class TriangularSolve(Definition):
    """The x of `a x = b`, or of `x a = b`, for triangular matrices `a`."""

    a = Operand(elements=_CONTINUOUS)
    b = Operand(elements=_CONTINUOUS)
    left_side = Truth(default=None)
    lower = Truth(default=None)
    unit_diagonal = Truth(default=None)
    transpose_a = Choice("#stablehlo<transpose", ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))
    rounding = _BACKWARD

    def infer(self) -> tuple[Type, ...]:
        matrix, sides = self.a, self.b
        if matrix.element != sides.element:
            self.refuse(f"needs a and b of one element, got {matrix} and {sides}")
        _ = self.left_side, self.lower, self.unit_diagonal, self.transpose_a
        _demand_square(self, matrix)
        if len(matrix.shape) != len(sides.shape):
            self.refuse(f"needs a and b of one rank, got {matrix} and {sides}")
        shared = sides.shape[-2 if self.left_side else -1]
        if not extents_agree(matrix.shape[-1], shared):
            self.refuse(f"needs a and b that share an axis, got {matrix} and {sides}")
        if not shapes_agree(matrix.shape[:-2], sides.shape[:-2]):
            self.refuse(f"needs a and b of the same batches, got {matrix} and {sides}")
        return (sides,)


def _demand_square(view: OpView, matrix: Tensor) -> None:
    if len(matrix.shape) < 2 or not extents_agree(*matrix.shape[-2:]):
        view.refuse(f"needs square matrices in the last two axes, got {matrix}")
