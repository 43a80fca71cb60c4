"""Matrix products, each element's sum ascending, four by four at a time, and sums of rows."""

from __future__ import annotations

from typing import Final

import numba
import numpy as np

from topos.backend.compiled import OPTIONS
from topos.op import Array

# A panel of the right operand: DEPTH rows of WIDTH elements, which stays in the second-level cache.
WIDTH: Final = 256
DEPTH: Final = 128
# With fewer columns than this the rows make the longer vectors, BLOCK of them at a time; the steps
# of a block must fit the cache too.
NARROW: Final = 64
BLOCK: Final = 64
SHALLOW: Final = 1024


def matmul(left: Array, right: Array, result: Array) -> None:
    """Writes `[batch, m, k] @ [batch, k, n]`, all contiguous and float32 or float64."""
    batch, rows, depth = left.shape
    columns = right.shape[2]
    result.fill(0)
    tall = columns < NARROW and rows > columns and depth <= SHALLOW
    for index in range(batch):
        (accumulate_tall if tall else accumulate)(left[index], right[index], result[index])


@numba.njit(**OPTIONS)
def accumulate(a, b, out):
    """Adds `a @ b` to `out`, which holds +0: for each element k ascends, product then sum.

    Four rows share each load of the panel, and four steps share each load of the sums.
    """
    rows, depth = a.shape
    columns = b.shape[1]
    panel = np.empty(DEPTH * WIDTH, b.dtype)
    sums = np.empty(4 * WIDTH, b.dtype)
    for j0 in range(0, columns, WIDTH):
        width = min(WIDTH, columns - j0)
        for k0 in range(0, depth, DEPTH):
            steps = min(DEPTH, depth - k0)
            for k in range(steps):
                for j in range(width):
                    panel[k * WIDTH + j] = b[k0 + k, j0 + j]
            for i in range(0, rows, 4):
                height = min(4, rows - i)
                for r in range(height):
                    for j in range(width):
                        sums[r * WIDTH + j] = out[i + r, j0 + j]
                add_steps(a, panel, sums, i, k0, height, steps, width)
                for r in range(height):
                    for j in range(width):
                        out[i + r, j0 + j] = sums[r * WIDTH + j]


@numba.njit(**OPTIONS)
def add_steps(a, panel, sums, i, k0, height, steps, width):
    """Adds `steps` products to the sums of `height` rows, of which missing ones repeat the last."""
    i1, i2, i3 = (i + min(1, height - 1), i + min(2, height - 1), i + min(3, height - 1))
    whole = steps - steps % 4
    for k in range(0, whole, 4):
        q = k0 + k
        a00, a01, a02, a03 = a[i, q], a[i, q + 1], a[i, q + 2], a[i, q + 3]
        a10, a11, a12, a13 = a[i1, q], a[i1, q + 1], a[i1, q + 2], a[i1, q + 3]
        a20, a21, a22, a23 = a[i2, q], a[i2, q + 1], a[i2, q + 2], a[i2, q + 3]
        a30, a31, a32, a33 = a[i3, q], a[i3, q + 1], a[i3, q + 2], a[i3, q + 3]
        p = k * WIDTH
        for j in range(width):
            b0, b1 = panel[p + j], panel[p + WIDTH + j]
            b2, b3 = panel[p + 2 * WIDTH + j], panel[p + 3 * WIDTH + j]
            sums[j] = (((sums[j] + a00 * b0) + a01 * b1) + a02 * b2) + a03 * b3
            s = WIDTH + j
            sums[s] = (((sums[s] + a10 * b0) + a11 * b1) + a12 * b2) + a13 * b3
            s = 2 * WIDTH + j
            sums[s] = (((sums[s] + a20 * b0) + a21 * b1) + a22 * b2) + a23 * b3
            s = 3 * WIDTH + j
            sums[s] = (((sums[s] + a30 * b0) + a31 * b1) + a32 * b2) + a33 * b3
    for k in range(whole, steps):
        for r in range(height):
            factor = a[i + r, k0 + k]
            for j in range(width):
                s = r * WIDTH + j
                sums[s] = sums[s] + factor * panel[k * WIDTH + j]


