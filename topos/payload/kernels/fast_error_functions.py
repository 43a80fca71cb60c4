"""The error function, its complement and its inverse by polynomials: kernels of Fast plans.

They take arrays of float32 or float64 and compute in their dtype. Where the result is a normal
number they are within the units of `UNITS`; NaN, zeros and infinities are where the exact
functions have them. Each polynomial is in a variable that runs from -1 to 1 over its interval;
`tools/fast_error_functions.py` derives the coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from topos.payload.kernels.canonical import Array

SCALE: Final = 2.5
ERF_LAST: Final = 6.0
"""From here on erf rounds to 1."""
ERFC_LAST: Final = 28.0
"""From here on erfc rounds to 0."""

# The intervals of the squares below 1; of k / (k + x) from 1 to where erf or erfc ends; of
# w = -ln(1 - x * x) where it is small; and of its square root up to the last number below 1.
ENDS: Final[Mapping[str, tuple[float, float]]] = {
    "NEAR": (0.0, 1.0),
    "FAR": (SCALE / (SCALE + ERF_LAST), SCALE / (SCALE + 1.0)),
    "COMPLEMENT": (SCALE / (SCALE + ERFC_LAST), SCALE / (SCALE + 1.0)),
    "CENTRAL": (0.0, 6.25),
    "TAIL": (2.5, 6.125),
}
POLYNOMIALS: Final[Mapping[str, Mapping[str, tuple[float, ...]]]] = {
    "float32": {
        "NEAR": (
            0.9654687386698673,
            -0.14053609727754268,
            0.019852497140907616,
            -0.0022854195448728494,
            0.00021751354165582579,
            -1.7669068026125697e-05,
            1.2306054785446075e-06,
        ),
        "FAR": (
            0.42433030245412673,
            0.13652391354328233,
            0.03235956070443071,
            0.005108886611252474,
            0.0003488887388133186,
            -4.446870162196339e-05,
            -1.0087254054355588e-05,
        ),
        "COMPLEMENT": (
            0.3630130590837398,
            0.1618710855919494,
            0.05707706414316669,
            0.014712012558035097,
            0.002165344020097474,
            -9.929982638842889e-05,
            -0.00011764199200326258,
            -1.0718104139008706e-05,
            5.17061353239012e-06,
            9.312471585902002e-07,
        ),
        "CENTRAL": (
            1.6536545626831027,
            0.7504943165896903,
            -0.05892268704116413,
            -0.022604330704176504,
            0.017810764524196013,
            -0.004138654380318734,
            -0.0012852012034917715,
            0.0012388417689727284,
            -0.00023331155477565292,
            -0.0001309571901688794,
            6.202754514703566e-05,
        ),
        "TAIL": (
            4.155349704936058,
            1.8307345780858204,
            0.0019829094501770564,
            -0.0033186634416746165,
            0.002084856846086225,
            -0.00110750948987011,
            0.0006493371611641693,
            -0.0005306635031526285,
            0.0004602736336060679,
            -0.00039436827682388817,
            0.0005121270415467985,
            -0.0004958252057614968,
            7.862426926343196e-05,
            0.00019292955720072926,
            -9.199503071276815e-05,
        ),
    },
    "float64": {
        "NEAR": (
            0.9654687386698673,
            -0.1405360890227171,
            0.019852496688983708,
            -0.0022854855611441132,
            0.00021751715604159932,
            -1.7537169441124866e-05,
            1.223382738359897e-06,
            -7.511569286591727e-08,
            4.115800583208149e-09,
            -2.035228405815769e-10,
            9.167619596865806e-12,
            -3.8078824063194953e-13,
            1.4543887079465116e-14,
        ),
        "FAR": (
            0.42433030245412673,
            0.13652386633492283,
            0.03235953244843192,
            0.0051092653772446825,
            0.0003491155779771803,
            -4.5232889123489755e-05,
            -1.0545701735023805e-05,
            4.4969527236163877e-07,
            2.7117832324253473e-07,
            -1.1050884221499812e-08,
            -7.594512677341701e-09,
            6.144537882203452e-10,
            2.1187457947581163e-10,
            -3.522448009636281e-11,
            -4.515575288889922e-12,
            1.4882214690733044e-12,
            9.761715419558776e-15,
        ),
        "COMPLEMENT": (
            0.3630130597085048,
            0.16187108574184017,
            0.057077032853116695,
            0.014712005052202293,
            0.002165596521544561,
            -9.923930464913051e-05,
            -0.00011836271718856008,
            -1.0890533472022161e-05,
            6.030495490430697e-06,
            1.1360265846769293e-06,
            -3.92401339395353e-07,
            -9.195421261079226e-08,
            3.403289505169868e-08,
            6.642575801629333e-09,
            -3.543254745050564e-09,
            -3.405592688165178e-10,
            3.6740506364304584e-10,
            -5.833048303348661e-12,
            -2.6401890738530512e-11,
            2.880968766111467e-12,
        ),
        "CENTRAL": (
            1.6536545626831027,
            0.7504943200799635,
            -0.05892256710377784,
            -0.022604447453449802,
            0.017808361818295655,
            -0.00413731437741443,
            -0.0012716922684373015,
            0.0012324855686812834,
            -0.0002643936684366174,
            -0.0001168888399309713,
            9.33673917780479e-05,
            -1.5027710420277575e-05,
            -1.1257319182677936e-05,
            7.1300572630824496e-06,
            -6.83718721812117e-07,
            -1.059321402540731e-06,
            5.394320648707009e-07,
            -1.0185147576818285e-08,
            -9.867713140174249e-08,
            3.915473114023045e-08,
            4.792369996100387e-09,
            -8.562787796742932e-09,
            1.5401738716654886e-09,
            7.689312733742569e-10,
            -2.7032254091069344e-10,
        ),
        "TAIL": (
            4.155349704936058,
            1.830734564828172,
            0.001982888431182974,
            -0.003318142933957446,
            0.0020856256723140714,
            -0.0011138040298726275,
            0.0006414564015325075,
            -0.0004950946881942819,
            0.0004941853659730235,
            -0.000503539214684487,
            0.00044436760370476054,
            -0.0003050772545527431,
            0.00013172902681289994,
            9.850374937550837e-06,
            -7.84499537038078e-05,
            7.749093683202952e-05,
            -4.112464644728592e-05,
            5.27159285808955e-06,
            1.1822751295575195e-05,
            -1.156569559015528e-05,
            5.034517161412439e-06,
            -4.963713367880487e-07,
            -9.992144409186303e-07,
            1.0704184970409172e-06,
            -5.303356753574061e-07,
            -9.222252815979858e-09,
            1.2816526157004275e-07,
            -4.1968581117334914e-08,
            1.8620365391642508e-09,
        ),
    },
}

UNITS: Final = {"erf": 3, "erfc": 8, "erf_inv": 5}
"""How far each is at most from the exact number, in units in the last place of a normal result."""

# Half of the bits of a number: its square has no rounding.
_HALF: Final = {"float32": (np.int32, ~0xFFF), "float64": (np.int64, ~0x7FFFFFF)}
# So many bytes of each array at a time stay in the processor's caches.
_CHUNK: Final = 1 << 16


def erf(array: Array, *, out: Array | None = None) -> Array:
    """Returns the error function, 2/sqrt(pi) times the integral of e**(-t*t) from 0 to x."""
    return _chunked(_erf, array, out)


def erfc(array: Array, *, out: Array | None = None) -> Array:
    """Returns 1 - erf x, which is as near where it is small."""
    return _chunked(_erfc, array, out)


def erf_inv(array: Array, *, out: Array | None = None) -> Array:
    """Returns the number whose error function is x; infinite at 1 and -1, NaN beyond."""
    return _chunked(_erf_inv, array, out)


def _chunked(function: Callable[[Array], Array], array: Array, out: Array | None) -> Array:
    result = np.empty(array.shape, array.dtype) if out is None else out
    flat, filled = np.ascontiguousarray(array).reshape(-1), result.reshape(-1)
    with np.errstate(all="ignore"):
        size = _CHUNK // flat.itemsize
        for start in range(0, flat.size, size):
            part = slice(start, start + size)
            filled[part] = function(flat[part])
    return result


def _polynomial(name: str, argument: Array) -> Array:
    """Returns a polynomial of arguments in its interval; overwrites them."""
    low, high = ENDS[name]
    argument *= 2.0 / (high - low)
    argument -= (high + low) / (high - low)
    terms = POLYNOMIALS[argument.dtype.name][name]
    total = argument * terms[-1]
    total += terms[-2]
    for term in terms[-3::-1]:
        total *= argument
        total += term
    return total


def _near(magnitude: Array) -> Array:
    """Returns erf x for 0 <= x <= 1, that of 1 beyond."""
    bounded = np.minimum(magnitude, 1.0)
    total = _polynomial("NEAR", bounded * bounded)
    total *= bounded
    return total


def _scaled(name: str, magnitude: Array) -> Array:
    """Returns erfc(x) e**(x * x) for numbers from 1 on."""
    ratio = np.divide(SCALE, magnitude + SCALE)
    total = _polynomial(name, ratio.copy())
    total *= ratio
    return total


def _below_one(magnitude: Array, near: Array, far: Array) -> Array:
    """Returns `near` where the magnitude is below 1, else `far`; both are finite or NaN."""
    # By a mask of random bits `where` is several times as slow.
    share = (magnitude < 1.0).astype(magnitude.dtype)
    near *= share
    far *= np.subtract(1.0, share, out=share)
    near += far
    return near


def _erf(values: Array) -> Array:
    magnitude = np.abs(values)
    # The complement is below 0.16 here, and so is its share of a rounding of the square.
    bounded = np.clip(magnitude, 1.0, ERF_LAST)
    far = _scaled("FAR", bounded)
    bounded *= bounded
    far *= np.exp(np.negative(bounded, out=bounded), out=bounded)
    result = _below_one(magnitude, _near(magnitude), np.subtract(1.0, far, out=far))
    return np.copysign(result, values, out=result)


def _erfc(values: Array) -> Array:
    magnitude = np.abs(values)
    bounded = np.clip(magnitude, 1.0, ERFC_LAST)
    bits, mask = _HALF[values.dtype.name]
    half = (bounded.view(bits) & mask).view(values.dtype)
    far = _scaled("COMPLEMENT", bounded)
    far *= np.exp(np.negative(half * half))
    far *= np.exp((half - bounded) * (half + bounded))
    near = _near(magnitude)
    result = _below_one(magnitude, np.subtract(1.0, near, out=near), far)
    # It is 2 - erfc(-x).
    sign = np.copysign(values.dtype.type(1), values)
    result *= sign
    result += np.subtract(1.0, sign, out=sign)
    return result


def _erf_inv(values: Array) -> Array:
    weight = np.negative(np.log((1.0 - values) * (1.0 + values)))
    limit = ENDS["CENTRAL"][1]
    result = _polynomial("CENTRAL", np.minimum(weight, limit))
    result *= values
    far = np.flatnonzero(weight > limit)
    if far.size:
        root = np.sqrt(weight[far])
        total = _polynomial("TAIL", np.minimum(root, ENDS["TAIL"][1]))
        total *= values[far]
        result[far] = np.where(np.isinf(root), np.copysign(np.inf, values[far]), total)
    return result
