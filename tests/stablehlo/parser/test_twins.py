"""Operations of MHLO: those that StableHLO or CHLO has too are read as its, the others refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.stablehlo.rule_texts import mlir_accepts
from topos.errors import ParseError, UnsupportedError, VerifyError
from topos.runtimes import printed, verify
from topos.runtimes.interpreter import run_text
from topos.stablehlo.equality import same
from topos.stablehlo.parser.parse import parse
from topos.stablehlo.parser.spelling import twin
from topos.stablehlo.verifier import verified_names

M, N = "tensor<2x3xf32>", "tensor<3x2xf32>"


def around(lines: str) -> str:
    return f"func.func @main(%a: {M}, %c: tensor<f32>) -> {M} {{\n{lines}\nreturn %r : {M}\n}}\n"


# Each line of MHLO, and what StableHLO or CHLO says for it.
PAIRS = (
    (f"%r = mhlo.add %a, %a : {M}", f"%r = stablehlo.add %a, %a : {M}"),
    (f"%r = mhlo.erf %a : {M}", f"%r = chlo.erf %a : {M} -> {M}"),
    (f"%r = mhlo.constant dense<1.0> : {M}", f"%r = stablehlo.constant dense<1.0> : {M}"),
    (
        '%0 = "mhlo.transpose"(%a) <{permutation = dense<[1, 0]> : tensor<2xi64>}> :'
        f' ({M}) -> {N}\n%r = "mhlo.reshape"(%0) : ({N}) -> {M}',
        f"%0 = stablehlo.transpose %a, dims = [1, 0] : ({M}) -> {N}\n"
        f"%r = stablehlo.reshape %0 : ({N}) -> {M}",
    ),
    (
        f'%0 = "mhlo.slice"(%a) {{start_indices = dense<0> : tensor<2xi64>, limit_indices ='
        f" dense<[2, 3]> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}} : ({M}) -> {M}\n"
        f"%1 = mhlo.compare LT, %0, %a, FLOAT : ({M}, {M}) -> tensor<2x3xi1>\n"
        f"%r = mhlo.select %1, %a, %0 : tensor<2x3xi1>, {M}",
        f"%0 = stablehlo.slice %a [0:2, 0:3] : ({M}) -> {M}\n"
        f"%1 = stablehlo.compare LT, %0, %a, FLOAT : ({M}, {M}) -> tensor<2x3xi1>\n"
        f"%r = stablehlo.select %1, %a, %0 : tensor<2x3xi1>, {M}",
    ),
    (
        f'%r = "mhlo.dot_general"(%a, %a) <{{dot_dimension_numbers = #mhlo.dot<'
        "lhs_contracting_dimensions = [], rhs_contracting_dimensions = [],"
        " lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1]>,"
        " precision_config = [#mhlo<precision HIGH>, #mhlo<precision HIGH>]}>"
        f" : ({M}, {M}) -> {M}",
        "%r = stablehlo.dot_general %a, %a, batching_dims = [0, 1] x [0, 1], contracting_dims ="
        f" [] x [], precision = [HIGH, HIGH] : ({M}, {M}) -> {M}",
    ),
    (
        f"%0 = mhlo.reduce(%a init: %c) applies mhlo.add across dimensions = [0, 1] :"
        f" ({M}, tensor<f32>) -> tensor<f32>\n"
        '%r = "mhlo.map"(%a) <{dimensions = dense<[0, 1]> : tensor<2xi64>}> ({\n'
        "^bb0(%x: tensor<f32>):\n mhlo.return %x : tensor<f32>\n"
        f"}}) : ({M}) -> {M}",
        "%0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0, 1] :"
        f" ({M}, tensor<f32>) -> tensor<f32>\n"
        '%r = "stablehlo.map"(%a) <{dimensions = array<i64: 0, 1>}> ({\n'
        "^bb0(%x: tensor<f32>):\n stablehlo.return %x : tensor<f32>\n"
        f"}}) : ({M}) -> {M}",
    ),
)


@pytest.mark.parametrize(("foreign", "own"), PAIRS, ids=range(len(PAIRS)))
def test_an_operation_of_mhlo_is_its_twin(foreign: str, own: str) -> None:
    text = around(foreign)
    verify(text)
    again = printed(text)
    assert same(parse(text), parse(around(own)))
    assert "mhlo" not in again
    assert mlir_accepts(text)
    assert mlir_accepts(again)


def test_tokens_and_bounds_of_mhlo_are_those_of_stablehlo() -> None:
    bounded = "tensor<?xf32, #mhlo.type_extensions<bounds = [4]>>"
    text = (
        f"func.func @main(%b: {bounded}) -> !mhlo.token {{\n"
        f"%0 = mhlo.add %b, %b : {bounded}\n"
        '%1 = "mhlo.create_token"() : () -> !mhlo.token\nreturn %1 : !mhlo.token\n}\n'
    )
    verify(text)
    assert "mhlo." not in printed(text).replace("stablehlo.", "")
    assert same(parse(printed(text)), parse(text))
    assert mlir_accepts(text)


def test_what_is_kept_of_mhlo_is_printed_as_it_was() -> None:
    alias = "#mhlo.output_operand_alias<output_tuple_indices = [], operand_index = 0>"
    line = f'%r = "mhlo.fusion"(%a) {{kind = #mhlo<fusion_kind kLoop>, k = {alias}}} : ({M}) -> {M}'
    assert line in printed(around(line))


def test_it_runs_as_its_twin() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    (result,) = run_text(around(PAIRS[5][0]), [array, np.float32(0)])
    assert result.tolist() == (array * array).tolist()


EQUAL = "has no equal in StableHLO or CHLO"
FOREIGN = (
    ("%r = mhlo.copy %a : " + M, f"mhlo.copy {EQUAL}"),
    (f"%r, %i = mhlo.topk(%a, k=3, largest=true) : {M} -> ({M}, {M})", f"mhlo.topk {EQUAL}"),
    ("%r = mhlo.foo %a : " + M, f"mhlo.foo {EQUAL}"),
    ("%r = mhlo.xla.thing %a, k = 1 : " + M, f"mhlo.xla.thing {EQUAL}"),
    ("%r = math.cos %a : " + M, "math.cos is of a dialect that is not read"),
    ("%i = tensor.dim %a, %c : " + M, "tensor.dim is of a dialect that is not read"),
)


@pytest.mark.parametrize(("line", "reason"), FOREIGN)
def test_what_has_no_twin_is_not_guessed_at(line: str, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(reason)):
        printed(around(line))


@pytest.mark.parametrize("name", ["mhlo.foo", "mhlo.topk"])
def test_what_has_no_twin_keeps_its_name_in_a_print_and_does_not_verify(name: str) -> None:
    line = f'%r = "{name}"(%a) : ({M}) -> {M}'
    assert line in printed(around(line))
    with pytest.raises(UnsupportedError, match=f"{name} {EQUAL}"):
        verify(around(line))


def test_every_operation_of_stablehlo_is_the_twin_of_its_namesake() -> None:
    own = {name for name in verified_names() if name.startswith("stablehlo.")}
    assert {twin(name.replace("stablehlo.", "mhlo.")) for name in own} == own


def test_a_list_that_does_not_fit_its_type_is_refused_at_its_place() -> None:
    with pytest.raises(ParseError, match=r"line 2, column .* a dense list needs the shape"):
        parse(around(PAIRS[3][0].replace("dense<[1, 0]>", "dense<[1, 0, 2]>")))


SCALARS = (
    "arith.constant 1 : i32",
    "arith.constant true",
    "arith.constant {k} -1.500000e+00 : f64",
    "arith.constant 0x7F800000 : f32",
    "arith.constant 3 : index",
    "arith.constant dense<[1, 2]> : vector<2xi32>",
    "arith.constant dense_resource<__elided__> : tensor<2xf32>",
)


@pytest.mark.parametrize("form", SCALARS)
def test_a_constant_of_another_dialect_may_be_no_tensor(form: str) -> None:
    text = around(f"%0 = {form}\n%r = tensor.cast %a : {M} to {M}")
    verify(text)
    assert f"%0 = {form}\n" in printed(text)
    assert same(parse(printed(text)), parse(text))
    assert mlir_accepts(text)
    with pytest.raises(UnsupportedError):
        run_text(text, [np.zeros((2, 3), np.float32), np.float32(0)])


def test_a_constant_has_the_type_of_its_value() -> None:
    text = around(f'%0 = "arith.constant"() {{value = 1 : i32}} : () -> i64\n{PAIRS[0][0]}')
    with pytest.raises(VerifyError, match=r"arith\.constant results in i32, got i64"):
        verify(text)
    assert not mlir_accepts(text)


def test_a_cast_keeps_the_elements() -> None:
    with pytest.raises(VerifyError, match=r"tensor\.cast cannot turn"):
        verify(around(f"%r = tensor.cast %a : {M} to {M[:-4]}f64>"))
