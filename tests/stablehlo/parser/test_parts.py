"""Parts of a text that the grammar takes: what each is read as, or why it has no meaning there."""

from __future__ import annotations

from typing import Any

import pytest

from topos.errors import ParseError, TextError, UnsupportedError
from topos.stablehlo.ir import Crossed, Dense, OtherType, Packed, Record, Tensor, Typed
from topos.stablehlo.parser.parse import parse

V, F = "tensor<2xf32>", "tensor<f32>"
REDUCER = f"reducer(%x: {F}, %y: {F}, %z: {F}) {{\nstablehlo.return %x : {F}\n}}"


def main(line: str) -> str:
    return f"func.func @main(%a: {V}, %s: {F}) {{\n{line}\nreturn\n}}"


REFUSED = (
    ("module {\n#b = 1 : i64\n}", 2, "an alias or a section of resources inside a module"),
    ("module { }\nfunc.func private @f()", 1, "a module beside or inside another"),
    ("module { }\nmodule { }", 2, "a module beside or inside another"),
    (
        '"builtin.module"() ({\n"builtin.module"() ({}) : () -> ()\n}) : () -> ()',
        *(2, "a module inside another"),
    ),
    ('"func.func"() ({}) {sym_name = "f"} : () -> ()', 1, "func.func without a function_type"),
    (
        '"func.func"() ({}) {function_type = () -> (), sym_name = "f", sym_visibility = "odd"}'
        " : () -> ()",
        *(1, "a function is nested, private, public"),
    ),
    ('stablehlo.mesh @m = <["x"=2]>', 1, "stablehlo.mesh outside a function"),
    (main("%0 = arith.constant foo"), 2, "arith.constant is not written with foo"),
    (
        main(
            f"%0 = stablehlo.reduce(%a init: %s) across dimensions = [0] : ({V}, {F}) -> {F}\n"
            + REDUCER
        ),
        *(2, "a reducer takes two arguments for each operand"),
    ),
    ("module attributes {a = #stablehlo.gather<offset_dims = [x]>} {}", 1, "#stablehlo.gather<..."),
    ("module attributes {a = #stablehlo.gather<1, 2>} {}", 1, "#stablehlo.gather<...> holds somet"),
    ("module attributes {a = #stablehlo.dot<b = [0]>} {}", 1, "#stablehlo.dot<...> has no b, but "),
    (
        "module attributes {a = #stablehlo.gather<offset_dims = [], offset_dims = []>} {}",
        *(1, "#stablehlo.gather<...> has offset_dims twice"),
    ),
    ("module attributes {a = array<f32: 0x1ffffffff>} {}", 1, "array<f32: ...> holds something el"),
    ("module attributes {a = array<i1: 2>} {}", 1, "array<i1: ...> holds something else"),
    ("module attributes {a = 0xFFFFFFFFF : f32} {}", 1, "0xFFFFFFFFF are no bits of f32"),
    ("module attributes {a = 1.5 : index} {}", 1, "an index is no 1.5"),
    (f"module attributes {{a = {'1' * 101} }} {{}}", 1, "an integer is too long to be one"),
    (main("%0:0 = stablehlo.create_token : i1"), 2, "a count of results lies between 1 and 9999"),
    (main("%0:10000 = stablehlo.create_token : i1"), 2, "a count of results lies between 1 and 9"),
    (main(f"%0 = stablehlo.negate %a, dims = [0] : {V}"), 2, "stablehlo.negate is not written wit"),
    (main(f"%0 = stablehlo.reverse %a, dims = 0 : {V}"), 2, "stablehlo.reverse is not written wit"),
    (main(f"%0, %1 = stablehlo.negate %a : {V}"), 2, "stablehlo.negate names 2 results and states"),
    (main(f"%0 = stablehlo.add %a, %a : ({V}) -> {V}"), 2, "stablehlo.add has 2 operands and stat"),
    (main(f"%0 = stablehlo.negate %a [0:1] : {V}"), 2, "stablehlo.negate is not written with rang"),
    (main(f"%0 = stablehlo.negate dense<1.0> : {V}"), 2, "stablehlo.negate is not written with de"),
    ("func.func @main(%a: tensor<2xf32>, i1) { return }", 1, "arguments of a function need a name"),
    ("func.func private @f(tensor<9223372036854775808xf32>)", 1, "an extent is less than 2**63, g"),
    ("func.func private @f(%a: tensor<2xf32>, i1)", 1, "arguments of a function need a name each"),
)


