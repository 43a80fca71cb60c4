"""The envelope: how far each runtime may be from the oracle on one operation, and why."""

from __future__ import annotations

from typing import Final, NamedTuple

from topos.op import Map, Operation

MAPS: Final = "an approximation that is not correctly rounded"
SUMS: Final = "terms added in another order"
PRODUCTS: Final = "multiply-adds contracted or added in another order"
STABLE: Final = "an approximate exponential and logarithm around a reordered sum"
LOGISTIC: Final = "an exponential and a quotient, each rounded"
UNLINKED: Final = "does not run: its f64 form needs a C library function that is not linked"


FLUSHING: Final = frozenset({"xla", "iree"})
"""The runtimes whose arithmetic treats subnormal numbers as zero, whatever the operation."""


class Envelope(NamedTuple):
    """A bound in units in the last place with its reason; `None` where the module does not run.

    Subnormal numbers count as zero on both sides for the runtimes of `FLUSHING`.
    """

    ulps: int | None
    reason: str


class Row(NamedTuple):
    """The bounds of one operation on one runtime, by element; 0 where the bits are the oracle's."""

    runtime: str
    operation: str
    reason: str
    f64: int | None = 0
    f32: int | None = 0
    f16: int | None = 0
    bf16: int | None = 0


# A map's bound holds for arguments of magnitude 1/16 to 4 (1.5 for sine and cosine), that of a sum
# or a product for up to 40 terms of one sign. Beyond, near a zero or where terms cancel, the unit
# is that of a small result and no bound holds. The command tools/envelope.py measures every row.
ROWS: Final = (
    Row("xla", "exp", MAPS, f64=2, f32=4, f16=1),
    Row("xla", "expm1", MAPS, f64=4, f32=6, f16=2),
    Row("xla", "ln", MAPS, f64=1, f32=1, f16=1),
    Row("xla", "log1p", MAPS, f64=2, f32=2, f16=1),
    Row("xla", "tanh", MAPS, f64=7, f32=4),
    Row("xla", "logistic", LOGISTIC, f64=2, f32=2, f16=2),
    Row("xla", "rsqrt", MAPS, f64=1, f32=2),
    Row("xla", "sin", MAPS, f64=1, f32=1, f16=1),
    Row("xla", "cos", MAPS, f64=1, f32=1, f16=1),
    Row("xla", "erf", MAPS, f64=2, f32=6, f16=1),
    Row("xla", "power", MAPS, f64=1, f32=1, f16=1, bf16=1),
    Row("xla", "matmul", PRODUCTS, f64=4, f32=4),
    Row("xla", "sum", SUMS, f64=4, f32=4),
    Row("xla", "sum_along", SUMS, f64=4, f32=4),
    Row("xla", "log_softmax", STABLE, f64=4, f32=4),
    Row("xla", "log_sum_exp", STABLE, f64=4, f32=4),
    Row("iree", "exp", MAPS, f64=1, f32=4, f16=1),
    Row("iree", "expm1", MAPS, f64=16, f32=5, f16=1),
    Row("iree", "ln", MAPS, f64=1, f32=1, f16=1),
    Row("iree", "log1p", MAPS, f64=16, f32=2, f16=1),
    Row("iree", "tanh", MAPS, f32=4),
    Row("iree", "tanh", UNLINKED, f64=None),
    Row("iree", "logistic", LOGISTIC, f64=2, f32=2, f16=2),
    Row("iree", "rsqrt", MAPS, f64=1, f32=1, f16=1),
    Row("iree", "sin", MAPS, f32=32, f16=1),
    Row("iree", "sin", UNLINKED, f64=None),
    Row("iree", "cos", MAPS, f32=16, f16=1),
    Row("iree", "cos", UNLINKED, f64=None),
    Row("iree", "erf", MAPS, f64=2, f32=8, f16=1),
    Row("iree", "power", MAPS, f64=16, f32=16, f16=16, bf16=1),
    Row("iree", "matmul", PRODUCTS, f64=4, f32=4),
    Row("iree", "sum", SUMS, f64=4, f32=4),
    Row("iree", "sum_along", SUMS, f64=4, f32=4),
    Row("iree", "log_softmax", STABLE, f64=4, f32=4),
    Row("iree", "log_sum_exp", STABLE, f64=4, f32=4),
    Row("reference", "exp", MAPS, f64=1),
    Row("reference", "expm1", MAPS, f64=1),
    Row("reference", "ln", MAPS, f64=1),
    Row("reference", "log1p", MAPS, f64=1),
    Row("reference", "rsqrt", MAPS, f64=1),
    Row("reference", "tanh", MAPS, f64=2),
    Row("reference", "logistic", LOGISTIC, f64=2, f32=2, f16=2, bf16=2),
    Row("reference", "sin", MAPS, f64=1),
    Row("reference", "cos", MAPS, f64=1),
    Row("reference", "erf", MAPS, f64=4, f32=8),
    Row("reference", "power", MAPS, f64=1),
    Row("reference", "sum", SUMS, f64=4, f32=4),
    Row("reference", "sum_along", SUMS, f64=4, f32=4),
    Row("reference", "log_softmax", STABLE, f64=4, f32=4),
    Row("reference", "log_sum_exp", STABLE, f64=4, f32=4),
)


def subject(operation: Operation) -> str:
    """Returns what the table calls `operation`: a map by its function, any other by its name."""
    return operation.function.value if isinstance(operation, Map) else operation.name


def envelope(runtime: str, operation: str, element: str) -> Envelope:
    """Returns the bound for an operation, named as by `subject`, on a runtime.

    An operation without a row, or an integer element, must have the oracle's bits.
    """
    for row in ROWS:
        ulps = getattr(row, element, 0)
        if (row.runtime, row.operation) == (runtime, operation) and ulps != 0:
            return Envelope(ulps, row.reason)
    return Envelope(0, "the oracle's bits")
