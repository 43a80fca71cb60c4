"""The forms in which every operation is run by itself: the rows of a certificate."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np

from topos.errors import ToposError
from topos.runtimes.interpreter.kernels import builder_of
from topos.stablehlo import parse
from topos.stablehlo.dialect import definitions, find
from topos.stablehlo.dialect._alike import Elementwise
from topos.stablehlo.ir import Parameter, Tensor
from topos.stablehlo.types import ELEMENTS

# How many elements an elementwise operation gets at once, and one that broadcasts in each axis.
COUNT: Final = 4096
EDGE: Final = 8
HEADER: Final = re.compile(r"^// ([\w.-]+)(?:: (.*))?\n(?=func)", re.MULTILINE)
PLACES: Final = re.compile(r"(?<=[x<])[TCR](?=>)")
WORDS: Final = re.compile(r"(?<=dense<)(?:ZERO|ONE|LOW|HIGH)(?=>)")
BROADCAST: Final = "chlo.broadcast_"

# Says of an operation, a form and an element whether they are run.
Choice = Callable[[tuple[str, str, str]], bool]

# Why an operation that the interpreter executes stands in no form of its own.
LEFT_OUT: Final[Mapping[str, str]] = {
    "chlo.constant_like": "a constant, as stablehlo.constant",
    "stablehlo.after_all": "runs in the form of stablehlo.create_token",
    "stablehlo.async_done": "runs in the form of stablehlo.async_start",
    "stablehlo.custom_call": "its target says what it computes",
    "stablehlo.get_tuple_element": "runs in the form of stablehlo.tuple",
    "stablehlo.rng": "draws other numbers in every run",
}
REFUSING: Final = frozenset(
    {"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.recv", "stablehlo.send"}
)


class Form(NamedTuple):
    """One operation in functions, of which the first is @form; T stands for the element.

    `variant` tells forms of one operation apart.
    """

    operation: str
    variant: str
    text: str


class Instance(NamedTuple):
    """A form with one element: functions that verify, of which the first is @form."""

    operation: str
    variant: str
    element: str
    text: str
    arguments: tuple[Parameter, ...]
    results: tuple[Parameter, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """The operation, the variant and the element."""
        return (self.operation, self.variant, self.element)

    @property
    def elements(self) -> tuple[str, ...]:
        """The elements of the arguments and the results."""
        types = [each.type for each in (*self.arguments, *self.results)]
        return tuple(dict.fromkeys([each.element for each in types if isinstance(each, Tensor)]))

    @property
    def is_elementwise(self) -> bool:
        """Whether each element of the result follows from those of the operands at its place."""
        definition = find(self.operation)
        return definition is not None and definition.is_elementwise


def executed() -> tuple[str, ...]:
    """Returns the name of every operation that the interpreter executes, sorted."""
    defined = definitions().items()
    return tuple([name for name, each in defined if builder_of(each) and not each.is_refused])


def left_out() -> dict[str, str]:
    """Returns why an operation that the interpreter executes stands in no form, by its name."""
    shown = {form.operation for form in forms()}
    return {name: _why_not(name) for name in executed() if name not in shown}


def _why_not(name: str) -> str:
    if name.startswith("sdy."):
        return "says where values lie, of several devices"
    if name in REFUSING:
        return "exchanges values with another process"
    return LEFT_OUT[name]


@cache
def forms() -> tuple[Form, ...]:
    """Returns every form, those of one operation together."""
    text = files("topos.judge").joinpath("forms.mlir").read_text(encoding="utf-8")
    _, *parts = HEADER.split(text)
    written = [
        Form(parts[at], parts[at + 1] or "", parts[at + 2]) for at in range(0, len(parts), 3)
    ]
    written += [_conversion(element) for element in ELEMENTS]
    shown = {form.operation for form in written}
    for name, definition in definitions().items():
        if name not in shown and issubclass(definition, Elementwise) and builder_of(definition):
            written += [_elementwise(name, definition)] if definition.declared_operands else []
    return tuple(sorted(written, key=lambda form: form.operation))


def _conversion(element: str) -> Form:
    return Form("stablehlo.convert", f"to {element}", _written(
        "stablehlo.convert", ["256xT"], f"256x{element}"
    ))  # fmt: skip


def _elementwise(name: str, definition: type[Elementwise]) -> Form:
    shapes = [f"{COUNT}x"] * len(definition.declared_operands)
    if name.startswith(BROADCAST):
        shapes = [f"{EDGE}x{EDGE}x", f"{EDGE}x"]
    made: Callable[[str], str] = definition.made
    # What the element of the result is follows from that of the operands; M stands for it.
    kind = {made(each) for each in ("f32", "complex<f32>")}
    result = "T" if kind == {"f32", "complex<f32>"} else "R" if kind == {"f32"} else "i1"
    return Form(name, "", _written(name, [f"{each}T" for each in shapes], f"{shapes[0]}{result}"))


def _written(name: str, operands: list[str], result: str) -> str:
    given = ", ".join(
        f"%{letter}: tensor<{each}>" for letter, each in zip("abc", operands, strict=False)
    )
    letters = ", ".join(f"%{letter}" for letter, _ in zip("abc", operands, strict=False))
    types = ", ".join(f"tensor<{each}>" for each in operands)
    return (
        f"func.func private @form({given}) -> tensor<{result}> {{\n"
        f'  %0 = "{name}"({letters}) : ({types}) -> tensor<{result}>\n'
        f"  return %0 : tensor<{result}>\n}}\n"
    )


def instances(form: Form, only: Choice = lambda key: True) -> Iterator[Instance]:
    """Yields a form with each element that the verifier takes and that `only` chooses."""
    written = set[str]()
    for element in ELEMENTS:
        if not only((form.operation, form.variant, element)):
            continue
        text = _with_element(form.text, element)
        if text is None or text in written:
            continue
        written.add(text)
        instance = _verified(form, element, text)
        if instance is not None:
            yield instance


def _verified(form: Form, element: str, text: str) -> Instance | None:
    try:
        module = parse(text.replace("private @form(", "@main(", 1)).verify()
    except ToposError:
        return None
    main = module.function()
    if text == form.text:
        element = getattr(main.results[0].type, "element", element)
    return Instance(form.operation, form.variant, element, text, main.arguments, main.results)


def _with_element(text: str, element: str) -> str | None:
    """Returns a form's text with an element, or `None` where it has no such complex or real one."""
    is_complex = element.startswith("complex<")
    elements = {
        "T": element,
        "C": f"complex<{element}>",
        "R": element[8:-1] if is_complex else element,
    }
    if is_complex and PLACES.search(text) and re.search(r"(?<=[x<])C(?=>)", text):
        return None
    try:
        text = WORDS.sub(lambda match: _constant(match[0], element), text)
    except ValueError:
        return None
    return PLACES.sub(lambda match: elements[match[0]], text)