@pytest.mark.parametrize(("text", "line", "told"), REFUSED, ids=range(len(REFUSED)))
def test_a_part_without_a_meaning_is_refused_at_its_place(text: str, line: int, told: str) -> None:
    with pytest.raises((ParseError, UnsupportedError)) as caught:
        parse(text)
    assert isinstance(caught.value, TextError)
    assert caught.value.reason.startswith(told)
    assert caught.value.line == line
    assert caught.value.column >= 1


FITTING = (
    *("-128 : i8", "255 : i8", "-128 : si8", "127 : si8", "0 : ui8", "255 : ui8", "0 : i0"),
    *("-9223372036854775808 : index", "9223372036854775807 : index", "0xFF : i8", "-1 : i4"),
)
BEYOND = (
    *("-129 : i8", "256 : i8", "-129 : si8", "128 : si8", "-1 : ui8", "256 : ui8", "1 : i0"),
    *("-9223372036854775809 : index", "9223372036854775808 : index", "1.5 : i8", "-9 : i4"),
)


def attribute(text: str) -> Any:
    return parse(f"module attributes {{a = {text}}} {{}}").attributes["a"]


@pytest.mark.parametrize("number", [*FITTING, *BEYOND])
def test_a_number_is_one_that_its_type_holds(number: str) -> None:
    if number in FITTING:
        read = attribute(number)
        assert read.value == int(number.partition(" ")[0], 0)
        assert number.endswith(str(read.type))
        packed = f"array<{number.partition(' : ')[2]}: {read.value}>"
        assert "index" in packed or attribute(packed) == (read.value,)
        return
    with pytest.raises(ParseError, match="is no "):
        attribute(number)


READ: tuple[tuple[str, Any], ...] = (
    ("1 : i1", True),
    ("-1 : i1", True),
    ("0 : i1", False),
    ("true", True),
    ("3 : i64", 3),
    ("0x10", 16),
    ("0x3F800000 : f32", Typed(1.0, OtherType("f32"))),
    ("2.0 : f64", 2.0),
    ('"a\\0Ab\\t\\\\c"', "a\nb\t\\c"),
    ("array<i64>", Packed(())),
    ("array<i8: 1, -2>", Packed((1, -2), "i8")),
    ("array<i1: true, 0>", Packed((True, False), "i1")),
    ("array<f32: 0x3F800000, 2.5>", Packed((1.0, 2.5), "f32")),
    ("[1] x [2, 3]", Crossed(((1,), (2, 3)))),
    ("[1] x [2] -> [3]", Crossed(((1,), (2,), (3,)))),
    ("#stablehlo<gather<offset_dims = [1]>>", Record({"offset_dims": (1,)}, "")),
    ("#stablehlo.gather<>", Record({}, "")),
    ("dense<1> : tensor<2xi8>", Dense("1", Tensor((2,), "i8"), 0, 0)),
)


@pytest.mark.parametrize(("text", "wanted"), READ, ids=[text for text, _ in READ])
def test_an_attribute_is_read_as_what_it_says(text: str, wanted: Any) -> None:
    read = attribute(text)
    assert read == wanted
    assert type(read) is type(wanted)
    assert getattr(read, "element", "") == getattr(wanted, "element", "")


def test_aliases_stand_in_every_kind_of_part() -> None:
    text = """#n = 7 : i64
    !t = tensor<2xf32>
    !e = f32
    #b = #stablehlo.bounds<3>
    module attributes {a = [#n], b = {k = #n}, c = #x.y<#n>, d = (!t) -> !t,
      e = #stablehlo.gather<index_vector_dim = 2>, f = "s" : !t, g = [[1] x [2]], h = tuple<!t>,
      i = tensor<*x!e>, j = tensor<?xf32, #b>, k = dense<1.0> : !t} {}"""
    plain = text.replace("#n]", "7]").replace("k = #n", "k = 7").replace("!t", "tensor<2xf32>")
    plain = plain.replace("!e", "f32")
    plain = plain.replace("#x.y<#n>", "#x.y<7>").replace("f32, #b", "f32, #stablehlo.bounds<3>")
    plain = plain.partition("module")[2]
    assert parse(text).attributes == parse(f"module{plain}").attributes
