"""The rules of the operations between devices."""

from __future__ import annotations

import re

import pytest

from tests.stablehlo.rule_texts import (
    Broken,
    accept,
    broken,
    demand_refused,
    mlir_accepts,
)
from topos.errors import UnsupportedError
from topos.runtimes.interpreter import RUNTIME

GROUPS = "replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids"
BODY = """({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  })"""


def function(operation: str, fields: str, body: str, result: str) -> str:
    """Returns a function of `operation` on a tensor<4x6xf32>."""
    return f"""
func.func @f(%a: tensor<4x6xf32>) {{
  %r = "stablehlo.{operation}"(%a) <{{{fields}}}> {body} : (tensor<4x6xf32>) -> {result}
  return
}}"""


ALL_GATHER = function(
    "all_gather", f"all_gather_dim = 1 : i64, {GROUPS}, {CHANNEL}", "", "tensor<4x12xf32>"
)
ALL_REDUCE = function("all_reduce", f"{GROUPS}, {CHANNEL}", BODY, "tensor<4x6xf32>")
ALL_TO_ALL = function(
    "all_to_all",
    f"split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, {GROUPS}",
    "",
    "tensor<8x3xf32>",
)
REDUCE_SCATTER = function(
    "reduce_scatter", f"scatter_dimension = 1 : i64, {GROUPS}, {CHANNEL}", BODY, "tensor<4x3xf32>"
)
BROADCAST = function("collective_broadcast", GROUPS, "", "tensor<4x6xf32>")
PERMUTE = function(
    "collective_permute",
    "source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>",
    "",
    "tensor<4x6xf32>",
)
SUM = function("cross-replica-sum", GROUPS, "", "tensor<4x6xf32>")
TEXTS = {
    "all_gather": ALL_GATHER,
    "all_reduce": ALL_REDUCE,
    "all_to_all": ALL_TO_ALL,
    "reduce_scatter": REDUCE_SCATTER,
    "collective_broadcast": BROADCAST,
    "collective_permute": PERMUTE,
    "cross-replica-sum": SUM,
}
TWICE = ("[1, 3]", "[1, 2]", "needs each device once in replica_groups, got [0, 2, 1, 2]")
MISSING = ("[1, 3]", "[1, 4]", "needs replica_groups of the devices from 0 to 3, got [0, 2, 1, 4]")
FLAT = (GROUPS, "replica_groups = dense<0> : tensor<1xi64>", "needs replica_groups of rank 2, got")
NARROW = ("tensor<2x2xi64>", "tensor<2x2xi32>", "needs i64 elements in replica_groups, got ")
CLOSED = ("handle = 1", "handle = -1", "needs a channel of ")
VALUED = ("device_ids", "device_ids = 1 : i64", "needs no value for use_global_device_ids, got 1")
BROKEN = {
    "all_gather": (
        *(TWICE, MISSING, FLAT, NARROW, CLOSED, VALUED),
        ("[1, 3]", "[1, -1]", "needs replica_groups of the devices from 0 to 3, got [0, 2, 1, -1]"),
        ("dim = 1", "dim = 2", "needs all_gather_dim below 2, got 2"),
        ("dim = 1", "dim = -1", "needs all_gather_dim of 0 or more, got -1"),
        ("-> tensor<4x12xf32>", "-> tensor<4x9xf32>", "results in a multiple of 6 in axis 1, got "),
        ("-> tensor<4x12xf32>", "-> tensor<5x12xf32>", "results in the shape of tensor<4x6xf32> "),
        ("-> tensor<4x12xf32>", "-> tensor<4xf32>", "results in the shape of tensor<4x6xf32> "),
        ("-> tensor<4x12xf32>", "-> tensor<4x12xf64>", "results in elements of tensor<4x6xf32>, "),
        ("tensor<4x6xf32>", "tensor<4x0xf32>", "results in a multiple of 0 in axis 1, got "),
    ),
    "all_reduce": (
        *(TWICE, MISSING, FLAT, CLOSED),
        ("handle = 1", "handle = 0", "needs a channel of 1 or more with global devices, got 0"),
        (
            ", %y: tensor<f32>",
            ", %y: tensor<f32>, %v: tensor<f32>",
            "needs a body of 2 arguments, ",
        ),
        (
            "-> tensor<4x6xf32>",
            "-> tensor<4x6xf64>",
            "results in tensor<4x6xf32>, got tensor<4x6xf",
        ),
        (BODY, "", "needs 1 region, got 0"),
    ),
    "all_to_all": (
        *(TWICE, MISSING, FLAT),
        (
            "[[0, 2], [1, 3]]> : tensor<2x2",
            "[[0, 2, 1]]> : tensor<1x3",
            "needs replica_groups of 2",
        ),
        ("split_dimension = 1", "split_dimension = 2", "needs split_dimension below 2, got 2"),
        ("concat_dimension = 0", "concat_dimension = 2", "needs concat_dimension below 2, got 2"),
        ("split_count = 2", "split_count = 0", "needs split_count above 0, got 0"),
        (
            "tensor<4x6xf32>",
            "tensor<4x5xf32>",
            "needs an axis 1 that 2 divides, got tensor<4x5xf32",
        ),
        ("-> tensor<8x3xf32>", "-> tensor<8x6xf32>", "results in tensor<8x3xf32>, got "),
    ),
    "reduce_scatter": (
        *(TWICE, MISSING, FLAT, CLOSED),
        ("dimension = 1", "dimension = 2", "needs scatter_dimension below 2, got 2"),
        ("-> tensor<4x3xf32>", "-> tensor<4x4xf32>", "results in a part of 6 in axis 1, got "),
        ("-> tensor<4x3xf32>", "-> tensor<4x0xf32>", "results in a part of 6 in axis 1, got "),
        (
            "-> tensor<4x3xf32>",
            "-> tensor<3xf32>",
            "results in the shape of tensor<4x6xf32> but fo",
        ),
        ("-> tensor<4x3xf32>", "-> tensor<4x3xf64>", "results in elements of f32, got "),
    ),
    "collective_broadcast": (
        TWICE,
        FLAT,
        ("[1, 3]", "[1, -1]", "needs replica_groups of the devices from 0 to 3, got [0, 2, 1, -1]"),
        ("-> tensor<4x6xf32>", "-> tensor<4x5xf32>", "results in tensor<4x6xf32>, got "),
    ),
    "collective_permute": (
        ("[1, 2]", "[0, 2]", "needs distinct sources in source_target_pairs, got [0, 0]"),
        ("[1, 2]", "[1, 1]", "needs distinct targets in source_target_pairs, got [1, 1]"),
        ("[1, 2]", "[1, -2]", "needs source_target_pairs that are not negative, got [0, 1, 1, -2]"),
        (
            "[[0, 1], [1, 2]]> : tensor<2x2",
            "0> : tensor<2",
            "needs source_target_pairs of shape [N",
        ),
        ("-> tensor<4x6xf32>", "-> tensor<4x5xf32>", "results in tensor<4x6xf32>, got "),
    ),
    "cross-replica-sum": (
        NARROW,
        ("-> tensor<4x6xf32>", "-> tensor<4x5xf32>", "results in tensor<4x6xf32>, got "),
    ),
}
CASES = [
    pytest.param(name, case, id=f"{name} {case.reason}")
    for name, edits in BROKEN.items()
    for case in broken(TEXTS[name], *edits)
]


