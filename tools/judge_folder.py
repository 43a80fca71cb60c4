"""A folder of modules for triage: random programs, some with what a broken runtime is ill at.

Nothing else in them has what the runtime gets wrong: bases of powers are positive, indices are in
range, sums are short, and no cosine is taken of a sine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

UNARY: Final = ("tanh", "sine", "logistic", "negate", "abs")
BINARY: Final = ("add", "subtract", "multiply", "maximum", "minimum")
# Longer than any other sum here, and what the broken runtime takes for long.
LONG: Final = 20


@dataclass
class Program:
    """The lines of a module over matrices of one shape, all of f32.

    The arguments are `%x`, a matrix; `%w`, by which it may be multiplied; and rows of it in `%i`.
    """

    generator: np.random.Generator
    rows: int
    columns: int
    lines: list[str] = field(default_factory=list)

    @property
    def type(self) -> str:
        """The type of every matrix."""
        return f"tensor<{self.rows}x{self.columns}xf32>"

    def add(self, text: str) -> str:
        """Adds an operation and returns the name of its result."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def map(self, operation: str, *values: str) -> str:
        """Adds an operation element by element."""
        return self.add(f"stablehlo.{operation} {', '.join(values)} : {self.type}")

    def filled(self, number: float) -> str:
        """Adds a matrix of one number."""
        return self.add(f"stablehlo.constant dense<{number}> : {self.type}")

    def reduced(self, value: str, operation: str, initial: str, shape: str, axis: int) -> str:
        """Adds a reduction of a value of `shape` along an axis."""
        start = self.add(f"stablehlo.constant dense<{initial}> : tensor<f32>")
        left = [each for place, each in enumerate(shape.split("x")) if place != axis]
        return self.add(
            f"stablehlo.reduce({value} init: {start}) applies stablehlo.{operation}"
            f" across dimensions = [{axis}] : (tensor<{shape}xf32>, tensor<f32>)"
            f" -> tensor<{'x'.join(left)}xf32>"
        )

    def rows_of(self, indices: str) -> str:
        """Adds rows of the argument by their indices."""
        return self.add(
            f'"stablehlo.gather"(%x, {indices}) <{{dimension_numbers = #stablehlo.gather<'
            "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],"
            f" index_vector_dim = 1>, slice_sizes = array<i64: 1, {self.columns}>}}>"
            f" : ({self.type}, tensor<{self.rows}x1xi32>) -> {self.type}"
        )


Piece = Callable[[Program, str], str]


def _unary(program: Program, value: str) -> str:
    return program.map(program.generator.choice(UNARY), value)


def _binary(program: Program, value: str) -> str:
    return program.map(program.generator.choice(BINARY), value, "%x")


def _product(program: Program, value: str) -> str:
    types = f"({program.type}, tensor<{program.columns}x{program.columns}xf32>) -> {program.type}"
    dot = "stablehlo.dot_general"
    return program.add(f"{dot} {value}, %w, contracting_dims = [1] x [0] : {types}")


def _reduction(program: Program, value: str) -> str:
    operation, initial = [("add", "0.0"), ("maximum", "-1.0")][program.generator.integers(2)]
    shape = f"{program.rows}x{program.columns}"
    found = program.reduced(value, operation, initial, shape, 1)
    types = f"(tensor<{program.rows}xf32>) -> {program.type}"
    again = program.add(f"stablehlo.broadcast_in_dim {found}, dims = [0] : {types}")
    return program.map("subtract", value, again)


def _choice(program: Program, value: str) -> str:
    mask = f"tensor<{program.rows}x{program.columns}xi1>"
    types = f"({program.type}, {program.type}) -> {mask}"
    chosen = program.add(f"stablehlo.compare GT, {value}, %x : {types}")
    other = program.filled(0.5)
    return program.add(f"stablehlo.select {chosen}, {value}, {other} : {mask}, {program.type}")


def _positive_power(program: Program, value: str) -> str:
    base = program.map("add", program.map("logistic", value), program.filled(0.5))
    return program.map("power", base, program.filled(1.5))


def _rows(program: Program, value: str) -> str:
    return program.map("add", value, program.rows_of("%i"))


def _reversed(program: Program, value: str) -> str:
    return program.add(f"stablehlo.reverse {value}, dims = [0] : {program.type}")


def _called(program: Program, value: str) -> str:
    return program.add(f"func.call @both({value}) : ({program.type}) -> {program.type}")


