"""Constants: what is known before the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from topos.payload.kernels.conversion import convert
from topos.runtimes._stablehlo.dense import decoded
from topos.runtimes._stablehlo.site import Builder, Constant, Site
from topos.runtimes._stablehlo.syntax import Dense
from topos.runtimes._stablehlo.types import dtype_of, extents

__all__ = ["BUILDERS", "ELEMENTWISE"]


def _constant(site: Site) -> Constant:
    site.takes(0)
    value = site.attribute("value")
    if not isinstance(value, Dense):
        site.unsupported("of something other than dense<...> is not supported")
    array = decoded(value)
    site.demand(value.type == site.results[0], f"results in {value.type}, got {site.results[0]}")
    return Constant(array)


def _iota(site: Site) -> Constant:
    site.takes(0)
    (result,) = site.results
    site.demand(result.element != "i1", "takes no elements of i1")
    axis, shape = site.integer("iota_dimension"), extents(result)
    site.axes("dimension", (axis,), len(shape))
    steps = convert(np.arange(shape[axis], dtype=np.int64), dtype_of(result))
    column = steps.reshape(-1, *(1 for _ in shape[axis + 1 :]))
    return Constant(np.broadcast_to(column, shape))


# Given arrays of one shape for scalars, these kernels compute element by element.
ELEMENTWISE: Final = True
BUILDERS: Final[Mapping[str, Builder]] = {
    "stablehlo.constant": _constant,
    "stablehlo.iota": _iota,
}
