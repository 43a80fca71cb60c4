"""Shardy's operations and shardings: read, printed, held to their mesh, run where they may."""

from __future__ import annotations

import numpy as np
import pytest

from tests.stablehlo.rule_texts import mlir_accepts
from topos.errors import ParseError, UnsupportedError, VerifyError
from topos.runtimes import printed, verify
from topos.runtimes.interpreter import run_text
from topos.stablehlo.equality import same
from topos.stablehlo.parser.parse import parse

T = "tensor<8x8xf32>"
MESHES = (
    'sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4]>\n'
    'sdy.mesh @long = #sdy.mesh<["a"=4], device_ids=[3, 2, 1, 0]>\n'
    "sdy.mesh @single = <[], device_ids=[3]>\n"
)
DIVIDED = '#sdy.sharding<@mesh, [{"a"}, {"b"}]>'


def around(line: str, sharding: str = DIVIDED) -> str:
    argument = f"%a: {T} {{sdy.sharding = {sharding}}}"
    return f"{MESHES}func.func @main({argument}) -> {T} {{\n{line}\nreturn %a : {T}\n}}\n"


# Every operation of Shardy, as jaxlib prints it but for the first five.
LINES = (
    '%0 = sdy.manual_computation(%a) in_shardings=[<mesh<["x"=2]>, [{"x"}, {}]>] out_shardings='
    '[<mesh<["x"=2]>, [{"x"},{}]>] manual_axes={"x"} (%b: tensor<4x8xf32>) {\n sdy.return %b :'
    f" tensor<4x8xf32>\n}} {{a.b = 1 : i64}} : ({T}) -> {T}",
    f'%0 = "sdy.reshard"(%a) <{{sharding = #sdy<sharding<@long, [{{}}, {{}}]>>}}> : ({T}) -> {T}',
    "%0 = sdy.constant {k} dense<[]> : tensor<0xf32>",
    f"sdy.sharding_group %a group_id=21 : {T}",
    f'%0 = sdy.sharding_constraint %a <@mesh, [{{"c":(2)2, ?}}p0, {{ }}], unreduced={{"b"}}> : {T}',
    f'%0 = sdy.all_gather [{{"a"}}, {{}}] %a out_sharding=<@mesh, [{{}}, {{"b"}}]> : {T}',
    '%0 = sdy.all_slice [{"c"}, {}] %a out_sharding=<@mesh, [{"a","c"}, {"b"}]> {k}' + f" : {T}",
    f'%0 = sdy.all_to_all [{{"a"}}: 0->1] %a out_sharding=<@mesh, [{{}}, {{"b", "a"}}]> : {T}',
    f'%0 = sdy.collective_permute %a out_sharding=<@mesh, [{{"b"}}, {{"a"}}]> : {T}',
    f'%0 = sdy.all_reduce {{"c"}} %a out_sharding=<@mesh, [{{"a"}}, {{"b"}}]> : {T}',
    '%0 = sdy.reduce_scatter [{"c"}, {}] %a out_sharding=<@mesh, [{"a", "c"}, {"b"}]>' + f" : {T}",
    '%0 = sdy.sharded_to_unreduced [{"a"}, {}] %a out_sharding=<@mesh, [{}, {"b"}],'
    f' unreduced={{"a"}}> : {T}',
    '%0 = sdy.replicated_to_unreduced {"c"} %a out_sharding=<@mesh, [{"a"}, {"b"}],'
    f' unreduced={{"c"}}> : {T}',
    f"%0 = stablehlo.add %a, %a : {T}\n%1 = sdy.data_flow_edge %0 : {T}",
    f"%0 = stablehlo.add %a, %a : {T}\n"
    f'%1 = sdy.data_flow_edge %0 sharding=<@mesh, [{{"a"}}, {{?}}]> {{k}} : {T}',
    f"%0 = call @main(%a) : ({T}) -> {T}\n%1 = sdy.func_data_flow_edge %0 : {T}",
    f"%0 = sdy.propagation_barrier %a allowed_direction=BACKWARD : {T}",
    "sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {\n"
    " sdy.return {k}\n} : () -> ()",
    '%0:2 = sdy.named_computation<"f\\22g">(%a, %a) in_shardings=[<@mesh, [{"b"}, {}]>,'
    f' <@mesh, [{{}}, {{}}]>] (%b: {T}, %c: {T}) {{\n sdy.return %c, %b : {T}, {T}\n}} : ({T}, {T})'
    f" -> ({T}, {T})",
    f"%0 = stablehlo.add %a, %a {{sdy.sharding = #sdy.sharding_per_value<[<@single, []>]>}} : {T}",
    'stablehlo.custom_call @x(%a) {has_side_effect = true, sdy.sharding ='
    f" #sdy.sharding_per_value<[<@single, []>]>}} : ({T}) -> ()",
)  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_an_operation_is_read_verified_and_printed(line: str) -> None:
    text = around(line)
    verify(text)
    again = printed(text)
    assert same(parse(again), parse(text))
    assert printed(again) == again
    assert '"sdy.' not in again
    assert mlir_accepts(text)
    assert mlir_accepts(again)


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_the_generic_form_of_jaxlib_is_the_same_tree(line: str) -> None:
    mlir = pytest.importorskip("jax.interpreters.mlir")
    ir = pytest.importorskip("jax.extend.mlir.ir")
    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(around(line))
        pretty = module.operation.get_asm()
        generic = module.operation.get_asm(print_generic_op_form=True)
    assert printed(pretty).replace('"a"=4', "") == printed(generic).replace('"a"=4', "")


