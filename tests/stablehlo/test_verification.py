"""The messages of modules that can be read and are wrong, or hold something unknown."""

from __future__ import annotations

import pytest

from topos.errors import TextError, UnsupportedError, VerifyError
from topos.runtimes import verify
from topos.runtimes.interpreter import RUNTIME

T = "tensor<2xf32>"
DOT = f"({T}, {T}) -> tensor<f32>"


def function(line: str) -> str:
    return (
        "func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {\n"
        f"  {line}\n  return %0 : tensor<2xf32>\n}}\n"
    )


INVALID = (
    ("module {}", "line 1: a module needs a function @main"),
    ("func.func @f() { return }", "line 1: a module needs a function @main"),
    ("func.func @main() { }", "line 1: a block ends in a return"),
    ("func.func @main() { return } func.func @main() { return }", "line 1: @main is defined twice"),
    (
        "func.func @main() {\ncall @g() : () -> ()\nreturn }",
        "line 2: func.call needs a function, got @g",
    ),
    (
        "func.func @main() -> tensor<f32> { return }",
        "line 1: @main results in (tensor<f32>), but returns ()",
    ),
    (
        function(f"%0 = stablehlo.add %a, %c : {T}"),
        "line 2: stablehlo.add uses %c, which is not defined",
    ),
    (
        function(f"%0 = stablehlo.add %a, %0 : {T}"),
        "line 2: stablehlo.add uses %0, which is not defined",
    ),
    (function(f"%0 = stablehlo.add %a : {T}"), "line 2: stablehlo.add needs 2 operands, got 1"),
    (
        function(
            f"%0 = stablehlo.add %a, %b : {T}\n"
            f"%0:2 = stablehlo.optimization_barrier %a, %b : {T}, {T}"
        ),
        "line 3: %0 is defined twice",
    ),
    (
        function(
            f"%0:2 = stablehlo.optimization_barrier %a, %b : {T}, {T}\n"
            f"%0 = stablehlo.add %a, %b : {T}"
        ),
        "line 3: %0 is defined twice",
    ),
    (
        function(f'%0:2 = "stablehlo.add"(%a, %b) : ({T}, {T}) -> ({T}, {T})'),
        "line 2: stablehlo.add has 1 result, got 2",
    ),
    (
        function(f"%0 = stablehlo.negate %a, %b : {T}"),
        "line 2: stablehlo.negate needs 1 operand, got 2",
    ),
    (
        function("%0 = stablehlo.add %a, %b : tensor<3xf32>"),
        "line 2: stablehlo.add results in tensor<2xf32>, got tensor<3xf32>",
    ),
    (
        function(f"%0 = stablehlo.add %a, %b : ({T}, tensor<f32>) -> {T}"),
        f"line 2: stablehlo.add states ({T}, tensor<f32>), got ({T}, {T})",
    ),
    (
        function(f"%a = stablehlo.negate %b : {T}"),
        "line 2: %a is defined twice",
    ),
    (
        function(f'%0 = "stablehlo.add"(%a, %b) : ({T}, {T}) -> ({T}, {T})'),
        "line 2: stablehlo.add names 1 results and states 2",
    ),
    (
        function(f'"func.return"(%a) : ({T}) -> ()'),
        "line 2: func.return ends its block too early",
    ),
    (
        "func.func @main(%a: tensor<f32>) -> tensor<f32> {\nreturn %a : tensor<f64> }",
        "line 2: func.return states (tensor<f64>), got (tensor<f32>)",
    ),
    (
        function(f"%0 = stablehlo.not %a : {T}"),
        "line 2: stablehlo.not takes no elements of f32 as operand",
    ),
    (
        function(f"%0 = stablehlo.compare UP, %a, %b : ({T}, {T}) -> tensor<2xi1>"),
        "line 2: stablehlo.compare needs one of EQ, NE, LT, LE, GT, GE as comparison_direction,"
        " got UP",
    ),
    (
        function(f"%0 = stablehlo.compare EQ, %a, %b, SIGNED : ({T}, {T}) -> tensor<2xi1>"),
        "line 2: stablehlo.compare does not compare elements of f32 as SIGNED",
    ),
    (
        function(f"%0 = stablehlo.select %a, %a, %b : {T}, {T}"),
        f"line 2: stablehlo.select needs a mask of i1 that is scalar or as {T}, got {T}",
    ),
    (
        function(f"%0 = stablehlo.transpose %a, dims = [1, 0] : ({T}) -> {T}"),
        "line 2: stablehlo.transpose needs distinct axes below 1 as permutation, got [1, 0]",
    ),
    (
        function(f"%0 = stablehlo.reshape %a : ({T}) -> tensor<3xf32>"),
        f"line 2: stablehlo.reshape cannot turn {T} into tensor<3xf32>",
    ),
    (
        function(f"%0 = stablehlo.broadcast_in_dim %a, dims = [0] : ({T}) -> tensor<3xf32>"),
        f"line 2: stablehlo.broadcast_in_dim cannot broadcast {T} along [0] to tensor<3xf32>",
    ),
    (
        function(f"%0 = stablehlo.slice %a [0:3] : ({T}) -> tensor<3xf32>"),
        f"line 2: stablehlo.slice needs ranges inside {T}, got 0:3:1",
    ),
    (
        function(f"%0 = stablehlo.concatenate %a, %b, dim = 1 : ({T}, {T}) -> {T}"),
        "line 2: stablehlo.concatenate needs distinct axes below 1 as dimension, got [1]",
    ),
    (
        function(f"%0 = stablehlo.pad %a, %b, low = [0], high = [0] : ({T}, {T}) -> {T}"),
        f"line 2: stablehlo.pad needs a scalar as filler, got {T}",
    ),
    (
        function(f"%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [1] : {DOT}"),
        "line 2: stablehlo.dot_general needs distinct axes below 1"
        " as batching and contracting dimensions, got [1]",
    ),
    (
        function(f"%0 = stablehlo.dot_general %a, %b, precision = [BEST] : {DOT}"),
        "line 2: stablehlo.dot_general needs up to two of DEFAULT, HIGH, HIGHEST as "
        "precision_config, got ('BEST',)",
    ),
    (
        function(
            "%0 = stablehlo.reduce(%a init: %b) applies stablehlo.add"
            f" across dimensions = [0] : {DOT}"
        ),
        f"line 2: stablehlo.reduce needs a body that returns the shape of {T}, got tensor<f32>",
    ),
    (
        function(f'%0 = "stablehlo.iota"() : () -> {T}'),
        "line 2: stablehlo.iota needs the attribute iota_dimension",
    ),
    (
        function(f"%0 = stablehlo.iota dim = 1 : {T}"),
        "line 2: stablehlo.iota needs distinct axes below 1 as dimension, got [1]",
    ),
    (
        "func.func @main(%a: tensor<f32>) {\ncall @g(%a) : (tensor<f32>) -> ()\nreturn }\n"
        "func.func @g() { return }",
        "line 2: func.call needs the types of @g, () -> (), got (tensor<f32>) -> ()",
    ),
    (
        "func.func @main() { return }\n"
        "func.func private @unused() -> tensor<f32> {\nreturn %x : tensor<f32> }",
        "line 3: func.return uses %x, which is not defined",
    ),
)
MISNAMED = (
    (f"%0 = stablehlo.frobnicate %a, %b : {T}", "no operation is called stablehlo.frobnicate"),
    (
        f"%0 = stablehlo.multiplly %a, %b : {T}",
        "no operation is called stablehlo.multiplly; did you mean stablehlo.multiply?",
    ),
    (
        f'%0 = "chlo.broadcast_subtrac"(%a, %b) : ({T}, {T}) -> {T}',
        "no operation is called chlo.broadcast_subtrac; did you mean chlo.broadcast_subtract?",
    ),
)
UNSUPPORTED = (
    (
        function(f'%0 = "other.add"(%a) : ({T}) -> {T}'),
        "line 2: other.add is of a dialect that is not read",
    ),
    (
        function(f'%0 = "sdy.later"(%a) ({{}}) : ({T}) -> {T}'),
        "line 2: sdy.later is not supported",
    ),
    (
        "func.func @main(%a: tensor<2xf32, #x.y>) { return }",
        "line 1: type tensor<2xf32, #x.y> is not supported",
    ),
    (
        "func.func @main() {\nreturn\n^bb1:\nreturn }",
        "line 1: a region of several blocks is not supported",
    ),
    (
        "module { module { } }\nfunc.func @main() { return }",
        "line 1: a module inside another",
    ),
    ('func.func @main() { return }\n"x.y"() : () -> ()', "line 2: x.y outside a function"),
)
# These verify, and have no meaning as a run of arrays.
NOT_RUN = (
    (
        "func.func @main(%a: tensor<*xf32>) { return }",
        "line 1: type tensor<*xf32> is not supported",
    ),
    (
        "\nfunc.func @main(%a: !stablehlo.token) { return }",
        "line 2: type !stablehlo.token is not supported",
    ),
    (
        "func.func @main(%a: tuple<tensor<f32>>) { return }",
        "line 1: type tuple<tensor<f32>> is not supported",
    ),
    ("func.func private @main()", "line 1: @main has no body"),
    (
        "func.func @main() {\ncall @main() : () -> ()\nreturn }",
        "line 2: @main calls itself, which is not supported",
    ),
    (
        function(
            f'%0 = "stablehlo.collective_reduce"(%a) ({{\n'
            "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
            '"stablehlo.return"(%x) : (tensor<f32>) -> ()\n'
            f"}}) {{replica_groups = dense<0> : tensor<1x1xi64>}} : ({T}) -> {T}"
        ),
        "line 2: stablehlo.collective_reduce is not supported",
    ),
)