def _constant(word: str, element: str) -> str:
    """Returns a constant of an element as MLIR writes it; raises `ValueError` where it has none."""
    dtype = ELEMENTS[element]
    if element.startswith("complex<"):
        part = _constant(word, element[8:-1])
        return f"({part}, {part if word != 'ONE' else '0.0'})"
    if word in ("ZERO", "ONE"):
        number = str(int(word == "ONE"))
        truth = str(word == "ONE").lower()
        return truth if element == "i1" else f"{number}.0" if is_float(element) else number
    if element == "i1":
        return str(word == "HIGH").lower()
    known: Any = ml_dtypes
    if not is_float(element):
        limits = known.iinfo(dtype)
        return str(int(limits.min if word == "LOW" else limits.max))
    with np.errstate(all="ignore"):
        extreme = np.array([-np.inf if word == "LOW" else np.inf]).astype(dtype)
    if not np.isinf(extreme.astype(np.float64)).all():
        limits = known.finfo(dtype)
        extreme = np.array([limits.min if word == "LOW" else limits.max], dtype)
    bits = int(extreme.view(f"u{dtype.itemsize}")[0])
    return f"0x{bits:0{2 * dtype.itemsize}X}"


def is_float(element: str) -> bool:
    """Returns whether an element is one of floats, real ones."""
    return element.startswith(("f", "bf"))
