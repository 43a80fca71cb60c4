"""What the verifier takes and refuses of control flow, functions, tuples, tokens and transfers."""

from __future__ import annotations

import pytest

from tests.stablehlo.claims import claim, reason
from topos.runtimes import verify

V = "tensor<2xf32>"
TOKEN = "!stablehlo.token"
PAIR = f"tuple<{V}, tensor<i8>>"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = %d>"
ALIAS = (
    'call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<'
    "output_tuple_indices = [%s], operand_index = %d, operand_tuple_indices = [%s]>]"
)
LAYOUTS = (
    'call_target_name = "f", operand_layouts = [dense<[%s]> : tensor<2xindex>],'
    " result_layouts = [dense<0> : tensor<1xindex>]"
)
TAKEN = (
    ("tuple", (V, TOKEN), (f"tuple<{V}, {TOKEN}>",), ""),
    ("get_tuple_element", (PAIR,), ("tensor<i8>",), "index = 1 : i32"),
    ("after_all", (TOKEN, TOKEN), (TOKEN,), ""),
    ("optimization_barrier", (V, TOKEN), (V, TOKEN), ""),
    ("send", (V, TOKEN), (TOKEN,), CHANNEL % 1),
    ("recv", (TOKEN,), (V, TOKEN), f"{CHANNEL % 3}, is_host_transfer = true"),
    ("infeed", (TOKEN,), (V, TOKEN), 'infeed_config = "", layout = [[0]]'),
    ("custom_call", (PAIR,), ("tensor<i8>", V), ALIAS % ("0", 0, "1")),
    ("custom_call", ("tensor<2x3xf32>",), (V,), LAYOUTS % "1, 0"),
)
REFUSED = (
    (
        ("tuple", ("tensor<?xf32>",), (f"tuple<{V}>",), ""),
        "results in tuple<tensor<?xf32>>, got tuple<tensor<2xf32>>",
    ),
    (("get_tuple_element", (PAIR,), (V,), "index = 2 : i32"), "needs an index below 2, got 2"),
    (
        ("get_tuple_element", (PAIR,), (V,), "index = 0 : i64"),
        "needs index as a number of i32, got i64",
    ),
    (("after_all", (TOKEN, V), (TOKEN,), ""), "needs tokens, got tensor<2xf32>"),
    (
        ("optimization_barrier", (V,), ("tensor<?xf32>",), ""),
        "results in tensor<2xf32>, got tensor<?xf32>",
    ),
    (
        ("send", (V, TOKEN), (TOKEN,), CHANNEL % 2),
        "needs a channel of type DEVICE_TO_DEVICE, got DEVICE_TO_HOST",
    ),
    (
        ("recv", (TOKEN,), (V, TOKEN), f"{CHANNEL % 1}, is_host_transfer = true"),
        "needs a channel of type HOST_TO_DEVICE, got DEVICE_TO_DEVICE",
    ),
    (("recv", (TOKEN,), (), CHANNEL % 1), "needs a token as its last result, got nothing"),
    (
        ("infeed", (TOKEN,), (V, "tensor<i32>"), ""),
        "needs a token as its last result, got tensor<i32>",
    ),
    (
        ("infeed", (TOKEN,), (V, TOKEN), "layout = [0]"),
        "needs lists of integers as layout, got 0",
    ),
    (
        ("custom_call", (V,), (V,), 'call_target_name = "f", operand_layouts = []'),
        "needs layouts of both its operands and its results, or of neither",
    ),
    (
        ("custom_call", ("tensor<2x3xf32>",), (V,), LAYOUTS % "1, 1"),
        "needs a layout of the 2 axes of tensor<2x3xf32>, got [1, 1]",
    ),
    (
        ("custom_call", (PAIR,), ("tensor<i8>", V), ALIAS % ("0", 1, "1")),
        "needs an operand_index below 1, got 1",
    ),
    (
        ("custom_call", (PAIR,), ("tensor<i8>", V), ALIAS % ("0", 0, "0")),
        "needs an alias between values of one type, got tensor<2xf32> and tensor<i8>",
    ),
    (
        (
            "custom_call",
            (V,),
            (V,),
            'call_target_name = "f", api_version = 4 : i32, backend_config = ""',
        ),
        "needs a dictionary as backend_config of api_version 4, got ",
    ),
    (
        ("async_done", (f"!stablehlo.future<{V}>",), ("tensor<3xf32>",), ""),
        "results in tensor<2xf32>, got (tensor<3xf32>)",
    ),
)
GIVES = "{ stablehlo.return %a : tensor<2xf32> }"
BRANCHES = (
    (f"{GIVES}, {GIVES}", ""),
    (GIVES, "needs 2 regions (true branch, then false branch), got 1"),
    (
        f"{GIVES}, {{ stablehlo.return %p : tensor<i1> }}",
        "needs branches that return the same types, got (tensor<2xf32>) and (tensor<i1>)",
    ),
    (
        f"{GIVES}, {{ ^bb0(%x: {V}):\nstablehlo.return %x : {V} }}",
        "needs branches without arguments, got (tensor<2xf32>)",
    ),
)
BODY = f"^bb0(%x: {V}):\nstablehlo.return %x : {V}"
CONDITION = f"^bb0(%x: {V}):\nstablehlo.return %p : tensor<i1>"
LOOPS = (
    (CONDITION, BODY, ""),
    (CONDITION.replace("2x", "?x"), BODY.replace("2x", "?x"), ""),
    (BODY, BODY, "needs a condition that returns tensor<i1>, got (tensor<2xf32>)"),
    (
        "stablehlo.return %p : tensor<i1>",
        BODY,
        "needs a condition that takes (tensor<2xf32>), got ()",
    ),
    (
        CONDITION,
        CONDITION,
        "needs a body from (tensor<2xf32>) to the same, got (tensor<2xf32>) -> (tensor<i1>)",
    ),
)
FUNCTION = f"func.func private @f(%x: {V}) -> {V} {{ return %x : {V} }}\n"
CALLS = (
    (f"call @f(%a) : ({V}) -> {V}", ""),
    (f"call @g(%a) : ({V}) -> {V}", "func.call needs a function, got @g"),
    (
        f"call @f(%a) : ({V}) -> tensor<?xf32>",
        "func.call needs the types of @f, (tensor<2xf32>) -> (tensor<2xf32>),"
        " got (tensor<2xf32>) -> (tensor<?xf32>)",
    ),
    (f'stablehlo.composite "a.b" %a {{decomposition = @f}} : ({V}) -> {V}', ""),
    (
        f'stablehlo.composite "a" %a {{decomposition = @f}} : ({V}) -> {V}',
        "stablehlo.composite needs a name with a namespace, such as space.name, got 'a'",
    ),
    (
        f'stablehlo.composite "a.b" %a {{decomposition = @h}} : ({V}) -> {V}',
        "stablehlo.composite needs a function, got @h",
    ),
)
SLICE = (
    '%y = "stablehlo.slice"(%x) {start_indices = array<i64: 0>, limit_indices = array<i64: 1>,'
    f" strides = array<i64: 1>}} : ({V}) -> tensor<1xf32>\nstablehlo.return %y : tensor<1xf32>"
)
STARTED = (
    (f"^bb0(%x: {V}):\n{SLICE}", "tensor<1xf32>", ""),
    (
        f"^bb0(%x: {V}):\n{SLICE}",
        V,
        "results in !stablehlo.future<tensor<1xf32>>, got !stablehlo.future<tensor<2xf32>>",
    ),
    (BODY, V, "needs a region of one operation and a return, got 1"),
    (
        f"^bb0(%x: {V}):\n%y = stablehlo.negate %x : {V}\nstablehlo.return %y : {V}",
        V,
        "needs a collective or a slice in its region, got stablehlo.negate",
    ),
)

