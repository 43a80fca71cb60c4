"""Rules of transforms and factorizations: fft, cholesky and triangular_solve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topos.stablehlo.dialect._choices import choice
from topos.stablehlo.dialect._numbers import packed
from topos.stablehlo.dialect._tensors import holding
from topos.stablehlo.elements import COMPLEX, FLOATS
from topos.stablehlo.ir import Tensor
from topos.stablehlo.opview import OpView, Rule
from topos.stablehlo.shapes import (
    Shape,
    bounds_of,
    demand_result,
    extents_agree,
    of_bounds,
    shapes_agree,
)

__all__ = ["RULES"]

_REAL: Final = frozenset({"f32", "f64"})
_CONTINUOUS: Final = FLOATS | COMPLEX
_TRANSFORMS: Final = ("FFT", "IFFT", "RFFT", "IRFFT")
_TRANSPOSES: Final = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")


def _fft(claim: OpView) -> None:
    claim.takes(1)
    kind = choice(claim, "fft_type", "#stablehlo<fft_type", _TRANSFORMS)
    lengths = packed(claim, "fft_length")
    if not 1 <= len(lengths) <= 3:
        claim.refuse(f"needs 1 to 3 numbers as fft_length, got {len(lengths)}")
    # The last length decides how many elements a spectrum of real numbers has.
    operand = holding(claim, claim.operands[0], "operand", _REAL if kind == "RFFT" else COMPLEX)
    if len(operand.shape) < len(lengths):
        claim.refuse(f"needs an operand of rank {len(lengths)} or more, got {operand}")
    if kind == "RFFT":
        _demand_lengths(claim, operand, lengths)
        last = lengths[-1] // 2 + 1 if lengths[-1] else operand.shape[-1]
        _demand_spectrum(claim, operand, f"complex<{operand.element}>", last)
    elif kind == "IRFFT":
        half = lengths[-1] // 2 + 1 if lengths[-1] else 0
        # No length at all may also stand for the one bin that a length of 0 or 1 has.
        if not lengths[-1] and operand.shape[-1] == 1:
            half = 1
        _demand_lengths(claim, operand, (*lengths[:-1], half))
        _demand_spectrum(claim, operand, operand.element[len("complex<") : -1], lengths[-1])
    else:
        demand_result(claim, operand)


def _demand_lengths(claim: OpView, operand: Tensor, lengths: tuple[int, ...]) -> None:
    if not shapes_agree(operand.shape[-len(lengths) :], lengths):
        claim.refuse(f"needs an operand whose last axes are {list(lengths)}, got {operand}")


def _demand_spectrum(claim: OpView, operand: Tensor, element: str, last: int | None) -> None:
    shape: Shape = (*operand.shape[:-1], last)
    bounds = (*bounds_of(operand)[:-1], None)
    demand_result(claim, of_bounds(shape, element, bounds))


def _cholesky(claim: OpView) -> None:
    claim.takes(1)
    operand = holding(claim, claim.operands[0], "operand", _CONTINUOUS)
    claim.truth("lower", False)
    _demand_square(claim, operand)
    demand_result(claim, operand)


def _demand_square(claim: OpView, matrix: Tensor) -> None:
    if len(matrix.shape) < 2 or not extents_agree(*matrix.shape[-2:]):
        claim.refuse(f"needs square matrices in the last two axes, got {matrix}")


def _triangular_solve(claim: OpView) -> None:
    claim.takes(2)
    matrix = holding(claim, claim.operands[0], "a", _CONTINUOUS)
    sides = holding(claim, claim.operands[1], "b", _CONTINUOUS)
    if matrix.element != sides.element:
        claim.refuse(f"needs a and b of one element, got {matrix} and {sides}")
    for key in ("left_side", "lower", "unit_diagonal"):
        claim.attribute(key)
        claim.truth(key, False)
    choice(claim, "transpose_a", "#stablehlo<transpose", _TRANSPOSES)
    _demand_square(claim, matrix)
    if len(matrix.shape) != len(sides.shape):
        claim.refuse(f"needs a and b of one rank, got {matrix} and {sides}")
    shared = sides.shape[-2 if claim.truth("left_side", False) else -1]
    if not extents_agree(matrix.shape[-1], shared):
        claim.refuse(f"needs a and b that share an axis, got {matrix} and {sides}")
    if not shapes_agree(matrix.shape[:-2], sides.shape[:-2]):
        claim.refuse(f"needs a and b of the same batches, got {matrix} and {sides}")
    demand_result(claim, sides)


RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.cholesky": _cholesky,
    "stablehlo.fft": _fft,
    "stablehlo.triangular_solve": _triangular_solve,
}
