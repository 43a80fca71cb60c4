"""The syntax tree of texts in every form they are written in."""

from __future__ import annotations

import pytest

from topos.errors import ParseError
from topos.stablehlo.ir import (
    UNIT,
    Crossed,
    Dense,
    Operation,
    OtherType,
    Symbol,
    Tensor,
    TupleType,
    Typed,
    Unranked,
)
from topos.stablehlo.parser.parse import parse

F = Tensor((), "f32")
I32 = OtherType("i32")
M = Tensor((2, 3), "f32")


def only(line: str) -> Operation:
    """Returns the operation that `line` spells."""
    (function,) = parse(f"func.func @main() {{\n  {line}\n  return\n}}").functions
    assert function.body is not None
    return function.body.blocks[0].operations[0]


def test_a_module_with_everything_around_its_operations() -> None:
    text = """
    // A comment, then aliases.
    #loc1 = loc("file.py":12:8)
    #loc2 = loc(fused["a", callsite("b"(#loc1) at "c.py":1:2 to :9)])
    module @topos attributes {mhlo.num_partitions = 1 : i32, unit, "quoted key" = [1, "two"]} {
      func.func public @main(%v0: tensor<2x3xf32> {jax.buffer_donor = true} loc("w"),
                             %v1: tensor<f32> {tf.aliasing_output = 0 : i32})
          -> (tensor<2x3xf32> {jax.result_info = ""}, tensor<f32>) attributes {a.b = "c"} {
        %0 = call @f(%v1) : (tensor<f32>) -> tensor<f32> loc(#loc2)
        return %v0, %0 : tensor<2x3xf32>, tensor<f32> loc(unknown)
      } loc(#loc1)
      func.func private @f(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }
    } loc(#loc)
    #loc = loc(unknown)
    """
    module = parse(text)
    assert module.name == "topos"
    assert module.attributes == {
        "mhlo.num_partitions": Typed(1, I32),
        "unit": UNIT,
        "quoted key": (1, "two"),
    }
    main, inner = module.functions
    assert (main.name, inner.name) == ("main", "f")
    assert [argument.name for argument in main.arguments] == ["%v0", "%v1"]
    assert [argument.type for argument in main.arguments] == [M, F]
    assert [argument.attributes for argument in main.arguments] == [
        {"jax.buffer_donor": True},
        {"tf.aliasing_output": Typed(0, I32)},
    ]
    assert [result.type for result in main.results] == [M, F]
    assert main.attributes == {"a.b": "c", "sym_visibility": "public"}
    assert inner.attributes == {"sym_visibility": "private"}
    assert main.body is not None
    call, end = main.body.blocks[0].operations
    assert call == Operation(
        "func.call", ("%0",), ("%v1",), {"callee": "f"}, (), (F,), (F,), 9, 14, "#loc2"
    )
    assert isinstance(call.attributes["callee"], Symbol)
    assert (end.name, end.operands, end.operand_types) == ("func.return", ("%v0", "%0"), (M, F))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("unknown", "unknown"),
        ('"w"', "w"),
        ('"a\\22b\\\\"', 'a"b\\'),
        ('"file.py":12:8', "file.py:12:8"),
        ('"file.py":12:8 to 13:9', "file.py:12:8"),
        ('"w"("file.py":1:2)', "w (file.py:1:2)"),
        ("#loc7", "#loc7"),
        ('fused["a", "b"]', "fused[a, b]"),
        ('fused<{k = 1}>["a", unknown]', "fused[a, unknown]"),
        ('callsite("a" at callsite("b" at "c.py":1:2))', "a at b at c.py:1:2"),
    ],
)
def test_a_location_of_every_kind(written: str, read: str) -> None:
    assert only(f"%0 = stablehlo.negate %a : tensor<f32> loc({written})").location == read


def test_attributes_of_every_kind() -> None:
    read = only(
        '%0 = "x.y"() {a = -1 : i8, b = 2.5e-1, c = true, d = "s", e = @f, g = [1, [2]],'
        " h = {i = 1}, j = array<i1: true, false>, k = array<f32: 1.5>, l = f32,"
        " m = tensor<2x3xf32>, n = 0x1F : i64, o = #stablehlo<precision HIGH>,"
        " p = #mhlo.other<{1 -> <2>}>, q = #stablehlo.gather<offset_dims = [0], index_vector_dim ="
        " 1>, r = #stablehlo.conv<raw a = 1, b = 2>, s = (i1, i1) -> i1, t = loc(unknown)}"
        " : () -> tuple<tensor<f32>, tuple<>>"
    )
    values = dict(read.attributes)
    for key, wanted in (
        ("a", Typed(-1, OtherType("i8"))),
        ("b", 0.25),
        ("c", True),
        ("d", "s"),
        ("e", "f"),
        ("g", (1, (2,))),
        ("h", {"i": 1}),
        ("j", (True, False)),
        ("k", (1.5,)),
        ("l", "f32"),
        ("m", M),
        ("n", 31),
        ("o", "HIGH"),
        ("p", ("#mhlo.other<{1 -> <2>}>",)),
        ("q", {"offset_dims": (0,), "index_vector_dim": 1}),
        ("r", {"a": 1, "b": 2}),
    ):
        assert values[key] == wanted, key
    assert str(values["s"]) == "(i1, i1) -> (i1)"
    assert read.result_types == (TupleType((F, TupleType(()))),)
    assert str(read.result_types[0]) == "tuple<tensor<f32>, tuple<>>"


