"""Random modules: valid operations on integers and on floats that no runtime rounds differently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt

Draw = Callable[[st.SearchStrategy[Any]], Any]
Array = npt.NDArray[Any]

DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui32": np.uint32,
    "i1": np.bool_,
}
FLOATS = ("f32", "f64")
EXTENTS = st.integers(1, 4)


class Value(NamedTuple):
    """A value that a module has computed so far."""

    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def type(self) -> str:
        return typed(self.shape, self.element)

    @property
    def kind(self) -> str:
        if self.element == "i1":
            return "b"
        return "f" if self.element in FLOATS else "i"


class Sample(NamedTuple):
    """A module's text and arguments for it."""

    text: str
    arguments: tuple[Array, ...]


def typed(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


class Writer:
    """The lines of a module in the making and its values."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.values: list[Value] = []

    def pick(self, *kinds: str) -> Value:
        fitting = [value for value in self.values if not kinds or value.kind in kinds]
        value: Value = self.one_of(*fitting or self.values)
        return value

    def add(self, operation: str, shape: Sequence[int], element: str) -> None:
        value = Value(f"%v{len(self.values)}", tuple(shape), element)
        self.lines.append(f"{value.name} = {operation}")
        self.values.append(value)

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def number(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))


@st.composite
def samples(draw: Draw, steps: Sequence[Callable[[Writer], None]]) -> Sample:
    """Draws a module of up to twenty of `steps`, and small arguments for it."""
    writer = Writer(draw)
    for element in ("i32", "i64", "i1", "f32", *draw(st.lists(st.sampled_from([*DTYPES])))[:2]):
        shape = draw(st.lists(EXTENTS, max_size=3))
        writer.values.append(Value(f"%v{len(writer.values)}", tuple(shape), element))
        writer.values.append(Value(f"%v{len(writer.values)}", (), element))
    inputs = list(writer.values)
    for step in draw(st.lists(st.sampled_from(steps), min_size=1, max_size=20)):
        step(writer)
    results = writer.values[-6:]
    heads = ", ".join(f"{value.name}: {value.type}" for value in inputs)
    types = ", ".join(value.type for value in results)
    names = ", ".join(value.name for value in results)
    body = "\n".join(writer.lines)
    text = f"func.func @main({heads}) -> ({types}) {{\n{body}\nreturn {names} : {types}\n}}"
    return Sample(text, tuple(_argument(draw, value) for value in inputs))


def _argument(draw: Draw, value: Value) -> Array:
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    numbers = generator.integers(-4 if value.element[0] != "u" else 0, 5, value.shape)
    return np.asarray(numbers).astype(DTYPES[value.element])
