"""Maps: exact points, special values, elements and messages."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from tests.exact import exactly, holds
from tests.project.paths import ROOT
from topos import Element, Tape, Tensor, bool_, i64
from topos.compiler import DIFFERENTIABLE, MapOperation
from topos.errors import ElementError
from topos.op import Map

INF, NAN = math.inf, math.nan
POINTS: dict[MapOperation, tuple[list[float], list[float]]] = {
    MapOperation.EXP: ([0, -0.0, -INF, INF, NAN], [1, 1, 0, INF, NAN]),
    MapOperation.EXPM1: ([0, -0.0, -INF, INF, NAN], [0, -0.0, -1, INF, NAN]),
    MapOperation.LN: ([1, 0, -0.0, INF, -1, NAN], [0, -INF, -INF, INF, NAN, NAN]),
    MapOperation.LOG1P: ([0, -0.0, -1, INF, -2, NAN], [0, -0.0, -INF, INF, NAN, NAN]),
    MapOperation.SQRT: ([4, 0, -0.0, INF, -1, NAN], [2, 0, -0.0, INF, NAN, NAN]),
    MapOperation.RSQRT: ([4, 0, -0.0, INF, -1, NAN], [0.5, INF, -INF, 0, NAN, NAN]),
    MapOperation.TANH: ([0, -0.0, INF, -INF, NAN], [0, -0.0, 1, -1, NAN]),
    MapOperation.LOGISTIC: ([0, -0.0, INF, -INF, NAN], [0.5, 0.5, 1, 0, NAN]),
    MapOperation.SIN: ([0, -0.0, INF, NAN], [0, -0.0, NAN, NAN]),
    MapOperation.COS: ([0, -0.0, INF, NAN], [1, 1, NAN, NAN]),
    MapOperation.ERF: ([0, -0.0, INF, -INF, NAN], [0, -0.0, 1, -1, NAN]),
}


@pytest.mark.parametrize("element", DIFFERENTIABLE, ids=str)
@pytest.mark.parametrize("function", MapOperation, ids=lambda function: str(function.value))
def test_special_values_follow_the_standard(function: MapOperation, element: Element) -> None:
    points, wanted = POINTS[function]
    value = Tensor(points, element)
    assert holds(value.express(Map(function), value), wanted, element)


@pytest.mark.parametrize("function", MapOperation, ids=lambda function: str(function.value))
def test_a_map_is_spelled_by_its_name_and_keeps_the_type(function: MapOperation) -> None:
    x = Tape().input(shape=(2, 0))
    assert getattr(x, function.value)().type == x.type
    scalar = Tensor(0.25)
    assert getattr(scalar, function.value)().type == scalar.type


@pytest.mark.parametrize("element", [i64, bool_], ids=str)
def test_maps_are_for_floats(element: Element) -> None:
    with pytest.raises(
        ElementError, match=exactly(f"map needs f64, f32, f16 or bf16, got {element}")
    ):
        Tape().input(shape=(2,), element=element).exp()


def test_a_line_of_describe_names_the_function() -> None:
    tape = Tape()
    tape.input(shape=(2,)).tanh()
    line = tape.into_network().describe().splitlines()[2]
    assert line == "%1 = map(function=tanh) %0 : f32[2]"


def test_a_new_map_touches_the_files_that_contributing_names() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.split("**A unary map**")[1].split("**A kernel that is faster**")[0]
    listed = set(re.findall(r"^\d\. `(.+?)`", section, re.MULTILINE))
    assert len(listed) <= 6
    folders = [f"topos/{name}" for name in ("backend", "emit", "engine", "op", "reading")]
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    everywhere = {file.relative_to(ROOT).as_posix() for file in files if names_every_map(file)}
    beside = {"topos/payload/kernels/maps.py", "tests/op/test_map.py"}
    assert everywhere | beside == listed


def names_every_map(file: Path) -> bool:
    """Returns whether a file names each map, so that a new one would be named there too."""
    text = file.read_text(encoding="utf-8")
    names = (rf"\b({function.value}|{function.name})\b" for function in MapOperation)
    return all(re.search(name, text) for name in names)