def test_the_generic_form_of_a_module_is_its_pretty_form() -> None:
    pretty = parse(
        "module @m { func.func private @main(%a: tensor<f32>) -> (tensor<f32> {k = 1}) {\n"
        " return %a : tensor<f32> } }"
    )
    generic = parse(
        '"builtin.module"() <{sym_name = "m"}> ({\n'
        ' "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "main",'
        ' res_attrs = [{k = 1}], sym_visibility = "private"}> ({\n ^bb0(%a: tensor<f32>):\n'
        ' "func.return"(%a) : (tensor<f32>) -> () }) : () -> () }) : () -> ()'
    )
    assert (generic.name, generic.functions[0].name) == (pretty.name, pretty.functions[0].name)
    for one, other in zip(generic.functions[0][1:3], pretty.functions[0][1:3], strict=True):
        assert one == other


def test_an_alias_stands_for_its_attribute_or_its_type() -> None:
    text = """
    #axes = array<i64: 1, 0>
    #all = {k = [#axes, #x.y<1>]}
    !matrix = tensor<2x3xf32>
    func.func @main(%a: !matrix) -> !matrix {
      %0 = "x.y"(%a) ({
        %1 = stablehlo.negate %a : !matrix
        stablehlo.return %1 : !matrix
      }) {permutation = #axes, all = #all} : (!matrix) -> tuple<!matrix>
      return %a : !matrix
    }
    """
    (function,) = parse(text).functions
    assert (function.arguments[0].type, function.results[0].type) == (M, M)
    assert function.body is not None
    operation, end = function.body.blocks[0].operations
    assert operation.attributes["permutation"] == (1, 0)
    assert operation.attributes["all"] == {"k": ((1, 0), ("#x.y<1>",))}
    assert (operation.operand_types, operation.result_types) == ((M,), (TupleType((M,)),))
    assert operation.regions[0].blocks[0].operations[0].result_types == (M,)
    assert end.operand_types == (M,)


def test_types_are_written_as_they_were_read() -> None:
    for text in ("tensor<f32>", "tensor<2x?x3xi8>", "tensor<3xcomplex<f32>>", "tensor<2xf32, #a>"):
        (type,) = only(f"%0 = stablehlo.negate %a : {text}").result_types
        assert str(type) == text


def test_crossed_lists_keep_their_sides() -> None:
    read = only('%0 = "x.y"(%a) {dims = [0] x [1]} : (tensor<f32>) -> tensor<f32>')
    assert read.attributes["dims"] == Crossed(((0,), (1,)))


def test_hexadecimal_digits_are_the_bits_of_a_stated_float() -> None:
    read = only(
        '%0 = "x.y"() {a = 0xFF800000 : f32, b = 0x3FF8000000000000 : f64, c = 0x3F : i64,'
        " d = array<f32: 0x3FC00000, 2.0>} : () -> i1"
    )
    assert read.attributes["a"] == Typed(float("-inf"), OtherType("f32"))
    assert (read.attributes["b"], read.attributes["c"]) == (1.5, 63)
    assert read.attributes["d"] == (1.5, 2.0)


def test_escapes_are_the_bytes_of_a_string() -> None:
    read = only('%0 = "x.y"() {a = "\\C3\\A9\\n", "\\22k" = @"a b"::@c} : () -> i1')
    assert read.attributes == {"a": "\u00e9\n", '"k': "a b::@c"}


def test_types_of_every_kind() -> None:
    read = only(
        '%0:6 = "x.y"() : () -> (tensor<*xf32>, !stablehlo.token,'
        " !quant.uniform<i8<-8:7>:f32, 1.0>, tensor<?x2xf32, #stablehlo.bounds<4, ?>>,"
        " !stablehlo.future<tensor<f32>, tuple<i1>>,"
        " tensor<2x!quant.uniform<i8:f32:0, {1.0:2, 3.0}>>)"
    )
    unranked, token, quantized, bounded, future, quantized_tensor = read.result_types
    assert unranked == Unranked("f32")
    assert token == OtherType("!stablehlo.token")
    assert quantized == OtherType("!quant.uniform<i8<-8:7>:f32, 1.0>")
    assert bounded == Tensor((None, 2), "f32", "#stablehlo.bounds<4, ?>")
    assert future == OtherType("!stablehlo.future<tensor<f32>, tuple<i1>>")
    assert quantized_tensor == Tensor((2,), "!quant.uniform<i8:f32:0, {1.0:2, 3.0}>")


