"""Faults that IREE and XLA are known to have, on modules that no adapter rewrites.

`tools/bench/judge_known.py` has more of them, with their reproducers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.runtimes.require import require
from topos import judge
from topos.judge import Verdict, raw_iree, raw_xla
from topos.stablehlo import Module

POWER = """
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.power %x, %y : tensor<3xf32>
  %1 = stablehlo.negate %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}
"""


def test_a_negative_base_is_wrong_on_iree() -> None:
    require("iree")

    def iree(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        return raw_iree.run(str(module), arguments, ())

    arguments = [np.array([2, -2, -1.5], np.float32), np.array([2, 2, 3], np.float32)]
    found = judge.bisect(POWER, iree, arguments)
    assert found.whole.verdict is Verdict.WRONG
    assert [each.operation for each in found.findings] == ["stablehlo.power"]
    assert found.findings[0].operands in (("-2.0", "2.0"), ("-1.5", "3.0"))


def test_integers_that_xla_takes_for_floats_are_wrong() -> None:
    require("xla")

    def careless(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        return raw_xla.run(str(module), [each.astype(np.int32) for each in arguments], {})

    arguments = [np.array([2, 3, 4], np.float32), np.array([2, 2, 1], np.float32)]
    found = judge.reduce(POWER, careless, arguments)
    assert found is not None
    # As constants nobody gives XLA anything.
    assert [each.shape for each in found.arguments] in ([()], [(), ()])