def _looped(program: Program, value: str) -> str:
    count = program.add("stablehlo.constant dense<3> : tensor<i32>")
    one = program.add("stablehlo.constant dense<1> : tensor<i32>")
    name = f"%loop{len(program.lines)}"
    kept, turns, go, next_value, left = (f"{name}_{each}" for each in "abcde")
    program.lines.append(
        f"{name}:2 = stablehlo.while({kept} = {value}, {turns} = {count})"
        f" : {program.type}, tensor<i32>\n"
        f"    cond {{\n      {go} = stablehlo.compare GE, {turns}, {one}"
        " : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        f"      stablehlo.return {go} : tensor<i1>\n    }} do {{\n"
        f"      {next_value} = stablehlo.tanh {kept} : {program.type}\n"
        f"      {left} = stablehlo.subtract {turns}, {one} : tensor<i32>\n"
        f"      stablehlo.return {next_value}, {left} : {program.type}, tensor<i32>\n    }}"
    )
    return f"{name}#0"


SOUND: Final[tuple[Piece, ...]] = (
    _unary, _unary, _binary, _binary, _product, _reduction, _choice, _positive_power, _rows,
    _reversed, _called, _looped,
)  # fmt: skip


def _power(program: Program, value: str) -> str:
    return program.map("add", value, program.map("power", "%x", program.filled(3.0)))


def _outside(program: Program, value: str) -> str:
    indices = f"stablehlo.constant dense<{program.rows}> : tensor<{program.rows}x1xi32>"
    return program.map("add", value, program.rows_of(program.add(indices)))


def _long_sum(program: Program, value: str) -> str:
    shape = f"{LONG}x{program.rows}x{program.columns}"
    types = f"({program.type}) -> tensor<{shape}xf32>"
    several = program.add(f"stablehlo.broadcast_in_dim %x, dims = [1, 2] : {types}")
    found = program.reduced(several, "add", "0.0", shape, 0)
    return program.map("add", value, program.map("multiply", found, program.filled(1 / LONG)))


def _cosine_of_sine(program: Program, value: str) -> str:
    return program.map("add", value, program.map("cosine", program.map("sine", "%x")))


# What the broken runtime gets wrong, by the operation that a triage names.
PLANTED: Final[Mapping[str, Piece]] = {
    "stablehlo.power": _power,
    "stablehlo.gather": _outside,
    "stablehlo.reduce (stablehlo.add)": _long_sum,
    "stablehlo.cosine": _cosine_of_sine,
}


def written(folder: Path, count: int, each: int, seed: int) -> dict[str, list[str]]:
    """Writes modules and their arguments to a folder; returns the ill ones by their operation.

    Of `count` modules `each` have one of `PLANTED`, in an order of the seed's.
    """
    generator = np.random.default_rng(seed)
    planted = [name for name in PLANTED for _ in range(each)]
    order = generator.permutation([*planted, *[""] * (count - len(planted))])
    ill: dict[str, list[str]] = {name: [] for name in PLANTED}
    for place, name in enumerate(order):
        text, arguments = _module(generator, PLANTED.get(str(name)))
        file = f"module{place:03}"
        (folder / f"{file}.mlir").write_text(text)
        archive: Any = {f"arg{number}": array for number, array in enumerate(arguments)}
        np.savez(folder / f"{file}.npz", **archive)
        if name:
            ill[str(name)].append(f"{file}.mlir")
    return ill


def _module(generator: np.random.Generator, planted: Piece | None) -> tuple[str, list[Any]]:
    """Returns a module and its arguments; its second result shows what is planted."""
    rows, columns = (int(each) for each in generator.integers(2, 9, 2))
    program, value = Program(generator, rows, columns), "%x"
    length = int(generator.integers(4, 13))
    there, shown = int(generator.integers(length)), value
    for place in range(length):
        value = SOUND[generator.integers(len(SOUND))](program, value)
        if place == there:
            value = shown = value if planted is None else planted(program, value)
    weights, indices = f"tensor<{columns}x{columns}xf32>", f"tensor<{rows}x1xi32>"
    body = "\n  ".join(program.lines)
    text = (
        f"func.func private @both(%a: {program.type}) -> {program.type} {{\n"
        f"  %0 = stablehlo.tanh %a : {program.type}\n"
        f"  %1 = stablehlo.exponential %0 : {program.type}\n"
        f"  return %1 : {program.type}\n}}\n"
        f"func.func @main(%x: {program.type}, %w: {weights}, %i: {indices})"
        f" -> ({program.type}, {program.type}) {{\n"
        f"  {body}\n  return {value}, {shown} : {program.type}, {program.type}\n}}\n"
    )
    matrix = generator.standard_normal((rows, columns)).astype(np.float32)
    matrix[0, 0] = -1.5
    factor = generator.standard_normal((columns, columns)).astype(np.float32) / 2
    chosen = generator.integers(rows, size=(rows, 1)).astype(np.int32)
    return text, [matrix, factor, chosen]
