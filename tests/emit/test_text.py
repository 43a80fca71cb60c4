"""The spelling of names and constants, and the stamping of long nodes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtimes.held import has_oracle_bits
from topos import Element, Tape, bf16, f32
from topos.emit.text import dense, quoted
from topos.errors import ElementError, EmitError
from topos.runtimes.interpreter import run_text


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1.5, 1.5], np.float32), "dense<1.5>"),
        (np.array([0.0, -0.0], np.float32), "dense<[0.0, -0.0]>"),
        (np.array([np.nan, np.inf], np.float32), "dense<[0x7FC00000, 0x7F800000]>"),
        (np.array([[1], [-2]], np.int32), "dense<[[1], [-2]]>"),
        (np.array([True, False]), "dense<[true, false]>"),
        (np.float64(1e300), "dense<1.0e+300>"),
        (np.zeros((0, 2), np.float32), "dense<>"),
        (np.arange(65, dtype=np.int8), f'dense<"0x{bytes(range(65)).hex().upper()}">'),
    ],
    ids=str,
)
def test_a_constant_is_a_splat_a_list_or_a_blob(array: np.ndarray, text: str) -> None:
    assert dense(np.asarray(array)) == text


def test_truth_values_are_spelled_at_any_length() -> None:
    assert dense(np.arange(66) > 64) == f"dense<[{'false, ' * 65}true]>"


def test_a_name_is_escaped() -> None:
    assert quoted('a"b\\c\nd\u00e9\udc80') == '"a\\22b\\5Cc\\0Ad\\C3\\A9\\ED\\B2\\80"'


def test_a_node_may_have_thousands_of_operands_and_steps() -> None:
    tape = Tape()
    parts = [tape.input(np.array([[place]], np.float32)) for place in range(3000)]
    windows = parts[0].concatenate(parts[1:], 0).unfold(0, 2500, 100)
    plan = tape.into_network().entry([windows.symbol]).lower()
    assert has_oracle_bits(plan, "interpreter")


def test_a_conversion_to_the_own_element_keeps_every_bit() -> None:
    payload = np.array([0x7F800001, 0xFFC00123], np.uint32).view(np.float32)
    tape = Tape()
    same = tape.input(payload).convert(f32)
    plan = tape.into_network().entry([same.symbol]).lower()
    assert plan.forward().of(same.symbol).numpy().tobytes() == payload.tobytes()
    assert has_oracle_bits(plan, "interpreter")


def test_an_element_without_a_type_cannot_be_written() -> None:
    nameless = Element("nameless", np.int16, mlir="", differentiable=False)
    tape = Tape()
    x = tape.input([1, 2], element=nameless)
    total = (x + x).symbol
    plan = tape.into_network().entry([total]).lower()
    with pytest.raises(EmitError, match=r"^the element nameless has no MLIR type$"):
        plan.emit_stablehlo()


def test_an_unsigned_element_of_the_users_own_is_written() -> None:
    ui8 = Element("ui8", np.uint8, differentiable=False)
    tape = Tape()
    x = tape.input([1, 250, 7], element=ui8)
    results = [value.symbol for value in (x + 3, x.max(), x.greater(6))]
    plan = tape.into_network().entry(results).lower()
    assert has_oracle_bits(plan, "interpreter")
    assert run_text(plan.emit_stablehlo(), [np.array([1, 250, 7], np.uint8)])[1] == 250


@pytest.mark.parametrize("dtype", [np.complex64, object, "S3", "not a dtype"])
def test_an_element_is_a_real_number(dtype: object) -> None:
    with pytest.raises(ElementError, match=r"^an element is stored as"):
        Element("mine", dtype)


def test_an_element_has_one_word_for_a_type() -> None:
    with pytest.raises(ElementError, match=r"^an element's MLIR type is one word"):
        Element("mine", bf16.dtype, mlir='f32> loc("x") {')
