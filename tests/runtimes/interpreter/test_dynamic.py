"""The dynamic forms: operands that say what the result's type says too, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import Run, spelled
from topos.errors import ExecutionError
from topos.runtimes.interpreter import run_text

M = np.arange(6, dtype=np.int32).reshape(2, 3)


def computed(line: str, result: str, *operands: Any) -> Any:
    """Runs one operation whose operands are all arguments, so that none is known before."""
    arrays = [np.asarray(operand) for operand in operands]
    names = [f"%{letter}" for letter, _ in zip("abcde", arrays, strict=False)]
    types = [spelled(array) for array in arrays]
    arguments = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=True))
    head, _, attributes = line.partition(" ")
    text = f"""func.func @main({arguments}) -> {result} {{
      %r = "stablehlo.{head}"({", ".join(names)}) {attributes} : ({", ".join(types)}) -> {result}
      return %r : {result}
    }}"""
    return run_text(text, arrays)[0].tolist()


GATHER = (
    "dynamic_gather {dimension_numbers = #stablehlo.gather<offset_dims = [1],"
    " collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>}"
)
CASES: tuple[Any, ...] = (
    (
        "dynamic_broadcast_in_dim {broadcast_dimensions = array<i64: 1, 0>}",
        "tensor<3x2xi32>",
        (M, np.array([3, 2])),
        M.T.tolist(),
    ),
    ("dynamic_reshape", "tensor<3x2xi32>", (M, np.array([3, 2])), [[0, 1], [2, 3], [4, 5]]),
    (
        "dynamic_iota {iota_dimension = 1 : i64}",
        "tensor<2x3xi8>",
        (np.array([2, 3]),),
        [[0, 1, 2]] * 2,
    ),
    (
        "dynamic_pad",
        "tensor<2x6xi32>",
        (M, np.int32(9), np.array([0, -1]), np.array([0, 2]), np.array([0, 1])),
        [[9, 1, 9, 2, 9, 9], [9, 4, 9, 5, 9, 9]],
    ),
    (
        "real_dynamic_slice",
        "tensor<1x2xi32>",
        (M, np.array([1, 0]), np.array([2, 3]), np.array([1, 2])),
        [[3, 5]],
    ),
    (
        GATHER,
        "tensor<2x2xi32>",
        (M, np.array([[1, 1], [0, 5]]), np.array([1, 2])),
        [[4, 5], [1, 2]],
    ),
    ("set_dimension_size {dimension = 1 : i64}", "tensor<2x3xi32>", (M, np.int32(3)), M.tolist()),
    (
        "set_dimension_size {dimension = 1 : i64}",
        "tensor<2x2xi32>",
        (M, np.int32(2)),
        M[:, :2].tolist(),
    ),
)


@pytest.mark.parametrize(
    ("line", "result", "operands", "wanted"), CASES, ids=[c[0].split()[0] for c in CASES]
)
def test_a_dynamic_form(line: str, result: str, operands: Any, wanted: Any) -> None:
    assert computed(line, result, *operands) == wanted


WRONG: tuple[Any, ...] = (
    (0, 1, np.array([2, 3]), r"dynamic_broadcast_in_dim needs the shape \[3, 2\], got \[2, 3\]"),
    (1, 1, np.array([6, 1]), r"dynamic_reshape needs the shape \[3, 2\], got \[6, 1\]"),
    (2, 0, np.array([3, 3]), r"dynamic_iota needs the shape \[2, 3\], got \[3, 3\]"),
    (3, 3, np.array([0, 3]), r"dynamic_pad needs padding to \[2, 6\], got \[2, 7\]"),
    (3, 4, np.array([0, -1]), r"dynamic_pad needs interior padding of zero or more, got \[0, -1\]"),
    (4, 2, np.array([2, 1]), r"real_dynamic_slice needs ranges of \[1, 2\], got \[1, 1\]"),
    (4, 2, np.array([3, 3]), r"real_dynamic_slice needs ranges inside \[2, 3\], got 1:3:1"),
    (4, 3, np.array([1, 0]), r"real_dynamic_slice needs ranges inside \[2, 3\], got 0:3:0"),
    (5, 2, np.array([1, 3]), r"dynamic_gather needs the sizes \[1, 2\], got \[1, 3\]"),
    (6, 1, np.int32(2), r"set_dimension_size needs the size \[3\], got \[2\]"),
)


@pytest.mark.parametrize(("case", "place", "operand", "message"), WRONG)
def test_operands_that_contradict_the_type(
    case: int, place: int, operand: Any, message: str
) -> None:
    line, result, operands, _ = CASES[case]
    changed = (*operands[:place], operand, *operands[place + 1 :])
    with pytest.raises(ExecutionError, match=message):
        computed(line, result, *changed)


@pytest.mark.parametrize(("axis", "extent"), [(0, 2), (1, 3)])
def test_the_size_of_a_dimension(run: Run, axis: int, extent: int) -> None:
    body = f"%r = stablehlo.get_dimension_size %a, dim = {axis} : (tensor<2x3xi32>) -> tensor<i32>"
    result = run(body, "tensor<i32>", M)
    assert result.dtype == np.int32
    assert result == extent
