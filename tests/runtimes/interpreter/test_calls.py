"""Calls of functions: how deep they may nest, and what a tree of them costs."""

from __future__ import annotations

import numpy as np
import pytest

from topos.errors import ExecutionError, UnsupportedError
from topos.runtimes import cost_analysis, verify
from topos.runtimes.interpreter.run import compiled

F = "tensor<f32>"


def chain(count: int, call: str, last: str, times: int = 1) -> str:
    """Returns functions of which each calls the next one `times` times, `@main` first."""
    bodies = [
        "\n".join([f"%0 = {call.format(place + 1)} : ({F}) -> {F}".replace("%0", f"%{time}")
                   for time in range(times)])
        for place in range(count)
    ]  # fmt: skip
    names = ["@main", *[f"private @f{place + 1}" for place in range(count)]]
    return "\n".join(
        f"func.func {name}(%a: {F}) -> {F} {{\n{body}\nreturn %0 : {F}\n}}"
        for name, body in zip(names, [*bodies, last], strict=True)
    )


CALL = "func.call @f{}(%a)"
COMPOSITE = 'stablehlo.composite "x.y" %a {{decomposition = @f{}}}'
NEGATED = f"%0 = stablehlo.negate %a : {F}"


@pytest.mark.parametrize("call", [CALL, COMPOSITE])
def test_a_chain_of_calls_is_run_as_deep_as_it_is_compiled(call: str) -> None:
    (got,) = compiled(chain(255, call, NEGATED))(np.float32(3))
    assert got == -3
    reason = "leads to 256 calls and regions in one another, at most 255 are supported"
    with pytest.raises(UnsupportedError, match=reason) as caught:
        compiled(chain(300, call, NEGATED))
    assert (caught.value.line, caught.value.column) == (4 * 44 + 2, 6)


def test_a_chain_of_calls_beyond_the_recursion_of_python_is_counted() -> None:
    text = chain(1100, CALL, NEGATED)
    verify(text)
    counted = cost_analysis(text)
    assert [(each.name, each.runs) for each in counted.operations] == [("stablehlo.negate", 1)]


def test_a_long_circle_of_calls_is_refused_and_counts_nothing() -> None:
    text = chain(200, CALL, f"%0 = call @main(%a) : ({F}) -> {F}")
    with pytest.raises(UnsupportedError, match="@main calls itself"):
        compiled(text)
    assert cost_analysis(text).total.runs == 0


@pytest.mark.parametrize("call", [CALL, COMPOSITE])
def test_a_budget_ends_a_tree_of_calls(call: str) -> None:
    # Two calls of a function that calls twice are six calls in all.
    assert compiled(chain(2, call, NEGATED, times=2), max_steps=6)(np.float32(3))[0] == -3
    with pytest.raises(ExecutionError, match=r"column 6: @main ran more than 5 steps"):
        compiled(chain(2, call, NEGATED, times=2), max_steps=5)(np.float32(3))
    with pytest.raises(ExecutionError, match="more than 1000 steps"):
        compiled(chain(40, call, NEGATED, times=2), max_steps=1000)(np.float32(3))


def test_a_tree_of_calls_to_what_is_not_supported_is_refused_at_once() -> None:
    text = chain(40, CALL, f"%0 = stablehlo.custom_call @nobody(%a) : ({F}) -> {F}", times=2)
    with pytest.raises(UnsupportedError, match="@nobody is not supported"):
        compiled(text)