SHARDED = f"%0 = sdy.reshard %a <@mesh, [{{}}, {{}}]> : {T}"
BROKEN = (
    (around("", '#sdy.sharding<@absent, [{"a"}, {}]>'), "a mesh @absent for its sharding, which"),
    (around("", '#sdy.sharding<@main, [{"a"}, {}]>'), "a mesh @main for its sharding, which"),
    (around("", '#sdy.sharding<@mesh, [{"x"}, {}]>'), "axes of its mesh, a, b, c, in its sharding"),
    (around("", '#sdy.sharding<@mesh, [{"a"}, {"a"}]>'), "each axis of its mesh once"),
    (around("", '#sdy.sharding<@mesh, [{"a"}, {}], unreduced={"a"}>'), "each axis of its mesh"),
    (around("", '#sdy.sharding<@mesh, [{"c"}, {"c":(1)2}]>'), "each axis of its mesh once"),
    (around("", '#sdy.sharding<@mesh, [{"c":(1)2}, {"c":(1)2}]>'), "each axis of its mesh once"),
    (around("", '#sdy.sharding<@mesh, [{"c":(1)2, "c":(2)2}, {}]>'), "c:(1)2 and c:(2)2 as one"),
    (around("", '#sdy.sharding<@mesh, [{"c":(2)4}, {}]>'), "parts that divide the axis c of 4"),
    (around("", '#sdy.sharding<@mesh, [{"a":(1)2}, {}]>'), "parts that divide the axis a of 2"),
    (around("", '#sdy.sharding<@mesh, [{}, {}], replicated={"b", "a"}>'), "the order of its mesh"),
    (around("", '#sdy.sharding<@mesh, [{"a"}]>'), "a sharding of 2 dimensions, got 1"),
    (around("", "#sdy.sharding<@single, [{}, {}]>"), "a sharding of 0 dimensions, got 2"),
    (around("", "#sdy.sharding<@mesh, [{}, {}p1]>"), "an axis in a dimension of its sharding that"),
    (around("", "#sdy.sharding<@mesh, [{}, {?}p01]>"), "a sharding such as #sdy.sharding<@mesh"),
    (around("", "#sdy.sharding<@mesh, [{}, {}], replicated={}>"), "a sharding such as #sdy.shard"),
    (around("", "1 : i64"), "a sharding such as #sdy.sharding<@mesh, [{}]>, got 1"),
    (around("", "#sdy.sharding_per_value<[<@mesh, [{}, {}]>]>"), "a sharding such as #sdy."),
    (around("", '#sdy.sharding<mesh<["x"=2, "x"=2]>, [{"x"}, {}]>'), "an axis twice among x, x"),
    (around(SHARDED.replace("@mesh", "@absent")), "a mesh @absent for its sharding"),
    (around(SHARDED.replace("[{}, {}]", "[{}]")), "a sharding of 2 dimensions, got 1"),
    (around(LINES[19].replace("@single, []", "@single, [{}]")), "sharding of 0 dimensions, got 1"),
    (around(LINES[19].replace("<@single, []>", "")), "needs 1 shardings, got 0"),
    (around(LINES[0].replace('{"x"}, {}', '{"x"}')), "a sharding of 2 dimensions, got 1"),
    (around(LINES[0].replace("tensor<4x8xf32>", "tensor<4xf32>")), "but its body (tensor<4xf32>)"),
    (around(LINES[18].replace("%c, %b : ", "%b : ").replace(f"{T}, {T}\n", f"{T}\n")), "a body of"),
    (around(LINES[0].replace("sdy.return", "stablehlo.return")), "does not end in stablehlo"),
    (around(f'%0 = "sdy.reshard"(%a) : ({T}) -> {T}'), "needs the attribute sharding"),
    (around(f'%0 = "sdy.all_gather"(%a) {{out_sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>}}'
            f" : ({T}) -> {T}"), "needs the attribute gathering_axes"),
    (around(f'%0 = "sdy.propagation_barrier"(%a) {{allowed_direction = 3 : i32}} : ({T}) -> {T}'),
     "needs one of NONE, FORWARD, BACKWARD as allowed_direction, got 3"),
    (around(f'"sdy.sharding_group"(%a) {{group_id = -1 : i32}} : ({T}) -> ()'),
     "needs group_id as a number of i64, got i32"),
    ('sdy.mesh @m = <["x"=2, "x"=2]>', "an axis twice among x, x"),
    ('sdy.mesh @m = <["x"=0]>', "an axis of less than one device"),
    ('sdy.mesh @m = <["x"=2], device_ids=[0]>', "has 2 devices, which are listed each once"),
    ("sdy.mesh @m = <[], device_ids=[0, 1]>", "has no axes, so it has at most one device"),
    ('sdy.mesh @m = <"x">', "needs a mesh such as"),
    ('sdy.mesh @m = <["x"=2]>\nsdy.mesh @m = <["x"=2]>', "@m is defined twice"),
    ('sdy.mesh @m = <["x"=2]>\nfunc.func @m() { return }', "@m is defined twice"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), BROKEN, ids=range(len(BROKEN)))