def told(error: TextError) -> str:
    return f"line {error.line}: {error.reason}" if error.line else error.reason


@pytest.mark.parametrize(("text", "message"), INVALID)
def test_a_module_that_breaks_a_rule(text: str, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        RUNTIME.compile(text)
    assert told(caught.value) == message
    assert caught.value.column


@pytest.mark.parametrize(("line", "message"), MISNAMED)
def test_a_name_that_no_operation_has(line: str, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(function(line))
    assert told(caught.value) == f"line 2: {message}"
    assert caught.value.column == 8


def test_a_broken_rule_is_shown_with_its_line_and_a_caret() -> None:
    text = (
        "func.func @main(%a: tensor<2xf32>) {\n  %0 = stablehlo.negate %b : tensor<2xf32>\nreturn }"
    )
    with pytest.raises(VerifyError) as caught:
        RUNTIME.compile(text)
    assert str(caught.value) == (
        "line 2, column 8: stablehlo.negate uses %b, which is not defined\n"
        "  %0 = stablehlo.negate %b : tensor<2xf32>\n"
        "       ^"
    )


@pytest.mark.parametrize(("text", "message"), UNSUPPORTED)
def test_a_module_with_something_that_is_not_read(text: str, message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        verify(text)
    assert told(caught.value) == message


@pytest.mark.parametrize(("text", "message"), NOT_RUN)
def test_a_module_that_verifies_and_does_not_run(text: str, message: str) -> None:
    verify(text)
    with pytest.raises(UnsupportedError) as caught:
        RUNTIME.compile(text)
    assert told(caught.value) == message
    assert caught.value.column


@pytest.mark.parametrize("depth", [400, 4000])
def test_a_text_nested_too_deep_is_refused_in_words(depth: int) -> None:
    end = '"stablehlo.return"() : () -> ()'
    after = f"}}, {{{end}}}) : (tensor<i1>) -> ()"
    text = (
        "func.func @main(%a: tensor<i1>) {"
        + '"stablehlo.if"(%a) ({' * depth
        + end
        + end.join([after] * depth)
        + "return }"
    )
    with pytest.raises(UnsupportedError, match="nested this deep"):
        verify(text)
