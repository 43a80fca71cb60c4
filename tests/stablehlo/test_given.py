"""What people give by mistake: no attribute, type or operation is taken that no text can say."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.stablehlo.rule_texts import mlir_accepts
from topos.errors import ArgumentError, ParseError, ToposError, UnsupportedError
from topos.stablehlo import Block, Builder, Dense, Module, Operation, Region, Tensor, dialect, parse
from topos.stablehlo.given import of_python
from topos.stablehlo.ir import UNIT, Opaque, OtherType, Packed, TupleType, Typed, Unranked, Word

F = "tensor<3xf32>"
SCALAR = Tensor((), "i32")


def nested(count: int) -> Any:
    value: Any = 1
    for _ in range(count):
        value = (value,)
    return value


NONE = "an attribute is a number, a truth value, a string"
REFUSED: list[tuple[Any, str]] = [
    *[(each, NONE) for each in (None, object(), 1j, b"a", {1: 2}, np.arange(3), Word("HIGH"))],
    *[(each, "is no i64") for each in (2**64, -(2**63) - 1)],
    ("\ud800", "text that UTF-8 can hold"),
    (Typed(300, OtherType("i8")), "300 is no i8"),
    (Typed(1, OtherType("bogus")), "no type is called bogus"),
    (Packed((1, 2**40), "i32"), "array<i32: ...> holds something else"),
    (Packed((1,), "bogus"), "it reads back as"),
    (Opaque("1} {} module {"), "expected"),
    (Dense("1.5", SCALAR, 0, 0), "needs elements of i32, got 1.5"),
    (nested(400), "brackets nested this deep, more than 256 in one another"),
    (nested(4000), "brackets nested this deep, more than 256 in one another"),
]


def negated() -> Module:
    b = Builder()
    b.returns(dialect.negate(b.argument(F)))
    return b.module()


def changed(**parts: Any) -> Module:
    """Returns a module in whose negation a rewrite changed some parts."""
    return negated().replace(lambda each: each._replace(**parts) if each.results else None)


@pytest.mark.parametrize(("value", "told"), REFUSED, ids=lambda each: "")
def test_an_attribute_that_no_text_says_is_refused(value: Any, told: str) -> None:
    b = Builder()
    x = b.argument(F)
    for call in (
        lambda: dialect.negate(x, attributes={"a.b": value}),
        lambda: b.argument(F, attributes={"a.b": value}),
        lambda: changed(attributes={"a.b": value}),
    ):
        with pytest.raises(ArgumentError) as caught:
            call()
        assert "cannot take" in str(caught.value)
        assert told in str(caught.value)


def test_what_is_given_as_an_attribute_reads_back() -> None:
    given = [np.int64(3), np.float32(1.5), np.bool_(True), 2**63, [1, (2, "é\n\udc80")], {"a b": 1}]
    given += [UNIT, Word("f32"), Typed(-128, OtherType("i8")), float("nan"), Tensor((2,), "f32")]
    b = Builder()
    x = b.argument(F, attributes={f"a.b{place}": each for place, each in enumerate(given)})
    y = dialect.negate(x, attributes={f"a.b{place}": each for place, each in enumerate(given)})
    b.returns(dialect.reduce_precision(y, exponent_bits=np.int64(5), mantissa_bits=np.int8(9)))
    module = b.module()
    assert next(module.walk()).attributes["a.b0"] == 3
    for text in (module.text(), module.text(generic=True)):
        assert str(parse(text).verify()) == str(module)
        assert mlir_accepts(text)


ONE: Any = 1
ARRAY: Any = np.arange(3)
PARTS: list[tuple[str, Any]] = [
    *[(part, None) for part in ("attributes", "results", "operands", "regions", "result_types")],
    *[("attributes", []), ("results", ("x",)), ("results", (1,)), ("operands", "%x")],
    *[("operand_types", 1), ("result_types", ("x",)), ("successors", ("x",)), ("line", None)],
    *[
        ("regions", (1,)),
        ("regions", (Region((ONE,)),)),
        ("regions", (Region((Block((), (ONE,)),)),)),
    ],
]


@pytest.mark.parametrize(("part", "value"), PARTS, ids=lambda each: str(each))
def test_a_rewrite_gives_operations_of_the_tree(part: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=f"stablehlo.negate needs .* as its {part}, got"):
        changed(**{part: value})
    with pytest.raises(ArgumentError, match="an operation's name is text, got None"):
        changed(name=None)


MISNAMED: list[Callable[[Builder, Any], object]] = [
    lambda b, type: b.argument(type),
    lambda b, type: dialect.convert(b.argument(F), result=type),
    lambda b, type: dialect.iota(iota_dimension=0, result=[type], builder=b),
    lambda b, type: b.add("stablehlo.iota", attributes={"iota_dimension": 0}, results=[type]),
    lambda b, type: b.constant(1, type),
]


@pytest.mark.parametrize("type", ["tensor<3xf33>", Tensor((3,), "f33"), Unranked("f33")])
@pytest.mark.parametrize("call", MISNAMED)
def test_an_element_that_does_not_exist_is_told_at_the_call(
    call: Callable[[Builder, Any], object], type: Any
) -> None:
    with pytest.raises(ToposError, match=r"(?s)f33.*the elements are f64, f32") as caught:
        call(Builder(), type)
    assert "f33" in str(caught.value)


WRONG: list[tuple[Callable[[Builder, Module], object], str]] = [
    (lambda b, m: Builder(ONE), "a module's name is a string"),
    (lambda b, m: Builder("a::@b"), "a module's name is a string of UTF-8 without ::@"),
    (lambda b, m: b.function("\ud800").__enter__(), "a function's name is a string of UTF-8"),
    (lambda b, m: b.argument((3,), ARRAY), "no tensor has elements of"),
    (lambda b, m: b.argument((3,), "\ud800"), "no tensor has elements of"),
    (lambda b, m: b.argument(F, name=ARRAY), "a name is a letter, then"),
    (lambda b, m: b.add(ARRAY), "no operation is called array"),
    (
        lambda b, m: b.add("stablehlo.if", regions=ONE),
        "takes a list of functions as regions, got 1",
    ),
    (lambda b, m: dialect.iota(builder=ARRAY, iota_dimension=0), "takes a Builder as builder"),
    (lambda b, m: m.replace(ONE), "a rewrite is a function of an operation, got 1"),
    (lambda b, m: m.slice([ONE]), "results and inputs are lists of names"),
    (lambda b, m: m.function(ARRAY), "the module has no function"),
    (lambda b, m: m._replace(functions=(ONE,)).verify(), "a module holds functions, got 1"),
    (lambda b, m: changed(results=("%a#1",)), "names that count from %0#0 on"),
]


@pytest.mark.parametrize(("call", "told"), WRONG, ids=[told for _, told in WRONG])
def test_what_is_no_name_type_or_function_is_told(
    call: Callable[[Builder, Module], object], told: str
) -> None:
    module = negated()
    with pytest.raises(ToposError) as caught:
        call(Builder(), module)
    assert told in str(caught.value)


NUMBERS = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
# An operation, its keyword, the values that are wrong for it, and what it takes.
WANTED: list[tuple[str, str, Sequence[Any], str]] = [
    (
        "compare",
        "comparison_direction",
        ("<", ">=", "lt", 1),
        "one of EQ, NE, LT, LE, GT, GE as comparison_direction, such as 'EQ'",
    ),
    (
        "convolution",
        "dimension_numbers",
        ("NHWC", ("NHWC", "HWIO", "NHWC"), "[b, f]x[i, o]", 1),
        f"the axes of input, kernel and output as dimension_numbers, such as '{NUMBERS}'",
    ),
    (
        "convolution",
        "padding",
        ("SAME", (1, 1), ((1.5, 0),)),
        "a pair of low and high for each axis as padding, such as ((1, 1), (0, 2))",
    ),
    ("transpose", "permutation", (1, "01"), "a list of integers as permutation, such as (0, 1)"),
    (
        "all_reduce",
        "replica_groups",
        ("all", [0, 1], 1, [[0.5]]),
        "lists of devices, all of one length as replica_groups, such as [[0, 1]]",
    ),
    ("sort", "is_stable", ("no", 2), "True or False as is_stable, such as True"),
    (
        "dot",
        "precision_config",
        ("HIGH", ("high", "high")),
        "up to two of DEFAULT, HIGH, HIGHEST as precision_config, such as ('HIGHEST', 'HIGHEST')",
    ),
]


@pytest.mark.parametrize(("name", "keyword", "values", "takes"), WANTED)
def test_an_attribute_of_a_wrong_form_is_told_with_an_example(
    name: str, keyword: str, values: Sequence[Any], takes: str
) -> None:
    x = Builder().argument((2, 3), "f32")
    for value in values:
        with pytest.raises(ArgumentError) as caught:
            getattr(dialect, name)(x, x, **{keyword: value})
        assert str(caught.value) == f"stablehlo.{name} needs {takes}, got {value!r}"


def refusal(definition: Any, attribute: Any, value: Any) -> str:
    """Returns how an attribute refuses a value, or `""`; any other error is raised."""
    try:
        of_python(definition, attribute, value)
    except ArgumentError as error:
        return str(error)
    return ""


def test_every_attribute_tells_what_it_takes() -> None:
    never: list[Any] = [object(), {"x": object()}, nested(4000)]
    perhaps = ["<", 1.5, 1j, -1, 2**70, b"a", (("a",),), {}, {"mode": "<"}, np.array(["a"]), set()]
    for definition in dialect.definitions().values():
        for each in definition.declared_attributes:
            needs = f"needs {each.takes} as {each.name}, such as {each.example}, got "
            assert all(needs in refusal(definition, each, value) for value in never)
            faults = [refusal(definition, each, value) for value in perhaps]
            assert all(needs in fault for fault in faults if fault)
            if "..." not in each.example:
                assert of_python(definition, each, ast.literal_eval(each.example)) is not None


def accuracy(**fields: Any) -> Callable[[Builder], object]:
    return lambda b: dialect.tanh(b.argument(F), result_accuracy=fields)


def tupled(type: Any) -> Callable[[Builder], object]:
    return lambda b: dialect.tuple(b.argument(type))


def broadcast(b: Builder) -> object:
    groups = np.array([[0, 1]])
    return dialect.collective_broadcast(b.argument(F), b.argument(F), replica_groups=groups)


def precise(count: int) -> Callable[[Builder], object]:
    return lambda b: dialect.reduce_precision(b.argument(F), exponent_bits=8, mantissa_bits=count)


def chosen(b: Builder) -> object:
    x, test = b.argument((3,), "f32"), b.argument((), "i1")
    index = dialect.shape.shape_of(x, result="tensor<1xindex>")
    return dialect.if_(test, lambda: index, lambda: index)


def sharded(mesh: str, priority: str = "") -> Callable[[Builder], object]:
    text = f'#sdy.sharding_per_value<[<mesh<["a"={mesh}]>, [{{"a"}}{priority}]>]>'
    return lambda b: dialect.negate(b.argument(F), attributes={"sdy.sharding": Opaque(text)})


def finished(call: Callable[[Builder], object]) -> Module:
    b = Builder()
    call(b)
    b.returns()
    return b.module()


STRANGE: list[tuple[Callable[[Builder], object], str]] = [
    (accuracy(mode="TOLERANCE", strange=1), "and mode in result_accuracy, got atol, rtol, ulps"),
    (accuracy(mode="TOLERANCE", atol=np.inf), "needs tolerances of 0 or more"),
    (accuracy(mode="TOLERANCE", ulps=2**63), "needs tolerances of 0 or more"),
    (precise(2**31), "needs mantissa_bits below 2**31"),
    (
        precise(2**70),
        "an integer of i32 as mantissa_bits, such as 1, got 1180",
    ),
    (tupled(Unranked("f32")), "needs a ranked tensor as part, got tensor<*xf32>"),
    (tupled("tensor<3xi3>"), "takes no elements of i3"),
    (broadcast, "needs 1 operand, got 2"),
    (sharded("9223372036854775808"), "needs shardings such as"),
    (sharded("2", "p9223372036854775808"), "needs shardings such as"),
    (lambda b: b.argument(F, attributes={"a": 1}), "takes attributes of a dialect"),
    (lambda b: b.argument(F, attributes={ONE: 1}), "the names of attributes as text, got 1"),
    (lambda b: b.argument(TupleType(nested(400))), "is no type"),
    (lambda b: b.argument(OtherType("vector<2xbogus>")), "type vector<2xbogus> is not supported"),
    (lambda b: b.argument("tensor<3xi99999999>"), "no element is called 'i99999999'"),
]


@pytest.mark.parametrize(("call", "told"), STRANGE, ids=[told for _, told in STRANGE])
def test_what_mlir_refuses_is_refused(call: Callable[[Builder], object], told: str) -> None:
    with pytest.raises(ToposError) as caught:
        finished(call)
    assert told in str(caught.value)


def test_top_k_is_written_as_mlir_reads_it() -> None:
    b = Builder()
    b.returns(*dialect.chlo.top_k(b.argument(F), k=2, is_stable=False))
    assert "(%arg0, k = 2) {is_stable = false}" in str(b.module())
    assert mlir_accepts(str(b.module()))


def deep(count: int) -> Module:
    """Returns a module of loops in one another, made by hand."""
    one = negated()
    operations = one.functions[0].body.blocks[0].operations  # type: ignore[union-attr]
    for level in range(count):
        end = operations[-1]._replace(name="stablehlo.return", operands=(f"%{level}",))
        inside = Region((Block((), (*operations[:-1], end)),))
        held = Operation(
            "x.y", (f"%{level + 1}",), (), {}, (inside,), (), (Tensor((3,), "f32"),), 0, 0
        )
        operations = (held, operations[-1]._replace(operands=(f"%{level + 1}",)))
    function = one.functions[0]
    body = Region((Block(function.arguments, operations),))
    return one._replace(functions=(function._replace(body=body),))


@pytest.mark.parametrize("work", ["cost", "replace", "slice", "verify", "text"])
def test_regions_are_worked_on_as_deep_as_they_are_read(work: str) -> None:
    given: list[Any] = [["%250"]] if work == "slice" else []
    given += [lambda each: each] if work == "replace" else []
    if work != "verify":
        getattr(deep(250), work)(*given)
    reason = "nested this deep" + (", more than 256 in one another" if work != "text" else "")
    with pytest.raises(UnsupportedError, match=reason):
        getattr(deep(1000 if work == "text" else 300), work)(*given)


def test_a_builder_nests_regions_as_deep_as_its_text_is_read() -> None:
    def built(count: int) -> Module:
        b = Builder()
        x, test = b.argument(F), b.argument("tensor<i1>")

        def branch(level: int) -> Any:
            return dialect.if_(test, lambda: branch(level - 1), lambda: x) if level else x

        b.returns(branch(count))
        return b.module()

    deepest = built(119)
    assert str(parse(deepest.text(generic=True)).verify()) == str(deepest)
    with pytest.raises(UnsupportedError, match="regions nested this deep, more than 120 in one"):
        built(150)


@pytest.mark.parametrize(
    ("entry", "told"),
    [('"" = 1', "an attribute has a name"), ("a = HIGH", "a = HIGH is no attribute")],
)
def test_a_text_gives_every_attribute_a_name_and_a_value(entry: str, told: str) -> None:
    with pytest.raises(ParseError, match=told):
        parse(f"module attributes {{{entry}}} {{\n}}")
