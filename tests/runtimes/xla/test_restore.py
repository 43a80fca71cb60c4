"""A module restored from its compiled form: what `compile` gives, or why it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtimes.texts import SUM
from topos.errors import ArgumentError, CompileError, UnsupportedError
from topos.runtimes import load
from topos.runtimes.xla import build

pytest.importorskip("jax")

XLA = load("xla")
ONES = np.ones(4, np.float32)
OPTION = "xla_backend_optimization_level"


@pytest.fixture(scope="module")
def data() -> bytes:
    return XLA.compile(SUM).serialize()


@pytest.mark.parametrize("options", [{}, {"device": "cpu"}, {"isolated": True}])
def test_a_module_is_restored_without_the_compiler(
    data: bytes, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "program", None)
    run = XLA.restore(SUM, data, options=options)
    assert run(ONES, ONES)[0].tolist() == [2.0] * 4
    assert XLA.restore(SUM, run.serialize())(ONES, ONES)[0].tolist() == [2.0] * 4


@pytest.mark.parametrize(
    ("part", "changed"),
    [
        ("module", {"module": SUM.replace("add", "subtract")}),
        ("numerics", {"numerics": "exact"}),
        ("options", {"options": {OPTION: 0}}),
        ("numerics", {"numerics": "exact", "options": {"isolated": True}}),
    ],
)
def test_what_differs_is_told(data: bytes, part: str, changed: dict[str, Any]) -> None:
    with pytest.raises(CompileError, match=f"^xla cannot load a module made for {part} .*, here"):
        XLA.restore(**{"module": SUM, "data": data, **changed})


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("versions", "_versions", "jax 0.1.0, jaxlib 0.1.0"),
        ("processor", "processor_label", "Z80 a1b2"),
        ("threads", "_processors", 1_000),
    ],
)
def test_another_machine_is_told(
    data: bytes, part: str, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, name, lambda: value)
    with pytest.raises(CompileError, match=f"made for {part} .*, here is {value}$"):
        XLA.restore(SUM, data)


def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(CompileError, match="they are damaged or no module of xla"):
        XLA.restore(SUM, data[:-1] + b"\0")
    with pytest.raises(ArgumentError, match="deserialize needs bytes, got str"):
        XLA.restore(SUM, "text")  # type: ignore[arg-type]


def test_a_runtime_without_such_a_form_says_so(data: bytes) -> None:
    with pytest.raises(UnsupportedError, match="interpreter runtime restores no compiled form"):
        load("interpreter").restore(SUM, data)