@pytest.mark.parametrize("name", TEXTS)
def test_a_collective_is_accepted_with_known_and_dynamic_extents(name: str) -> None:
    accept(TEXTS[name])
    assert mlir_accepts(TEXTS[name])
    accept(TEXTS[name].replace("tensor<4x6xf32>", "tensor<?x?xf32>"))


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_broken_collective_is_refused(name: str, case: Broken) -> None:
    demand_refused(case, f"stablehlo.{name}")
    assert not mlir_accepts(case.text)


def test_groups_of_unequal_size_are_filled_up_where_that_is_allowed() -> None:
    accept(ALL_REDUCE.replace("[[0, 2], [1, 3]]", "[[0, 2], [1, -1]]"))


def of_mesh(mesh: str, axis: str) -> str:
    """Returns the text of replica groups along the axis of a mesh."""
    used = f'#stablehlo.axis_ref<name = "{axis}">'
    return f"replica_groups = #stablehlo.replica_group_mesh_axes<mesh = {mesh}, axes = [{used}]>"


def test_a_mesh_by_name_is_defined_in_the_module() -> None:
    text = ALL_GATHER.replace(GROUPS, of_mesh("@m", "x"))
    demand_refused(Broken(text, "needs a mesh @m for its replica_groups"), "stablehlo.all_gather")
    assert not mlir_accepts(text)