Case = tuple[str, tuple[str, ...], tuple[str, ...], str]


def inside(line: str) -> str:
    return f"{FUNCTION}func.func @main(%a: {V}, %p: tensor<i1>) {{\n{line}\nreturn\n}}"


def judged(text: str, message: str) -> None:
    if message:
        assert reason(text) == message
    else:
        verify(text)


@pytest.mark.parametrize("case", TAKEN)
def test_an_operation_that_keeps_its_rule(case: Case) -> None:
    name, operands, results, attributes = case
    verify(claim(f"stablehlo.{name}", operands, results, attributes))


@pytest.mark.parametrize(("case", "message"), REFUSED)
def test_an_operation_that_breaks_its_rule(case: Case, message: str) -> None:
    name, operands, results, attributes = case
    text = claim(f"stablehlo.{name}", operands, results, attributes)
    assert reason(text) == f"stablehlo.{name} {message}"


@pytest.mark.parametrize(("branches", "message"), BRANCHES)
def test_branches(branches: str, message: str) -> None:
    text = inside(f'%r = "stablehlo.if"(%p) ({branches}) : (tensor<i1>) -> {V}')
    judged(text, f"stablehlo.if {message}" if message else "")


@pytest.mark.parametrize(("condition", "body", "message"), LOOPS)
def test_loops(condition: str, body: str, message: str) -> None:
    text = inside(f'%r = "stablehlo.while"(%a) ({{\n{condition} }}, {{\n{body} }}) : ({V}) -> {V}')
    judged(text, f"stablehlo.while {message}" if message else "")


