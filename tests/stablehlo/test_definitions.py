"""Definitions as a whole: what holds of the folder that they stand in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import iter_modules

import numpy as np

from topos import stablehlo
from topos.runtimes import interpreter
from topos.runtimes.interpreter.kernels import builder_of
from topos.stablehlo import Builder, dialect
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import functions, layout
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.printer import printed
from topos.stablehlo.rounding import EXACT, Units

QUOTED = re.compile(r"""["'](\w+\.[\w-]+)["']""")


def test_no_file_hides_the_function_of_an_operation_or_a_dialect() -> None:
    # A submodule that is loaded becomes an attribute of its package, before any function there.
    functions = {name for name in dir(dialect) if name not in dialect.__all__}
    assert not functions & {module.name for module in iter_modules(dialect.__path__)}


def test_the_name_of_an_operation_stands_in_the_file_of_its_definition_alone() -> None:
    # The grammar, which is no Python, has its own; everything else takes a name from its class.
    roots = [Path(package.__path__[0]) for package in (stablehlo, interpreter)]
    folder = Path(dialect.__path__[0])
    strange = [
        f"{source.name}:{line} {name}"
        for source in sorted(source for root in roots for source in root.rglob("*.py"))
        for line, name in _names_in(source)
        if source != folder / f"{dialect.family_of(name)}.py"
    ]
    assert not strange


def _names_in(source: Path) -> Iterator[tuple[int, str]]:
    """Yields each text of a file that is the name of a defined operation, and its line."""
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        yield from ((number, name) for name in QUOTED.findall(line) if dialect.family_of(name))


def test_every_operation_that_runs_says_how_it_rounds() -> None:
    # None has a rule by default but what moves elements, so that an exact one is called so.
    silent = [
        name
        for name, definition in dialect.definitions().items()
        if builder_of(definition) is not None and definition.rounding is None
    ]
    assert not silent
    assert Definition.rounding is None
    assert layout.Reshape.rounding == EXACT
    assert functions.Exponential.rounding == Units(4)


def test_an_accuracy_and_a_literal_are_made_of_plain_python() -> None:
    builder = Builder()
    x = builder.argument((2,), "f32")
    sine = dialect.sine(x, result_accuracy={"mode": "TOLERANCE", "ulps": 2})
    half = dialect.chlo.constant_like(x, value=np.float32(0.5))
    builder.returns(sine, half)
    text = builder.module().text()
    assert "value = 5.000000e-01 : f32" in text
    assert "ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>" in text
    assert printed(parse(text)) == text
