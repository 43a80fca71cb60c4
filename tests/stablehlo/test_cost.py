"""Which of several branches a cost counts, and what of a module it tells."""

from __future__ import annotations

import pytest

from tests.stablehlo.dialect.test_flops import module
from topos.errors import VerifyError
from topos.stablehlo import parse


def branch(*lines: str) -> str:
    """Returns a region that makes `%0` of `%x` line by line and returns it."""
    return f"{{ {' '.join(lines)} stablehlo.return %0 : tensor<4x4xf32> }}"


ADD = "%0 = stablehlo.add %x, %x : tensor<4x4xf32>"
ADDED = branch(ADD)
MULTIPLIED = branch(
    "%0 = stablehlo.dot %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"
)
LONGER = branch("%1 = stablehlo.constant dense<1> : tensor<i32>", ADD)


@pytest.mark.parametrize(
    ("name", "choice", "branches", "counted", "flops"),
    [
        # XLA takes the maximum too.
        ("if", "i1", (ADDED, MULTIPLIED), ["if", "dot"], 128),
        ("case", "i32", (ADDED, MULTIPLIED, ADDED), ["case", "dot"], 128),
        # Of as many flops, the branch that runs more operations.
        ("case", "i32", (ADDED, LONGER), ["add", "case", "constant"], 16),
    ],
)
def test_the_branch_with_the_most_flops_counts(
    name: str, choice: str, branches: tuple[str, ...], counted: list[str], flops: int
) -> None:
    line = f'"stablehlo.{name}"(%c) ({", ".join(branches)}) : (tensor<{choice}>) -> tensor<4x4xf32>'
    cost = module(f"%c: tensor<{choice}>, %x: tensor<4x4xf32>", line, "4x4xf32").cost()
    assert sorted(each.name.partition(".")[2] for each in cost.operations) == sorted(counted)
    assert (cost.total.flops, cost.total.runs) == (flops, len(counted))


def test_a_cost_tells_the_types_the_constants_and_the_open_extents_of_main() -> None:
    cost = parse("""func.func @main(%x: tensor<?xf32>, %y: tensor<2xi8>) -> tensor<?xf32> {
      %c = stablehlo.constant dense<1> : tensor<3x2xi16>
      %0 = call @twice(%x) : (tensor<?xf32>) -> tensor<?xf32>
      %1 = call @twice(%0) : (tensor<?xf32>) -> tensor<?xf32>
      return %1 : tensor<?xf32>
    }
    func.func private @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.add %x, %x : tensor<?xf32>
      return %0 : tensor<?xf32>
    }""").cost()
    assert (cost.arguments, cost.results) == (("tensor<?xf32>", "tensor<2xi8>"), ("tensor<?xf32>",))
    assert (cost.constant_bytes, cost.open_runs) == (12, 2)
    counted = [(each.name, each.runs, each.elements) for each in cost.operations]
    assert counted == [("stablehlo.add", 2, ("f32",)), ("stablehlo.constant", 1, ("i16",))]
    assert (cost.total.runs, cost.total.flops, cost.total.elements) == (3, 0, ("f32", "i16"))
    with pytest.raises(VerifyError, match="a module needs a function @main"):
        parse("func.func private @f()").cost()
