"""Calls of the shipped targets that do not have their form: each refused by target and part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import pytest

from topos.errors import ExecutionError, VerifyError
from topos.runtimes import interpreter
from topos.runtimes.interpreter import run_text
from topos.runtimes.interpreter.custom_calls.call import Form, check_of
from topos.runtimes.interpreter.custom_calls.factorizations import TARGETS as FACTORS
from topos.runtimes.interpreter.custom_calls.lapack import TARGETS as SPECTRA

NAMES: Final = {
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "int32": "i32",
}
SIDE: Final = 3


def typed(form: Form, word: str) -> str:
    """Returns the type of a value of three rows and three columns."""
    extents = [SIDE - (letter == "j") for letter in word[1:]]
    element = NAMES[form.element(word[0]).name]
    return f"tensor<{''.join(f'{extent}x' for extent in extents)}{element}>"


def options(form: Form) -> dict[str, str]:
    """Returns the first allowed value of each option, as text."""
    found = {}
    for key, allowed in form.options.items():
        if isinstance(allowed, str):
            found[key] = f"{ord(allowed[0])} : ui8"
        else:
            found[key] = {bool: "true", int: "1 : i64"}[allowed]
    return found


def text(
    target: str, operands: list[str], results: list[str], configuration: Mapping[str, str]
) -> str:
    names = [f"%a{place}" for place in range(len(operands))]
    taken = ", ".join(f"{name}: {type}" for name, type in zip(names, operands, strict=True))
    given = ", ".join(f"{key} = {value}" for key, value in configuration.items())
    each = ", ".join(f"%r{place}" for place in range(len(results)))
    left = f"{each} = " if results else ""
    return (
        f"func.func @main({taken}) -> ({', '.join(results)}) {{\n"
        f"{left}stablehlo.custom_call @{target}({', '.join(names)})"
        f" {{mhlo.backend_config = {{{given}}}}} : ({', '.join(operands)})"
        f" -> ({', '.join(results)})\nreturn {each}{' : ' * bool(results)}{', '.join(results)}\n}}"
    )


def broken(
    form: Form, operands: list[str], results: list[str], given: dict[str, str]
) -> Iterator[tuple[list[str], list[str], dict[str, str], str]]:
    """Yields calls with one fault each, and what the message names."""
    for key in given:
        yield operands, results, {k: v for k, v in given.items() if k != key}, f"as {key} of"
        yield operands, results, {**given, key: '"x"'}, f"as {key} of"
    yield operands[1:], results, given, f"needs {len(operands)} operands"
    yield [*operands, operands[0]], results, given, f"needs {len(operands)} operands"
    yield operands, results[:-1], given, f"needs {len(results)} results"
    for what, types in (("operand", operands), ("result", results)):
        for place, type in enumerate(types):
            others = [type.replace("tensor<", "tensor<2x"), "tensor<3x3xi1>"]
            for other in others[what == "operand" and place == 0 :]:
                changed = [*types[:place], other, *types[place + 1 :]]
                both = (changed, results) if what == "operand" else (operands, changed)
                yield *both, given, f"as {what} {place}"


@pytest.mark.parametrize("target", [*FACTORS, *SPECTRA])
def test_a_call_of_lapack_has_its_form(target: str) -> None:
    form = check_of(target)
    assert isinstance(form, Form)
    operands, results = (
        [typed(form, word) for word in words] for words in (form.operands, form.results)
    )
    given = options(form)
    interpreter.RUNTIME.compile(text(target, operands, results, given))
    if target.startswith(("lapack_d", "lapack_c")):
        # The other precision of the same elements has the same form.
        return
    for taken, returned, chosen, message in broken(form, operands, results, given):
        with pytest.raises(VerifyError, match=f"@{target} needs") as raised:
            interpreter.RUNTIME.compile(text(target, taken, returned, chosen))
        assert message in str(raised.value)


F3 = "tensor<3xf32>"


@pytest.mark.parametrize(
    ("target", "operands", "results", "message"),
    [
        ("Sharding", [F3, F3], [F3], "needs a result for each of its 2 operands, got 1"),
        ("AllocateBuffer", [F3], [F3], "needs 0 operands, got 1"),
        ("shape_assertion", [F3], [], r"needs a truth value as its first operand"),
        ("shape_assertion", [], [], r"needs a truth value as its first operand, got none"),
        ("mhlo.tan", [F3, F3], [F3], "needs one operand and one result of its type"),
        ("mhlo.tan", ["tensor<3xi32>"], ["tensor<3xi32>"], "takes no elements of int32"),
        ("mhlo.erf", ["tensor<3xcomplex<f32>>"] * 1, ["tensor<3xcomplex<f32>>"], "takes no"),
        ("mhlo.topk", ["tensor<f32>"], ["tensor<f32>", "tensor<i32>"], "of rank 1 or more"),
        ("mhlo.topk", [F3], [F3], "needs 1 or 2 operands and 2 results, got 1 and 1"),
        ("mhlo.topk", [F3], ["tensor<9xf32>", "tensor<9xi32>"], "needs results that are part"),
        ("stablehlo.dynamic_top_k", [F3], [F3, F3], "needs results that are part"),
        ("ApproxTopK", [F3, "tensor<f32>"], [F3], "needs one function as called_computations"),
    ],
)
def test_a_call_of_another_target_has_its_form(
    target: str, operands: list[str], results: list[str], message: str
) -> None:
    with pytest.raises(VerifyError, match=rf"custom_call @{target} .*{message}"):
        interpreter.RUNTIME.compile(text(target, operands, results, {}))


def approximate(configuration: str, body: str, extent: int = 2) -> str:
    return (
        f"func.func private @before(%a: tensor<f32>, %b: tensor<f32>) -> {body}\n"
        f"func.func @main(%v: {F3}, %z: tensor<f32>) -> tensor<{extent}xf32> {{\n"
        "%r = stablehlo.custom_call @ApproxTopK(%v, %z) {called_computations = [@before],"
        f" mhlo.backend_config = {{{configuration}}}}} : ({F3}, tensor<f32>)"
        f" -> tensor<{extent}xf32>\nreturn %r : tensor<{extent}xf32>\n}}"
    )


BEFORE: Final = (
    "tensor<i1> {\n%r = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>)"
    " -> tensor<i1>\nreturn %r : tensor<i1>\n}"
)


@pytest.mark.parametrize(
    ("configuration", "message"),
    [("", "reduction_dim"), ("reduction_dim = 1 : i64", "an axis below 1 as reduction_dim")],
)
def test_an_approximate_selection_has_an_axis(configuration: str, message: str) -> None:
    with pytest.raises(VerifyError, match=rf"@ApproxTopK needs .*{message}"):
        interpreter.RUNTIME.compile(approximate(configuration, BEFORE))


def test_an_approximate_selection_has_a_function_to_a_truth_value() -> None:
    body = "tensor<f32> {\nreturn %a : tensor<f32>\n}"
    with pytest.raises(ExecutionError, match="needs a function to i1, got one to float32"):
        run_text(
            approximate("reduction_dim = 0 : i64", body), [np.ones(3, np.float32), np.float32(0)]
        )
