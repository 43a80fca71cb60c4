"""Random bits against published words and XLA's, and what may be said of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.require import require
from topos.errors import UnsupportedError
from topos.runtimes import interpreter, xla
from topos.runtimes.interpreter import run_text

Array = npt.NDArray[Any]
Run = Callable[..., Array]

ONES = 2**64 - 1


def bits_text(algorithm: str, state: int, result: str) -> str:
    types = f"tensor<{state}xui64>, tensor<{result}>"
    return (
        f"func.func @main(%s: tensor<{state}xui64>) -> ({types}) {{\n"
        f"%n, %b = stablehlo.rng_bit_generator %s, algorithm = {algorithm}"
        f" : (tensor<{state}xui64>) -> ({types})\nreturn %n, %b : {types}\n}}"
    )


def bits(algorithm: str, state: list[int], result: str) -> tuple[Array, Array]:
    text = bits_text(algorithm, len(state), result)
    advanced, drawn = run_text(text, [np.array(state, np.uint64)])
    return advanced, drawn


# The known answers that Salmon and others publish with Random123.
def test_philox_gives_the_published_words() -> None:
    advanced, drawn = bits("PHILOX", [0, 0, 0], "4xui32")
    assert [hex(word) for word in drawn] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]
    assert advanced.tolist() == [0, 1, 0]
    advanced, drawn = bits("PHILOX", [ONES, ONES, ONES], "4xui32")
    assert [hex(word) for word in drawn] == ["0x408f276d", "0x41c83b0e", "0xa20bc7c6", "0x6d5451fd"]
    assert advanced.tolist() == [ONES, 0, 0]


def test_threefry_gives_the_published_words() -> None:
    advanced, drawn = bits("THREE_FRY", [0, 0], "2xui32")
    assert [hex(word) for word in drawn] == ["0x6b200159", "0x99ba4efe"]
    assert advanced.tolist() == [0, 1]
    _, drawn = bits("THREE_FRY", [ONES, ONES], "2xui32")
    assert [hex(word) for word in drawn] == ["0x1cb996fc", "0xbb002be7"]


# The algorithm, the state and the type of the bits.
DRAWS = (
    ("THREE_FRY", [7, 3], "ui8"),
    ("THREE_FRY", [7, ONES - 1], "3x5xui16"),
    ("THREE_FRY", [7, 3], "2x3x4xui32"),
    ("THREE_FRY", [ONES // 3, 3], "7xui64"),
    ("PHILOX", [7, 3], "5xui32"),
    ("PHILOX", [7, ONES, 9], "3x3xui64"),
    ("PHILOX", [7, ONES], "9xui8"),
    ("DEFAULT", [5, 1], "2x0x3xui32"),
    ("DEFAULT", [5, 1], "6xui16"),
)


def test_bits_and_states_are_those_of_xla() -> None:
    require("xla")
    states = [f"tensor<{len(state)}xui64>" for _, state, _ in DRAWS]
    pairs = [f"{state}, tensor<{draw[2]}>" for state, draw in zip(states, DRAWS, strict=True)]
    arguments = ", ".join(f"%s{place}: {state}" for place, state in enumerate(states))
    lines = [
        f"%r{place}:2 = stablehlo.rng_bit_generator %s{place}, algorithm = {algorithm}"
        f" : ({states[place]}) -> ({pairs[place]})"
        for place, (algorithm, _, _) in enumerate(DRAWS)
    ]
    returned = ", ".join(f"%r{place}#0, %r{place}#1" for place in range(len(DRAWS)))
    body = "\n".join((*lines, f"return {returned} : {', '.join(pairs)}"))
    text = f"func.func @main({arguments}) -> ({', '.join(pairs)}) {{\n{body}\n}}"
    arrays = [np.array(state, np.uint64) for _, state, _ in DRAWS]
    wanted = xla.RUNTIME.compile(text)(*arrays)
    got = run_text(text, arrays)
    assert [array.tobytes() for array in got] == [array.tobytes() for array in wanted]
    assert [array.dtype for array in got] == [array.dtype for array in wanted]


def test_other_elements_hold_the_same_bits() -> None:
    _, words = bits("PHILOX", [1, 2], "6xui32")
    _, floats = bits("PHILOX", [1, 2], "6xf32")
    assert floats.dtype == np.float32
    assert floats.tobytes() == words.tobytes()
    _, small = bits("PHILOX", [1, 2], "6xi4")
    assert small.dtype == ml_dtypes.int4
    assert small.tobytes() == (words & 15).astype(np.uint8).tobytes()


def test_a_state_of_another_size_is_unsupported() -> None:
    with pytest.raises(UnsupportedError, match="needs a state of 2xui64 for THREE_FRY, got tensor"):
        bits("THREE_FRY", [0, 0, 0], "2xui32")


def drawn_text(distribution: str, element: str, body: str = "") -> str:
    scalar, many = f"tensor<{element}>", f"tensor<2000x{element}>"
    return (
        f"func.func @main(%a: {scalar}, %b: {scalar}) -> {many} {{\n"
        "%s = stablehlo.constant dense<2000> : tensor<1xi64>\n"
        f"%r = stablehlo.rng %a, %b, %s, distribution = {distribution}"
        f" : ({scalar}, {scalar}, tensor<1xi64>) -> {many}\nreturn %r : {many}\n}}"
    )


@pytest.mark.parametrize(
    ("element", "low", "high"),
    [
        ("f64", np.float64(-3), np.float64(5)),
        ("f32", np.float32(1), np.nextafter(np.float32(1), np.float32(2))),
        ("bf16", ml_dtypes.bfloat16(0), ml_dtypes.bfloat16(1)),
        ("i8", np.int8(-128), np.int8(127)),
        ("i32", np.int32(3), np.int32(6)),
        ("ui64", np.uint64(2**63), np.uint64(2**63 + 4)),
    ],
)
def test_uniform_numbers_lie_from_the_first_up_to_the_last(
    element: str, low: Any, high: Any
) -> None:
    (drawn,) = run_text(drawn_text("UNIFORM", element), [np.asarray(low), np.asarray(high)])
    assert (drawn >= low).all()
    assert (drawn < high).all()
    if element == "f64":
        assert abs(drawn.mean() - 1) < 0.2
        assert drawn.min() < -2.9
        assert drawn.max() > 4.9
    if element == "i32":
        assert set(drawn.tolist()) == {3, 4, 5}


def test_normal_numbers_have_their_mean_and_deviation() -> None:
    (drawn,) = run_text(drawn_text("NORMAL", "f32"), [np.float32(3), np.float32(2)])
    assert np.isfinite(drawn).all()
    assert abs(drawn.mean() - 3) < 0.2
    assert abs(drawn.std() - 2) < 0.2


def test_runs_differ_and_compilations_repeat_them() -> None:
    text, arguments = drawn_text("UNIFORM", "f64"), (np.float64(0), np.float64(1))
    first, second = interpreter.RUNTIME.compile(text), interpreter.RUNTIME.compile(text)
    earlier, later = first(*arguments)[0], first(*arguments)[0]
    assert earlier.tobytes() != later.tobytes()
    assert second(*arguments)[0].tobytes() == earlier.tobytes()
    assert second(*arguments)[0].tobytes() == later.tobytes()
