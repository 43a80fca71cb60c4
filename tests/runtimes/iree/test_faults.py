"""What IREE gets wrong: made right, or refused."""

from __future__ import annotations

import pytest

from tests.runtimes.faults import TOOL, right_or_refused
from tests.runtimes.joined import joined
from tests.runtimes.require import require
from topos import runtimes

FAULTS = TOOL.faults("iree")
# What one compilation takes together: it costs most of a second, whatever it holds.
TOGETHER = {
    name: fault
    for name, fault in FAULTS.items()
    if fault.rewritten and tuple(fault.numerics) == ("fast",)
    if "dense_resource" not in fault.module
}


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in TOGETHER])
def test_a_module_is_right_through_the_adapter_or_refused(name: str) -> None:
    require("iree")
    right_or_refused("iree", FAULTS[name])


def test_modules_are_right_through_the_adapter_() -> None:
    require("iree")
    executable = runtimes.load("iree").compile(joined([each.module for each in TOGETHER.values()]))
    arguments, results = (
        [value for fault in TOGETHER.values() for value in getattr(fault, part)]
        for part in ("arguments", "results")
    )
    found = executable(*TOOL.arrays(arguments, executable.signature.arguments))
    right = TOOL.arrays(results, executable.signature.results)
    whose = [name for name, fault in TOGETHER.items() for _ in fault.results or ()]
    wrong = [
        (name, each.tolist())
        for name, each, wanted in zip(whose, found, right, strict=True)
        if each.tobytes() != wanted.tobytes()
    ]
    assert wrong == []
