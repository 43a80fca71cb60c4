"""Elementwise operations over large arrays: what matches and what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pytest

from tests.engine.catalog.blocks import blocks_of, lowered
from tests.engine.catalog.recordings import normalized
from topos import Element, Network, Tape, Value, bf16, f16, f32, f64
from topos.engine.catalog import PatternKind, View, discover

# Sixteen megabytes of f32: with one operand and the result, exactly the least that matches.
LEAST: Final = 1 << 22


def claimed(
    recorded: Tape | Network, *roots: Value, observe: tuple[Value, ...] = ()
) -> list[list[int]]:
    """Returns the nodes of each elementwise match of a plan that answers `roots`."""
    network = recorded.into_network() if isinstance(recorded, Tape) else recorded
    symbols, observes = ([value.symbol for value in values] for values in (roots, observe))
    plan = network.entry(symbols, observe=observes).lower()
    return [
        [symbol.position for symbol in match.claimed]
        for match in plan.patterns()
        if match.kind is PatternKind.ELEMENTWISE
    ]


def positions(*values: Value) -> list[int]:
    return [value.symbol.position for value in values]


def test_a_plan_shows_what_it_runs_in_blocks() -> None:
    tape = Tape()
    x, y = (tape.input(shape=(LEAST,), name=name) for name in "xy")
    halved = x * 0.5
    total = halved + y
    root = total.tanh() / (total + 2.0)
    network = tape.into_network()
    plan = lowered(network, root)
    (match,) = plan.patterns()
    assert match.kind is PatternKind.ELEMENTWISE
    assert (match.root, match.results) == (root.symbol, (root.symbol,))
    assert str(match).startswith("%8 = elementwise of %3 %4 %5 %7 %8; fused; not raised: ")
    assert "%8 is elementwise of %0 %2 %1 %6" in plan.describe().splitlines()
    assert sum(line.endswith("fused into %8") for line in plan.describe().splitlines()) == 4
    assert plan.schedule().splitlines()[-2] == "    elementwise(s0, c2, s1, c3, out=r0)  # %8"
    # No value inside is ever a whole array: nothing but the result is made.
    assert (plan.memory().peak, plan.memory().arena) == (4 * LEAST, 0)
    with blocks_of(least=1 << 60):
        apart = lowered(network, root)
    assert (apart.memory().peak, apart.memory().arena) == (8 * LEAST, 4 * LEAST)
    assert plan.emit_stablehlo() == apart.emit_stablehlo()


def test_what_fits_the_last_cache_runs_whole() -> None:
    for count, wanted in ((LEAST, 1), (LEAST - 1, 0)):
        tape = Tape()
        result = tape.input(shape=(count,)) * 2.0 + 1.0
        assert len(claimed(tape, result)) == wanted


def test_values_alive_at_once_count() -> None:
    # The operand and two values, of four bytes an element.
    least = -(-(1 << 25) // 12)
    for count, wanted in ((least, 1), (least - 1, 0)):
        tape = Tape()
        x = tape.input(shape=(count,))
        assert len(claimed(tape, x * 2.0 / (x + 1.0))) == wanted


def test_small_arrays_are_never_looked_at() -> None:
    tape = Tape()
    value = tape.input(shape=(64, 64))
    for _ in range(100):
        value = value * 2.0 + 1.0
    network = tape.into_network()
    assert discover(network.columns, range(network.length)).wide == ()


def test_one_operation_is_none() -> None:
    tape = Tape()
    assert claimed(tape, tape.input(shape=(LEAST,)).tanh()) == []


def test_an_observed_value_ends_a_match() -> None:
    tape = Tape()
    x = tape.input(shape=(LEAST,))
    first = x * 2.0
    second = first + 1.0
    third = second.tanh()
    fourth = third * x
    network = tape.into_network()
    wanted = [positions(first, second), positions(third, fourth)]
    assert claimed(network, fourth, observe=(second,)) == wanted
    assert claimed(network, fourth) == [positions(first, second, third, fourth)]


def test_a_value_that_others_read_is_not_inside() -> None:
    tape = Tape()
    x = tape.input(shape=(LEAST,))
    first = x * 2.0
    second = first + 1.0
    third = second.tanh()
    fourth, outside = third * second, second.sum()
    network = tape.into_network()
    wanted = [positions(first, second), positions(third, fourth)]
    assert claimed(network, fourth, outside) == wanted
    # It is read twice, both times inside.
    assert claimed(network, fourth) == [positions(first, second, third, fourth)]


def test_a_reduction_in_between_parts_two_matches() -> None:
    tape = Tape()
    x = tape.input(shape=(4096, LEAST >> 12))
    doubled = x * 2.0
    shifted = doubled + 1.0
    spread = shifted.sum(1).broadcast_along([1], [LEAST >> 12])
    quotient = shifted / spread
    root = quotient * quotient
    assert claimed(tape, root) == [positions(doubled, shifted), positions(quotient, root)]


STRIDED: dict[str, Callable[[Value], Value]] = {
    "permuted": lambda x: x.permute((1, 0)),
    "transposed": lambda x: x.transpose(),
    "permuted_and_reshaped": lambda x: x.permute((1, 0)).reshape(x.shape),
    "narrowed": lambda x: x.narrow(0, 0, 2048).concatenate([x], 0).narrow(0, 1, 2048),
    "repeated_and_reshaped": lambda x: x.max(1).broadcast_along([1], [2048]).reshape(x.shape),
    "repeated_in_the_middle": lambda x: x.max(1).broadcast_along([1], [x.shape[1]]),
}


@pytest.mark.parametrize(("name", "strided"), STRIDED.items(), ids=STRIDED)
def test_an_operand_in_another_order_is_read_outside(
    name: str, strided: Callable[[Value], Value]
) -> None:
    tape = Tape()
    x = tape.input(shape=(2048, 64, 32) if name == "repeated_in_the_middle" else (2048, 2048))
    doubled = x * 2.0
    shifted = doubled + 1.0
    summed = shifted + strided(x)
    rooted = summed.tanh()
    root = rooted * x
    # The sum reads what no block holds; its result is an operand like another.
    network = tape.into_network()
    assert claimed(network, root) == [positions(doubled, shifted), positions(rooted, root)]
    assert claimed(network, summed) == [positions(doubled, shifted)]


def test_rows_and_columns_repeat_over_one_width() -> None:
    tape = Tape()
    x = tape.input(shape=(2048, 4, 512))
    row, flat = tape.input(shape=(4, 512)), tape.input(shape=(512,))
    column = tape.input(shape=(2048,))
    first = x + row.broadcast_along([0], [2048])
    second = first * column.broadcast_along([1, 2], [4, 512])
    third = second.tanh()
    fourth = third + flat.broadcast_along([0, 1], [2048, 4])
    wanted = [positions(first, second), positions(third, fourth)]
    assert claimed(tape, fourth) == wanted


def test_a_node_of_two_widths_or_of_numbers_alone_is_read_outside() -> None:
    tape = Tape()
    x = tape.input(shape=(2048, 4, 512))
    row, flat = tape.input(shape=(4, 512)), tape.input(shape=(512,))
    column, number = tape.input(shape=(2048,)), tape.input(shape=())
    wide = row.broadcast_along([0], [2048])
    outer = wide + column.broadcast_along([1, 2], [4, 512])
    first = x * outer
    second = x.less(first).select(wide, flat.broadcast_along([0, 1], [2048, 4]))
    constant = number.broadcast(x.shape) + number.broadcast(x.shape)
    third = second * constant
    fourth = third - x
    mask = second.symbol.position - 2
    found = claimed(tape, fourth)
    assert found == [[*positions(outer, first), mask], positions(third, fourth)]


def test_a_row_that_no_block_holds_is_read_outside() -> None:
    for width, wanted in ((1 << 10, 2), (1 << 16, 2), (1 << 17, 1), (1025, 1)):
        tape = Tape()
        rows = -(-LEAST // width)
        x = tape.input(shape=(rows, width))
        shifted = (x * 2.0 + 1.0) + tape.input(shape=(width,)).broadcast_along([0], [rows])
        # The last addition is inside, or the first two are alone.
        (found,) = claimed(tape, shifted)
        assert len(found) == wanted + 1 if wanted == 2 else len(found) == 2


def test_maps_of_short_formats_and_foreign_elements_run_whole() -> None:
    foreign = Element("c32", np.float32, mlir="f32")
    for element, wanted in ((f32, 3), (f64, 3), (bf16, 2), (f16, 2), (foreign, 0)):
        tape = Tape(element=element)
        root = (tape.input(shape=(2 * LEAST,)) * 2.0 + 1.0).tanh()
        assert [len(found) for found in claimed(tape, root)] == ([wanted] if wanted else [])
    tape = Tape(element=foreign)
    assert claimed(tape, tape.input(shape=(LEAST,)).tanh().exp()) == []


def test_other_patterns_come_first() -> None:
    tape = Tape()
    x = tape.input(shape=(LEAST >> 10, 1024))
    normal, *_ = normalized(x * 2.0 + 1.0, (0,))
    root = normal.tanh() * 0.5
    plan = lowered(tape.into_network(), root)
    kinds = [match.kind.value for match in plan.patterns()]
    assert kinds == ["elementwise", "batch_norm_training", "elementwise"]


def test_discovery_looks_at_each_node_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    operands = View.operands

    def counted(view: View, node: int) -> tuple[int, ...]:
        nonlocal looks
        looks += 1
        return operands(view, node)

    monkeypatch.setattr(View, "operands", counted)
    costs = []
    for length in (200, 2000):
        tape = Tape()
        value = first = tape.input(shape=(LEAST,))
        for _ in range(length):
            value = value * first + 1.0
        looks = 0
        (found,) = claimed(tape, value)
        assert len(found) == 2 * length
        costs.append(looks / length)
    assert costs[1] <= 1.1 * costs[0]