def test_a_sharding_that_means_nothing_is_refused(text: str, reason: str) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(text)
    assert reason in str(caught.value)
    assert caught.value.line
    assert not mlir_accepts(text)


MISREAD = (
    ("%0 = sdy.reshard %a sharding=<@mesh, [{}, {}]>", "not written with sharding=..."),
    ('%0 = sdy.reshard {"a"} %a <@mesh, [{}, {}]>', "not written with axes or a sharding there"),
    ("%0 = sdy.propagation_barrier %a allowed_direction=BOTH", "with allowed_direction=BOTH"),
    ("%0 = sdy.all_gather %a group_id=1", "not written with group_id=..."),
)


@pytest.mark.parametrize(("line", "reason"), MISREAD)
def test_an_operation_says_what_it_is_written_with(line: str, reason: str) -> None:
    text = around(f"{line} : {T}")
    with pytest.raises(ParseError, match=reason):
        verify(text)
    assert not mlir_accepts(text)


def test_what_moves_nothing_on_one_device_runs() -> None:
    lines = [
        LINES[5].replace("%0", "%1"),
        LINES[16].replace("%0 =", "%2 =").replace("%a", "%1"),
        LINES[3].replace("%a", "%2"),
        f'%3 = sdy.named_computation<"f">(%2) (%b: {T}) {{\n%4 = stablehlo.add %b, %1 : {T}\n'
        f"sdy.return %4 : {T}\n}} : ({T}) -> {T}",
        f"%5 = sdy.constant dense<1.0> : {T}",
        f"%6 = stablehlo.add %3, %5 : {T}",
    ]
    text = around("\n".join(lines)).replace("return %a", "return %6")
    array = np.arange(64, dtype=np.float32).reshape(8, 8)
    assert run_text(text, [array])[0].tolist() == (2 * array + 1).tolist()


@pytest.mark.parametrize("line", [LINES[0], LINES[9]])
def test_a_computation_of_several_devices_is_refused_by_name(line: str) -> None:
    with pytest.raises(UnsupportedError, match=r"line 5, .*sdy\.\w+ is a computation of several"):
        run_text(around(line), [np.zeros((8, 8), np.float32)])
