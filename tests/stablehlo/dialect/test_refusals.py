"""What operations refuse, one fault a row: elements, counts and places that do not fit."""

from __future__ import annotations

import pytest

from tests.stablehlo.claims import claim, reason
from topos.runtimes import verify

V, W, M = "tensor<2xf32>", "tensor<2xi32>", "tensor<2x3xf32>"
F, N, S = "tensor<f32>", "tensor<i32>", "tensor<2xi64>"
TOKEN = "!stablehlo.token"
CALL = 'call_target_name = "f"'
FILLED = "edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>"
SENT = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
ACCURACY = (
    "result_accuracy = #stablehlo.result_accuracy<atol = %s, rtol = 0.0, ulps = 0, mode = %s>"
)
DEFAULT, ANY = "#stablehlo.result_accuracy_mode<DEFAULT>", "#stablehlo.result_accuracy_mode<ANY>"
LAYOUTS = CALL + ", operand_layouts = %s, result_layouts = %s"
ALIASED = CALL + ", output_operand_aliases = [%s]"
ALIAS = (
    "#stablehlo.output_operand_alias<output_tuple_indices = [%s], operand_index = 0,"
    " operand_tuple_indices = []>"
)
PAIR = f"tuple<{V}, {V}>"

CASES = (
    ("select", ("tensor<2xi1>", V, W), (V,), "", f"needs values of one element, got {V} and {W}"),
    ("broadcast", (V,), ("tensor<0x2xf32>",), "broadcast_sizes = array<i64: 0>", ""),
    (
        *("broadcast", (V,), (M,), "broadcast_sizes = array<i64: -1>"),
        "needs broadcast_sizes of 0 or more, got [-1]",
    ),
    (
        *("pad", (V, N), (V,), f"{FILLED}, interior_padding = array<i64: 0>"),
        "needs a filler of f32, got tensor<i32>",
    ),
    ("pad", (V, F), (V,), f"{FILLED}, interior_padding = array<i64: 0>", ""),
    (
        *("pad", (V, F), (V,), f"{FILLED}, interior_padding = array<i64: -1>"),
        "needs interior_padding of 0 or more, got [-1]",
    ),
    ("iota", (), ("tensor<?xi32>",), "iota_dimension = 0 : i64", "needs a static shape, got tens"),
    ("get_tuple_element", (PAIR,), (V,), "index = 0 : i32", ""),
    ("get_tuple_element", (V,), (V,), "index = 0 : i32", f"needs a tuple, got {V}"),
    ("get_tuple_element", (PAIR, PAIR), (V,), "index = 0 : i32", f"needs a tuple, got ({PAIR},"),
    ("tuple", ("f32",), ("tuple<f32>",), "", "needs a ranked tensor as part, got f32"),
    ("dynamic_slice", (M, N, N), (V,), "slice_sizes = array<i64: 2, 4>", "needs slice_sizes insid"),
    ("dynamic_slice", (M, N, N), (M,), "slice_sizes = array<i64: 2, 3>", ""),
    ("dynamic_slice", (M, N, N), ("tensor<0x3xf32>",), "slice_sizes = array<i64: 0, 3>", ""),
    ("dynamic_slice", (M, N, N), (V,), "slice_sizes = array<i64: -1, 3>", "needs slice_sizes insi"),
    ("dynamic_slice", (V, F), (V,), "slice_sizes = array<i64: 2>", "needs scalar integers as star"),
    ("dynamic_slice", (V, W), (V,), "slice_sizes = array<i64: 2>", "needs scalar integers as star"),
    ("dynamic_slice", (M, N), (V,), "slice_sizes = array<i64: 2, 3>", "needs 2 start indices, got"),
    (
        *("dynamic_slice", (M, N, "tensor<i8>"), (V,), "slice_sizes = array<i64: 2, 3>"),
        "needs start indices of one element, got tensor<i32> and tensor<i8>",
    ),
    ("dynamic_update_slice", (V, "tensor<3xf32>", N), (V,), "", "needs an update that fits into"),
    ("dynamic_update_slice", (V, "tensor<?xf32>", N), (V,), "", ""),
    ("dynamic_update_slice", (M, "tensor<2x4xf32>", N, N), (M,), "", "needs an update that fits"),
    ("concatenate", (V, V), ("tensor<4xf32>",), "dimension = 0 : i64", ""),
    ("concatenate", (V, M), (V,), "dimension = 0 : i64", f"cannot join {V} and {M} along 0"),
    ("real_dynamic_slice", (M, S, S, S), (M,), "", ""),
    ("real_dynamic_slice", (V, S, S, S), (V,), "", "needs 1 numbers as start_indices, got 2"),
    (
        *("real_dynamic_slice", (M, S, S, "tensor<1xi64>"), (M,), ""),
        "needs strides as tensor<2xi64>, got tensor<1xi64>",
    ),
    ("real_dynamic_slice", (M, S, S, S), (V,), "", f"cannot slice {M} to {V}"),
    ("real_dynamic_slice", (M, S, S, S), ("tensor<2x3xf64>",), "", f"cannot slice {M} to tensor<2"),
    ("dynamic_reshape", (M, S), ("tensor<3x2xf64>",), "", "needs a result of f32, got tensor<3x2x"),
    ("dynamic_reshape", (M, S), ("tensor<3x3xf32>",), "", f"cannot turn {M} into tensor<3x3xf32>"),
    ("dynamic_reshape", (M, "tensor<1x2xi64>"), (M,), "", "needs output_shape as integers of one"),
    ("dynamic_reshape", (M, "tensor<?xi64>"), (M,), "", "needs a static shape of output_shape, go"),
    ("dynamic_reshape", (M, "tensor<3xi64>"), (M,), "", f"needs 2 numbers as output_shape of {M},"),
    ("dynamic_pad", (M, N, S, S, S), (M,), "", "needs a filler of f32, got tensor<i32>"),
    ("dynamic_pad", (V, F, S, S, S), (V,), "", "needs 1 numbers as low padding, got 2"),
    ("dynamic_pad", (M, F, S, W, S), (M,), "", f"needs high padding as {S}, got {W}"),
    ("dynamic_pad", (M, F, S, S, S), (V,), "", f"needs a result of rank 2, got {V}"),
    ("set_dimension_size", (V, "tensor<i64>"), (V,), "dimension = 0 : i64", "needs a size of i32,"),
    ("set_dimension_size", (V, N), (V,), "dimension = 1 : i64", "needs dimension below 1, got 1"),
    (
        *("rng", (F, "tensor<f64>", S), (M,)),
        "rng_distribution = #stablehlo<rng_distribution UNIFORM>",
        "needs parameters of one element, got tensor<f32> and tensor<f64>",
    ),
    (
        *("rng_bit_generator", (S,), (S, "tensor<?xui8>")),
        "rng_algorithm = #stablehlo<rng_algorithm DEFAULT>",
        "needs a static shape, got tensor<?xui8>",
    ),
    ("exponential", (V,), (V,), ACCURACY % ("0.0", ANY), "needs an accuracy of DEFAULT HIGHEST TO"),
    ("exponential", (V,), (V,), ACCURACY % ("0.0", DEFAULT), ""),
    ("exponential", (V,), (V,), "result_accuracy = 1", "needs named fields as result_accuracy"),
    ("exponential", (V,), (V,), ACCURACY % ("1.0", DEFAULT.replace("DEFAULT", "TOLERANCE")), ""),
    ("exponential", (V,), (V,), ACCURACY % ("-1.0", DEFAULT), "needs tolerances of 0 or more, got"),
    ("exponential", (V,), (V,), ACCURACY % ("1.0", DEFAULT), "takes no tolerances with the mode D"),
    ("exponential", (V,), (V,), ACCURACY % ("0 : i64", DEFAULT), "needs numbers such as atol = 0."),
    ("recv", (TOKEN, TOKEN), (V, TOKEN), SENT, "needs a token as its operand, got 2 operands"),
    ("recv", (TOKEN,), ("tensor<?xf32>", TOKEN), SENT, "needs a static result, got tensor<?xf32>"),
    ("infeed", (TOKEN,), (V, TOKEN), "", ""),
    ("infeed", (TOKEN,), (V, TOKEN), "layout = [[0], [0]]", "needs a layout of 1 parts, got ((0,)"),
    ("infeed", (TOKEN,), (V, TOKEN), "layout = [[0.5]]", "needs lists of integers as layout, got"),
    (
        *("send", (V, TOKEN), (TOKEN,), SENT + ", source_target_pairs = [0]"),
        "needs pairs as source_target_pairs, got [0]",
    ),
    ("custom_call", ("tensor<2xindex>",), (V,), CALL, "takes no elements of index"),
    ("custom_call", (V,), (V,), CALL + ", called_computations = [1]", "needs functions as called_"),
    ("custom_call", (V,), (V,), CALL + ", called_computations = [@g]", "needs a function, got @g"),
    ("custom_call", (V,), (V,), CALL + ", called_computations = [@main]", ""),
    ("custom_call", (V,), (V,), CALL + ", api_version = 5 : i32", "needs an api_version below 5,"),
    ("custom_call", (V,), (V,), CALL + ", api_version = 4 : i32, backend_config = {}", ""),
    ("custom_call", (V,), (V,), CALL + ", backend_config = {}", "needs a string as backend_config"),
    ("custom_call", (V,), (V,), LAYOUTS % ("[]", "[]"), "needs 1 operand_layouts, got 0"),
    ("custom_call", (V,), (V,), LAYOUTS % ("1", "[]"), "needs 1 operand_layouts, got 1"),
    (
        *("custom_call", (PAIR,), (V,)),
        LAYOUTS % ("[dense<0> : tensor<1xindex>]", "[dense<0> : tensor<1xindex>]"),
        f"takes no layout of a tuple, got {PAIR}",
    ),
    (
        *("custom_call", ("tensor<*xf32>", TOKEN), (PAIR,)),
        LAYOUTS % ("[dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]",
                   "[dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>]"),
        "",
    ),
    ("custom_call", (V,), (V,), ALIASED % "1", "needs named fields as output_operand_aliases, got"),
    ("custom_call", (V,), (V,), ALIASED % (ALIAS % ""), ""),
    ("custom_call", (V,), (V,), ALIASED % (ALIAS % "0"), "needs output_tuple_indices that lie in"),
    ("custom_call", (V,), (PAIR,), ALIASED % (ALIAS % "2"), "needs output_tuple_indices that lie"),
    ("async_done", (V,), (V,), "", f"needs 1 future, got ({V})"),
    ("einsum", (V, V), (F,), 'einsum_config = "i,i->"', ""),
    ("einsum", (V, V), (V,), 'einsum_config = "i...,i...->i..."', ""),
    ("einsum", (V, V), (F,), 'einsum_config = "i,i->j"', "needs the axes of the result in its ope"),
    ("einsum", (V, V), (F,), 'einsum_config = "ij,i->i"', f"needs 2 axes for 'ij', got {V}"),
    ("case", (F,), (), "", "needs 1 region, got 0"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "operands", "results", "attributes", "message"),
    CASES,
    ids=range(len(CASES)),
)
def test_an_operation_is_taken_or_refused_for_the_reason(
    name: str, operands: tuple[str, ...], results: tuple[str, ...], attributes: str, message: str
) -> None:
    text = claim(f"stablehlo.{name}", operands, results, attributes)
    if message:
        assert reason(text).startswith(f"stablehlo.{name} {message}")
    else:
        verify(text)
