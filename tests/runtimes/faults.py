"""The faults of the foreign runtimes, and a run of one's module through an adapter."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from tests.project.paths import ROOT
from topos import runtimes
from topos.errors import ToposError

SPECIFICATION = importlib.util.spec_from_file_location("faults", ROOT / "tools/faults.py")
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
TOOL: Any = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(TOOL)


def right_or_refused(runtime: str, fault: Any) -> None:
    """Asserts that a module gives the right results through the adapter, or is refused as told."""
    for numerics in fault.numerics:
        if fault.refused or fault.isolated:
            with pytest.raises(ToposError) as raised:
                run(runtime, fault, numerics)
            told = f"{type(raised.value).__name__}: {raised.value}"
            assert told.startswith(fault.refused or "CrashError: ")
        else:
            run(runtime, fault, numerics)


def run(runtime: str, fault: Any, numerics: str) -> None:
    """Asserts that a module gives the right results through the adapter."""
    options = {"isolated": True} if fault.isolated and runtime != "interpreter" else None
    executable = runtimes.load(runtime).compile(fault.module, numerics=numerics, options=options)
    results = executable(*TOOL.arrays(fault.arguments, executable.signature.arguments))
    right = TOOL.arrays(fault.results, executable.signature.results)
    # As text, in which a NaN is like itself.
    assert [str(each.tolist()) for each in results] == [str(each.tolist()) for each in right]
    assert [each.tobytes() for each in results] == [each.tobytes() for each in right]
