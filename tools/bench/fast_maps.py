"""The maps of CHLO under Fast, in the interpreter and in plans, beside np.exp of as much."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from timing import interleaved, report

from topos import Tape, f32, f64, gelu
from topos.compiler import Element
from topos.runtimes.interpreter import RUNTIME

SIZE = 1_000_000
BOUND = "must be at most 8x"
NAMES = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cosh", "digamma", "erf"),
    *("erf_inv", "erfc", "lgamma", "sinh", "tan"),
)
Array = np.ndarray[Any, Any]


def arguments(name: str, element: Element) -> Array:
    """Returns numbers of the map's domain."""
    drawn = np.random.default_rng(0).normal(size=SIZE)
    if name in ("acos", "asin", "atanh", "erf_inv"):
        drawn = np.tanh(drawn)
    elif name in ("acosh", "digamma", "lgamma"):
        drawn = 1.0 + np.abs(drawn) * 10.0
    return drawn.astype(element.dtype)


def interpreted(name: str, element: Element) -> Callable[..., Any]:
    """Returns a map of CHLO, compiled by the interpreter."""
    typed = f"tensor<{SIZE}x{element}>"
    text = f"""func.func @main(%x: {typed}) -> {typed} {{
      %y = chlo.{name} %x : {typed} -> {typed}
      return %y : {typed}
    }}"""
    return RUNTIME.compile(text, numerics="fast")


def planned(element: Element, formula: Callable[[Any], Any]) -> Callable[[Array], Any]:
    """Returns the run of a plan of one formula."""
    tape = Tape(element=element)
    formula(tape.input(shape=[SIZE], name="x")).named("y")
    plan = tape.into_network().entry(["y"], numerics="fast").lower()
    return lambda values: plan.forward(None, {"x": values})


def main() -> None:
    """Prints every map of both elements."""
    for element in (f32, f64):
        plain = np.random.default_rng(0).normal(size=SIZE).astype(element.dtype)
        runs: dict[str, tuple[Callable[..., Any], Array]] = {
            f"chlo.{name}": (interpreted(name, element), arguments(name, element)) for name in NAMES
        }
        runs["a plan of erf"] = planned(element, lambda x: x.erf()), plain
        runs["a plan of gelu"] = planned(element, gelu), plain
        for name, (run, values) in runs.items():
            rivals = {"ours": partial(run, values), "np.exp": partial(np.exp, plain)}
            best = interleaved(rivals, rounds=9)
            figures = {side: f"{seconds * 1e3:.2f} ms" for side, seconds in best.items()}
            report(f"{name} {element}", figures, best["ours"] / best["np.exp"], BOUND)


if __name__ == "__main__":
    main()