def test_blocks_keep_their_labels_and_who_leads_to_them() -> None:
    (function,) = parse(
        'func.func @main(%a: i1) {\n  "cf.br"(%a)[^next] : (i1) -> ()\n^next(%b: i1):\n  return\n}'
    ).functions
    assert function.body is not None
    entry, following = function.body.blocks
    assert (entry.label, following.label) == ("", "^next")
    assert entry.operations[0].successors == ("^next",)


def test_a_mesh_stands_beside_the_functions() -> None:
    module = parse('module { sdy.mesh @mesh = <["x"=2]> func.func @main() { return } }')
    (mesh,) = module.others
    assert (mesh.name, mesh.attributes["sym_name"]) == ("sdy.mesh", "mesh")
    assert [function.name for function in module.functions] == ["main"]


def test_a_resource_is_the_constant_of_its_bytes() -> None:
    text = """
    func.func @main() {
      %0 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
      %1 = stablehlo.constant dense_resource<mask> : tensor<3xi1>
      %2 = stablehlo.constant dense_resource<__elided__> : tensor<2xf32>
      return
    }
    {-#
      dialect_resources: { builtin: {
        weights: "0x040000000000803F000000C0", mask: "0x01000000010001"
      } }
    #-}
    """
    (function,) = parse(text).functions
    assert function.body is not None
    weights, mask, elided, _ = [
        step.attributes.get("value") for step in function.body.blocks[0].operations
    ]
    assert weights == Dense('"0x0000803F000000C0"', Tensor((2,), "f32"), 0, 0)
    assert mask == Dense('"0x05"', Tensor((3,), "i1"), 0, 0)
    assert elided == Dense("dense_resource<__elided__>", Tensor((2,), "f32"), 0, 0)


UNNAMED = (
    (
        '%0 = "stablehlo.while"(%a) ({\n^bb0(tensor<i1>):\n"stablehlo.return"() : () -> ()\n})'
        " : (tensor<i1>) -> tensor<i1>",
        (3, 6),
    ),
    (
        "%0 = stablehlo.reduce(%a init: %a) across dimensions = [0] : (tensor<i1>, tensor<i1>)"
        " -> tensor<i1>\nreducer(%x: tensor<i1>, tensor<i1>) { return }",
        (3, 25),
    ),
)


@pytest.mark.parametrize(("line", "place"), UNNAMED)
def test_an_argument_of_a_block_has_a_name(line: str, place: tuple[int, int]) -> None:
    with pytest.raises(ParseError, match=r"a value such as %0, got 'tensor<i1>'") as caught:
        only(line)
    assert (caught.value.line, caught.value.column) == place


def test_arguments_of_a_function_have_names_where_it_has_a_body() -> None:
    parse("func.func private @f(tensor<i1>, i32)\nfunc.func private @g(%a: i1, %b: i1)")
    for text in ("@f(i1) { return }", "@f(%a: i1, i1)", "@f(%a: i1, i1) { return }"):
        with pytest.raises(ParseError, match="arguments of a function need a name each"):
            parse(f"func.func private {text}")


@pytest.mark.parametrize("extent", [2**63, 10**30, f"1{'0' * 6000}"])
def test_an_extent_out_of_range_is_told_at_its_place(extent: object) -> None:
    with pytest.raises(ParseError, match=r"an extent is less than 2\*\*63, got [0-9]") as caught:
        parse(f"func.func private @f(%a: tensor<2x{extent}xf32>)")
    assert (caught.value.line, caught.value.column) == (1, 35)
    with pytest.raises(ParseError) as caught:
        parse(f"func.func private @f(%a: tensor<2x\n {extent}xf32>)")
    assert (caught.value.line, caught.value.column) == (2, 2)
    (function,) = parse(f"func.func private @f(%a: tensor<{2**63 - 1}xf32>)").functions
    assert function.arguments[0].type == Tensor((2**63 - 1,), "f32")


def test_a_byte_order_mark_opens_a_text_only() -> None:
    mark = "\N{ZERO WIDTH NO-BREAK SPACE}"
    assert parse(f"{mark}func.func private @f()").functions[0].name == "f"
    with pytest.raises(ParseError):
        parse(f"func.func {mark}private @f()")