@numba.njit(**OPTIONS)
def accumulate_tall(a, b, out):
    """Writes `a @ b` to `out` with the rows of `a` as vectors: for few columns.

    Four columns share each load of the turned block, and four steps share each load of the sums.
    Lanes past the last row repeat it, and nobody reads them.
    """
    rows, depth = a.shape
    columns = b.shape[1]
    turned = np.zeros(depth * BLOCK, a.dtype)
    sums = np.empty(4 * BLOCK, a.dtype)
    for i0 in range(0, rows, BLOCK):
        height = min(BLOCK, rows - i0)
        turn(a, turned, i0, rows, depth)
        for j in range(0, columns, 4):
            width = min(4, columns - j)
            add_columns(turned, b, sums, j, width)
            for r in range(width):
                for i in range(height):
                    out[i0 + i, j + r] = sums[r * BLOCK + i]


@numba.njit(**OPTIONS)
def turn(a, turned, i0, rows, depth):
    """Writes BLOCK rows of `a` as columns, four by four; past the last row it repeats that one."""
    whole = depth - depth % 4
    for i in range(0, BLOCK, 4):
        for k in range(0, whole, 4):
            for r in range(4):
                row, lane = min(i0 + i + r, rows - 1), k * BLOCK + i + r
                first, second, third, fourth = (
                    a[row, k],
                    a[row, k + 1],
                    a[row, k + 2],
                    a[row, k + 3],
                )
                turned[lane], turned[lane + BLOCK] = first, second
                turned[lane + 2 * BLOCK], turned[lane + 3 * BLOCK] = third, fourth
        for k in range(whole, depth):
            for r in range(4):
                turned[k * BLOCK + i + r] = a[min(i0 + i + r, rows - 1), k]


@numba.njit(**OPTIONS)
def add_columns(turned, b, sums, j, width):
    """Sums the products of a turned block and `width` columns, of which missing ones repeat."""
    depth = b.shape[0]
    j1, j2, j3 = (j + min(1, width - 1), j + min(2, width - 1), j + min(3, width - 1))
    whole = depth - depth % 4
    for lane in range(4 * BLOCK):
        sums[lane] = 0
    for k in range(0, whole, 4):
        b00, b01, b02, b03 = b[k, j], b[k + 1, j], b[k + 2, j], b[k + 3, j]
        b10, b11, b12, b13 = b[k, j1], b[k + 1, j1], b[k + 2, j1], b[k + 3, j1]
        b20, b21, b22, b23 = b[k, j2], b[k + 1, j2], b[k + 2, j2], b[k + 3, j2]
        b30, b31, b32, b33 = b[k, j3], b[k + 1, j3], b[k + 2, j3], b[k + 3, j3]
        p = k * BLOCK
        for i in range(BLOCK):
            a0, a1 = turned[p + i], turned[p + BLOCK + i]
            a2, a3 = turned[p + 2 * BLOCK + i], turned[p + 3 * BLOCK + i]
            sums[i] = (((sums[i] + a0 * b00) + a1 * b01) + a2 * b02) + a3 * b03
            s = BLOCK + i
            sums[s] = (((sums[s] + a0 * b10) + a1 * b11) + a2 * b12) + a3 * b13
            s = 2 * BLOCK + i
            sums[s] = (((sums[s] + a0 * b20) + a1 * b21) + a2 * b22) + a3 * b23
            s = 3 * BLOCK + i
            sums[s] = (((sums[s] + a0 * b30) + a1 * b31) + a2 * b32) + a3 * b33
    for k in range(whole, depth):
        for r in range(width):
            factor = b[k, j + r]
            for i in range(BLOCK):
                s = r * BLOCK + i
                sums[s] = sums[s] + turned[k * BLOCK + i] * factor


@numba.njit(**OPTIONS)
def sum_rows(array: Array) -> Array:
    """Returns the sums of the rows of a contiguous `[rows, terms]`, one term or more."""
    rows, terms = array.shape
    sums = np.empty(rows, array.dtype)
    half = (terms + 1) // 2
    buffer = np.empty(half, array.dtype)
    zero = array.dtype.type(0)
    for row in range(rows):
        count = terms - half
        for place in range(count):
            buffer[place] = array[row, place] + array[row, half + place]
        if count < half:
            buffer[count] = array[row, count]
        remaining = half
        while remaining > 1:
            middle = (remaining + 1) // 2
            for place in range(remaining - middle):
                buffer[place] = buffer[place] + buffer[middle + place]
            remaining = middle
        sums[row] = zero + buffer[0]
    return sums