@pytest.mark.parametrize(("line", "message"), CALLS)
def test_calls(line: str, message: str) -> None:
    judged(inside(f"%r = {line}"), message)


@pytest.mark.parametrize(("body", "result", "message"), STARTED)
def test_what_runs_beside(body: str, result: str, message: str) -> None:
    future = f"!stablehlo.future<{result}>"
    text = inside(f'%r = "stablehlo.async_start"(%a) ({{\n{body} }}) : ({V}) -> {future}')
    judged(text, f"stablehlo.async_start {message}" if message else "")


def test_a_region_where_none_belongs() -> None:
    text = inside(f'%r = "stablehlo.add"(%a, %a) ({GIVES}) : ({V}, {V}) -> {V}')
    assert reason(text) == "stablehlo.add takes no region"


def test_a_region_does_not_end_the_function() -> None:
    ends = "{ func.return %a : tensor<2xf32> }"
    text = inside(f'%r = "stablehlo.if"(%p) ({ends}, {GIVES}) : (tensor<i1>) -> {V}')
    assert reason(text) == "func.return ends a function only"


def test_no_name_hides_another() -> None:
    hides = f"{{ %a = stablehlo.constant dense<1.0> : {V}\nstablehlo.return %a : {V} }}"
    text = inside(f'%r = "stablehlo.if"(%p) ({hides}, {GIVES}) : (tensor<i1>) -> {V}')
    assert reason(text) == "%a is defined twice"
    # Two regions side by side do not see each other.
    apart = hides.replace("%a", "%b")
    verify(inside(f'%r = "stablehlo.if"(%p) ({apart}, {apart}) : (tensor<i1>) -> {V}'))


def test_a_value_ends_with_its_region() -> None:
    defines = f"{{ %b = stablehlo.constant dense<1.0> : {V}\nstablehlo.return %b : {V} }}"
    text = inside(
        f'%r = "stablehlo.if"(%p) ({defines}, {GIVES}) : (tensor<i1>) -> {V}\n'
        f"%s = stablehlo.negate %b : {V}"
    )
    assert reason(text) == "stablehlo.negate uses %b, which is not defined"


def test_a_wrong_result_is_told_at_the_return() -> None:
    text = f"func.func @f(%a: {V}) -> tensor<f32> {{\n  return %a : {V}\n}}"
    message = "@f results in (tensor<f32>), but returns (tensor<2xf32>)"
    assert reason(text) == message


def test_an_operation_that_is_not_there() -> None:
    assert reason(inside(f"%r = stablehlo.negat %a : {V}")) == (
        "no operation is called stablehlo.negat; did you mean stablehlo.negate?"
    )