@pytest.mark.parametrize("mesh", ['sdy.mesh @m = <["x"=2]>\n', "func.func private @m()\n"])
def test_a_mesh_of_shardy_gives_groups_their_axes(mesh: str) -> None:
    axis = '#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>'
    text = mesh + ALL_GATHER.replace(GROUPS, of_mesh("@m", "x"))
    for each in (text, text.replace('#stablehlo.axis_ref<name = "x">', axis)):
        accept(each)
        assert mlir_accepts(each)
    with pytest.raises(UnsupportedError, match="replica_groups of something other than numbers"):
        RUNTIME.compile(re.sub(r"func.func @\w+\(%", "func.func @main(%", text))


def test_a_mesh_in_place_has_the_axes_that_are_used() -> None:
    mesh = '#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>]>'
    accept(ALL_GATHER.replace(GROUPS, of_mesh(mesh, "x")))
    # As jaxlib prints it.
    short = '#stablehlo.mesh<axes=[<name = "x", size = 2>]>'
    accept(ALL_GATHER.replace(GROUPS, of_mesh(short, "x")))
    assert mlir_accepts(ALL_GATHER.replace(GROUPS, of_mesh(short, "x")))
    text = ALL_GATHER.replace(GROUPS, of_mesh(mesh, "y"))
    case = Broken(text, "needs axes of its mesh, x, as replica_groups, got y")
    demand_refused(case, "stablehlo.all_gather")
    assert not mlir_accepts(text)


def test_groups_are_there_where_devices_are_named_across_processes() -> None:
    text = ALL_REDUCE.replace(GROUPS, "replica_groups = dense<> : tensor<0x2xi64>")
    accept(text.replace(", use_global_device_ids", ""))
    case = Broken(text, "needs replica_groups that are not empty with use_global_device_ids")
    demand_refused(case, "stablehlo.all_reduce")
    assert not mlir_accepts(text)


def test_groups_are_numbers_or_axes_of_a_mesh() -> None:
    for groups, reason in (
        ("#stablehlo.mesh<axes = []>", "needs a dense constant or the axes of a mesh as replica_"),
        ("array<i64: 0, 1>", "needs a dense constant as replica_groups, got "),
    ):
        text = ALL_REDUCE.replace(GROUPS, f"replica_groups = {groups}")
        demand_refused(Broken(text, reason), "stablehlo.all_reduce")
        assert not mlir_accepts(text)


def test_a_gather_has_a_result_for_each_operand() -> None:
    text = ALL_GATHER.replace("%r =", "%r:2 =").replace("-> tensor<4x12xf32>", "-> (T, T)")
    text = text.replace("(T, T)", "(tensor<4x12xf32>, tensor<4x12xf32>)")
    case = Broken(text, "has a result for each of 1 operands, got 2")
    demand_refused(case, "stablehlo.all_gather")
    assert not mlir_accepts(text)


def test_a_root_is_stated_for_each_operand_of_data() -> None:
    # What a root is came into the specification after the MLIR that judges the other texts.
    text = BROADCAST.replace(GROUPS, f"{GROUPS}, has_dynamic_root")
    text = text.replace("%a: tensor<4x6xf32>", "%a: tensor<4x6xf32>, %b: tensor<1xi32>")
    text = text.replace("(%a)", "(%a, %b)").replace("6xf32>) ->", "6xf32>, tensor<1xi32>) ->")
    accept(text)
    name = "stablehlo.collective_broadcast"
    for other in ("tensor<2xi32>", "tensor<1xi64>", "tensor<i32>"):
        case = Broken(text.replace("tensor<1xi32>", other), "needs a root of tensor<1xi32>, got ")
        demand_refused(case, name)
    bare = text.replace("(%a, %b)", "(%b)").replace(
        "(tensor<4x6xf32>, tensor<1xi32>)", "(tensor<1xi32>)"
    )
    demand_refused(Broken(bare, "needs 1 or more operands of data, got 0"), name)
