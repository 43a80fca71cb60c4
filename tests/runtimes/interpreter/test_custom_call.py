"""Custom calls: the registry, what a kernel is told, and the targets that jax exports."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos.errors import (
    ArgumentError,
    ExecutionError,
    UnavailableError,
    UnsupportedError,
    VerifyError,
)
from topos.runtimes import interpreter, verify
from topos.runtimes.interpreter import run_text
from topos.runtimes.interpreter.custom_calls import CustomCall, register_custom_call

Array = npt.NDArray[Any]
Run = Callable[..., Array]

PAIR = "tensor<2xf32>"
ONE_TWO = np.array([1, 2], np.float32)


def text_of(target: str, attributes: str = "") -> str:
    return (
        f"func.func @main(%a: {PAIR}) -> {PAIR} {{\n"
        f"%r = stablehlo.custom_call @{target}(%a) {{{attributes}}} : ({PAIR}) -> {PAIR}\n"
        f"return %r : {PAIR}\n}}"
    )


def test_a_registered_kernel_runs_for_its_target() -> None:
    @register_custom_call("test.doubled")
    def doubled(call: CustomCall, operand: Array) -> Array:
        return operand * np.float32(2)

    (got,) = run_text(text_of("test.doubled"), [ONE_TWO])
    assert got.tolist() == [2, 4]
    # The decorator leaves the function as it was.
    assert callable(doubled)


def test_a_kernel_is_told_what_the_text_states() -> None:
    calls: list[CustomCall] = []

    def told(call: CustomCall, operand: Array) -> list[Array]:
        calls.append(call)
        return [operand]

    register_custom_call("test.told", told)
    attributes = (
        'api_version = 4 : i32, backend_config = {scale = 3 : i64, name = "x", on = true},'
        " numbers = dense<[5, 6]> : tensor<2xi32>,"
        " operand_layouts = [dense<0> : tensor<1xindex>],"
        " result_layouts = [dense<0> : tensor<1xindex>]"
    )
    run_text(text_of("test.told", attributes), [ONE_TWO])
    (call,) = calls
    assert call.target == "test.told"
    assert call.configuration == {"scale": 3, "name": "x", "on": True}
    assert call.attributes["numbers"].tolist() == [5, 6]
    assert call.operand_layouts == call.result_layouts == ((0,),)
    assert [str(stated) for stated in call.results] == ["float32[2]"]
    assert call.exact


def test_an_unknown_target_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"@test.unknown is not supported; register_custom"):
        interpreter.RUNTIME.compile(text_of("test.unknown"))


def test_a_target_is_replaced_only_where_that_is_said() -> None:
    def zero(call: CustomCall, operand: Array) -> Array:
        return operand * np.float32(0)

    register_custom_call("test.twice", zero)
    with pytest.raises(ArgumentError, match=r"custom_call @test.twice has a kernel already"):
        register_custom_call("test.twice", zero)
    with pytest.raises(ArgumentError, match=r"custom_call @Sharding has a kernel already"):
        register_custom_call("Sharding", zero)
    before = interpreter.RUNTIME.compile(text_of("test.twice"))
    register_custom_call("test.twice", lambda call, operand: operand, replace=True)
    # What was compiled keeps its kernel.
    assert before(ONE_TWO)[0].tolist() == [0, 0]
    assert run_text(text_of("test.twice"), [ONE_TWO])[0].tolist() == [1, 2]


def test_a_program_may_replace_what_is_shipped() -> None:
    seen: list[float] = []

    def counted(call: CustomCall, operand: Array) -> Array:
        seen.extend(operand.tolist())
        return operand

    register_custom_call("xla.sdy.Sharding", counted, replace=True)
    assert run_text(text_of("xla.sdy.Sharding"), [ONE_TWO])[0].tolist() == [1, 2]
    assert seen == [1, 2]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(3, np.float32), r"needs float32\[2\] as result 0, got float32\[3\]"),
        (np.zeros(2), r"needs float32\[2\] as result 0, got float64\[2\]"),
        ((ONE_TWO, ONE_TWO), "needs a kernel that returns 1 results, got 2"),
        (None, "needs a kernel that returns 1 results, got 0"),
        (([[1.0], [1.0, 2.0]],), "failed: ValueError"),
    ],
)
def test_results_are_held_to_the_text(value: Any, message: str) -> None:
    register_custom_call("test.wrong", lambda call, operand: value, replace=True)
    with pytest.raises(ExecutionError, match=f"custom_call @test.wrong {message}"):
        run_text(text_of("test.wrong"), [ONE_TWO])


def test_what_a_kernel_raises_is_told_with_its_target() -> None:
    def broken(call: CustomCall, operand: Array) -> Array:
        raise KeyError("absent")

    register_custom_call("test.broken", broken)
    with pytest.raises(ExecutionError, match=r"@test.broken failed: KeyError: 'absent'") as raised:
        run_text(text_of("test.broken"), [ONE_TWO])
    assert isinstance(raised.value.__cause__, KeyError)


def test_a_kernel_cannot_write_its_operands() -> None:
    def writing(call: CustomCall, operand: Array) -> Array:
        operand[0] = 9
        return operand

    register_custom_call("test.writing", writing)
    given = ONE_TWO.copy()
    with pytest.raises(ExecutionError, match=r"@test.writing failed: ValueError"):
        run_text(text_of("test.writing"), [given])
    assert given.tolist() == [1, 2]


def test_a_call_may_have_no_result_or_a_tuple_of_them() -> None:
    seen: list[list[float]] = []
    register_custom_call("test.seen", lambda call, operand: seen.append(operand.tolist()))
    register_custom_call("test.both", lambda call, operand: (operand, -operand))
    text = (
        f"func.func @main(%a: {PAIR}) -> {PAIR} {{\n"
        f"stablehlo.custom_call @test.seen(%a) {{has_side_effect = true}} : ({PAIR}) -> ()\n"
        f"%t = stablehlo.custom_call @test.both(%a) : ({PAIR}) -> tuple<{PAIR}, {PAIR}>\n"
        f"%r = stablehlo.get_tuple_element %t[1] : (tuple<{PAIR}, {PAIR}>) -> {PAIR}\n"
        f"return %r : {PAIR}\n}}"
    )
    assert run_text(text, [ONE_TWO])[0].tolist() == [-1, -2]
    assert seen == [[1, 2]]


@pytest.mark.parametrize("target", ["Sharding", "annotate_device_placement"])
def test_placement_changes_nothing(target: str) -> None:
    (got,) = run_text(text_of(target, 'mhlo.sharding = "{replicated}"'), [ONE_TWO])
    assert got.tobytes() == ONE_TWO.tobytes()


def assertion(truth: str) -> str:
    return (
        f"func.func @main(%n: tensor<i64>) -> tensor<i64> {{\n"
        f"%t = stablehlo.constant dense<{truth}> : tensor<i1>\n"
        f"stablehlo.custom_call @shape_assertion(%t, %n) {{api_version = 2 : i32,"
        f' error_message = "b is {{0}}, not {{1}}", has_side_effect = true}}'
        f" : (tensor<i1>, tensor<i64>) -> ()\nreturn %n : tensor<i64>\n}}"
    )


def test_an_assertion_tells_its_numbers() -> None:
    assert run_text(assertion("true"), [np.int64(7)])[0] == 7
    with pytest.raises(ExecutionError, match=r"b is 7, not \{1\}"):
        run_text(assertion("false"), [np.int64(7)])


def approximate(comparison: str, count: int) -> str:
    values, places = "tensor<2x6xf32>", "tensor<2x6xi32>"
    results = f"tensor<2x{count}xf32>, tensor<2x{count}xi32>"
    return (
        "func.func private @before(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>,"
        " %j: tensor<i32>) -> tensor<i1> {\n"
        f"%r = stablehlo.compare {comparison}, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "return %r : tensor<i1>\n}\n"
        f"func.func @main(%v: {values}) -> ({results}) {{\n"
        f"%p = stablehlo.iota dim = 1 : {places}\n"
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%m = stablehlo.constant dense<-1> : tensor<i32>\n"
        "%r:2 = stablehlo.custom_call @ApproxTopK(%v, %p, %z, %m) {called_computations ="
        " [@before], mhlo.backend_config = {aggregate_to_topk = true, recall_target = 0.95 : f32,"
        f" reduction_dim = 1 : i64, top_k = {count} : i64}}}}"
        f" : ({values}, {places}, tensor<f32>, tensor<i32>) -> ({results})\n"
        f"return %r#0, %r#1 : {results}\n}}"
    )


@pytest.mark.parametrize("name", ["@absent", "@before, @main::@before"])
def test_the_functions_that_a_call_names_are_in_the_module(name: str) -> None:
    with pytest.raises(
        VerifyError, match=r"needs a function, got @.* among its called_computations"
    ):
        verify(approximate("GT", 1).replace("[@before]", f"[{name}]"))


@pytest.mark.parametrize("count", [1, 3, 6])
def test_an_approximate_selection_is_the_exact_one(count: int) -> None:
    values = np.array([[3, 1, 3, 9, -2, 9], [0, 5, 5, 5, 5, 0]], np.float32)
    descending = np.argsort(-values, axis=1, kind="stable")[:, :count]
    best, places = run_text(approximate("GT", count), [values])
    np.testing.assert_array_equal(places, descending)
    np.testing.assert_array_equal(best, np.take_along_axis(values, descending, 1))
    _, places = run_text(approximate("LT", count), [values])
    ascending = np.argsort(values, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(places, ascending)


def test_a_selection_keeps_the_order_of_ties_and_puts_nan_first() -> None:
    text = (
        "func.func @main(%a: tensor<5xf32>) -> tensor<4xi32> {\n"
        "%v, %r = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 4 : i64,"
        " largest = true}} : (tensor<5xf32>) -> (tensor<4xf32>, tensor<4xi32>)\n"
        "return %r : tensor<4xi32>\n}"
    )
    values = np.array([1, 7, np.nan, 7, 2], np.float32)
    (places,) = run_text(text, [values])
    assert places.tolist() == [2, 1, 3, 4]
    # jax gives the count of a dynamic one as an operand too.
    dynamic = text.replace("%a: tensor<5xf32>", "%a: tensor<5xf32>, %k: tensor<i64>")
    dynamic = dynamic.replace("mhlo.topk(%a)", "stablehlo.dynamic_top_k(%a, %k)")
    dynamic = dynamic.replace(": (tensor<5xf32>)", ": (tensor<5xf32>, tensor<i64>)")
    (again,) = run_text(dynamic, [values, np.int64(4)])
    assert again.tolist() == places.tolist()


def test_old_spellings_of_functions_compute_them() -> None:
    (got,) = run_text(text_of("mhlo.tan"), [ONE_TWO])
    np.testing.assert_array_equal(got, np.tan(ONE_TWO.astype(np.float64)).astype(np.float32))
    (got,) = run_text(text_of("mhlo.erf"), [ONE_TWO])
    np.testing.assert_allclose(got, [0.8427008, 0.9953223], rtol=1e-6)


def test_scipy_is_named_where_it_is_needed_and_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    type = "tensor<2x2xf32>"
    text = (
        f"func.func @main(%a: {type}) -> {type} {{\n"
        "%r:3 = stablehlo.custom_call @lapack_sgehrd_ffi(%a) {mhlo.backend_config ="
        " {high = 2 : i32, low = 1 : i32}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],"
        " result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>,"
        " dense<> : tensor<0xindex>]}"
        f" : ({type}) -> ({type}, tensor<1xf32>, tensor<i32>)\nreturn %r#0 : {type}\n}}"
    )
    executable = interpreter.RUNTIME.compile(text)
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    with pytest.raises(UnavailableError, match=r"@lapack_sgehrd_ffi needs scipy"):
        executable(np.eye(2, dtype=np.float32))


def test_an_exception_without_words_is_told_by_its_name() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    @register_custom_call("test.mute")
    def mute(call: CustomCall, operand: Array) -> Array:
        raise Mute

    with pytest.raises(ExecutionError, match=r"^custom_call @test\.mute failed: Mute$"):
        run_text(text_of("test.mute"), [ONE_TWO])


def test_what_a_kernel_keeps_is_not_what_the_caller_gets() -> None:
    kept = np.array([5, 6], np.float32)

    @register_custom_call("test.kept")
    def keeping(call: CustomCall, operand: Array) -> Array:
        return kept

    (got,) = run_text(text_of("test.kept"), [ONE_TWO])
    got += 1
    assert kept.tolist() == [5, 6]


def test_a_kernel_reaches_no_memory_behind_its_operands() -> None:
    @register_custom_call("test.forcing")
    def forcing(call: CustomCall, *operands: Array) -> Array:
        for operand in operands:
            for reached in (operand, operand.base):
                if isinstance(reached, np.ndarray):
                    reached.setflags(write=True)
                    reached[...] = 7
        return np.zeros(2, np.float32)

    text = (
        f"func.func @main(%a: {PAIR}) -> ({PAIR}, {PAIR}) {{\n"
        f"%c = stablehlo.constant dense<[1.0, 2.0]> : {PAIR}\n"
        f"%r = stablehlo.custom_call @test.forcing(%a, %c) : ({PAIR}, {PAIR}) -> {PAIR}\n"
        f"return %r, %c : {PAIR}, {PAIR}\n}}"
    )
    executable, argument = interpreter.RUNTIME.compile(text), ONE_TWO.copy()
    for _ in range(2):
        assert executable(argument)[1].tolist() == [1, 2]
        assert argument.tolist() == [1, 2]
