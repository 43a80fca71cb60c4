"""The stream of tokens: nesting is bounded, and an alias is defined once, before it is used."""

from __future__ import annotations

import numpy as np
import pytest

from topos.errors import ParseError, UnsupportedError
from topos.runtimes import verify
from topos.runtimes.interpreter.run import compiled
from topos.stablehlo.equality import same
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.parser.stream import DEEPEST
from topos.stablehlo.printer import printed

F = "tensor<f32>"
DECLARED = f"func.func private @main(%a: {F} {{x.y = #a}}, %b: !b)"


def branches(count: int) -> str:
    """Returns a module of as many branches in one another, each within two brackets."""
    body = "%0 = stablehlo.negate %a : tensor<f32>"
    for place in range(count):
        body = (
            f'%{place + 1} = "stablehlo.if"(%p) ({{\n{body}\n'
            f"stablehlo.return %{place} : {F}\n}}, {{\nstablehlo.return %a : {F}\n}})"
            f" : (tensor<i1>) -> {F}"
        )
    return f"func.func @main(%p: tensor<i1>, %a: {F}) -> {F} {{\n{body}\nreturn %{count} : {F}\n}}"


def attributed(opening: str, closing: str, count: int) -> str:
    """Returns a module with an attribute of as many brackets in one another."""
    value = f"{opening * count}1{closing * count}"
    return (
        f"func.func @main(%a: {F}) -> {F} {{\n"
        f"%0 = stablehlo.custom_call @Sharding(%a) {{k = {value}}} : ({F}) -> {F}\n"
        f"return %0 : {F}\n}}"
    )


def test_the_deepest_branches_are_verified_run_and_printed() -> None:
    deepest = (DEEPEST - 1) // 2
    # An alias has every part of the tree looked at once more.
    text = "#unused = 1 : i64\n" + branches(deepest)
    (got,) = compiled(text)(np.array(True), np.float32(3))
    assert got == -3
    again = printed(parse(text))
    assert again.count("stablehlo.if") == deepest
    verify(again)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a = ", "}")])
def test_the_deepest_attributes_are_verified_run_and_printed(opening: str, closing: str) -> None:
    text = attributed(opening, closing, DEEPEST - 2)
    verify(text)
    (got,) = compiled(text)(np.float32(3))
    assert got == 3
    printed(parse(text))
    shallow = attributed(opening, closing, 100)
    assert same(parse(printed(parse(shallow))), parse(shallow))


TOO_DEEP = (
    (branches(DEEPEST // 2), 129, 26),
    (attributed("[", "]", DEEPEST - 1), 2, 301),
    (f"func.func @main() -> {'tuple<' * 100_000}i1{'>' * 100_000} {{ return }}", 1, 1558),
)


@pytest.mark.parametrize(("text", "line", "column"), TOO_DEEP)
def test_what_nests_deeper_is_refused_at_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(UnsupportedError, match="nested this deep, more than 256") as caught:
        verify(text)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(("mark", "opening", "closing"), [("!", "tuple<", ">"), ("#", "[", "]")])
def test_aliases_of_aliases_nest_as_deep_as_what_they_stand_for(
    mark: str, opening: str, closing: str
) -> None:
    chain = [f"{mark}t0 = i1"]
    chain += [f"{mark}t{n + 1} = {opening}{mark}t{n}{closing}" for n in range(3000)]
    with pytest.raises(UnsupportedError, match="nested this deep") as caught:
        verify("\n".join([*chain, "func.func private @main()"]))
    assert caught.value.line == DEEPEST + 2


UNDEFINED = (
    ("#a = [#b]\n#b = [#a]\n", "line 1, column 7: #b is used before it is defined"),
    ("#a = [#a]\n", "line 1, column 7: #a is used before it is defined"),
    ("#b = 1 : i64\n", "line 2, column 48: #a is used before it is defined"),
    ("#a = 1\n#b = #c\n", "line 2, column 6: #c is used before it is defined"),
    ("#a = 1\n!b = tuple<!b>\n", "line 2, column 12: !b is used before it is defined"),
    ("#a = 1\n!b = i32\n#a = 2\n", "line 3, column 1: #a is defined twice"),
    ("#a = 1\n!b = i32\n!b = i64\n", "line 3, column 1: !b is defined twice"),
)


@pytest.mark.parametrize(("aliases", "told"), UNDEFINED)
def test_an_alias_is_defined_once_and_before_it_is_used(aliases: str, told: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(aliases + DECLARED)
    assert str(caught.value).startswith(told)


def test_an_alias_after_its_use_is_refused() -> None:
    with pytest.raises(ParseError, match="line 1, column 48: #a is used before"):
        parse(f"{DECLARED}\n#a = 1 : i64\n!b = i32")


def test_a_location_may_use_an_alias_that_follows() -> None:
    parse(
        f'#a = [{{k = 1}}, 2]\n!b = i32\n{DECLARED} loc(#place)\n#place = loc("f.py":1:2)\n'
        f"func.func @f() {{ return loc(callsite(#place at #other)) }}\n#other = loc(fused[#place])"
    )
