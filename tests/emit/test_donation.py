"""Donated arguments: their attribute in the text, and what cannot be donated."""

from __future__ import annotations

import re

import numpy as np
import pytest

import topos
from topos import Plan, Symbol, Tape, f32, f64
from topos.errors import EmitError


def step() -> tuple[Plan, dict[str, Symbol]]:
    """Returns the plan of a loss and of one update of two weights."""
    tape = Tape(element=f32)
    weight = tape.parameter(np.ones((2, 3), np.float32), name="weight")
    bias = tape.parameter(np.zeros(3, np.float32), name="bias")
    wide = tape.parameter(np.zeros(3), element=f64, name="wide")
    batch = tape.input(np.ones((4, 2), np.float32), name="batch")
    loss = ((batch @ weight) + bias.broadcast_along([0], [4])).sum()
    halved = weight * 0.5
    lowered = bias - 1.0
    values = {
        "weight": weight,
        "bias": bias,
        "wide": wide,
        "batch": batch,
        "loss": loss,
        "halved": halved,
        "lowered": lowered,
        "doubled": wide * 2.0,
    }
    names = topos.detach(values)
    network = tape.into_network()
    roots = [names["loss"], names["halved"], names["lowered"], names["doubled"]]
    return network.entry([*roots, names["wide"]]).lower(), names


def test_a_donated_argument_names_its_result() -> None:
    plan, names = step()
    donate = {names["weight"]: names["halved"], names["bias"]: names["lowered"]}
    text = plan.emit_stablehlo(donate=donate)
    head = text.splitlines()[1]
    assert re.findall(r"tensor<([\w]+)> \{tf\.aliasing_output = (\d) : i32, topos", head) == [
        ("2x3xf32", "1"),
        ("3xf32", "2"),
    ]
    topos.runtimes.verify(text)
    plain = plan.emit_stablehlo()
    assert "aliasing" not in plain
    bare = re.sub(r"tf\.aliasing_output = \d : i32, ", "", text)
    assert bare.splitlines()[1:] == plain.splitlines()[1:]


@pytest.mark.parametrize(
    ("argument", "result", "reason"),
    [
        ("loss", "halved", "a donation needs an argument of the plan"),
        ("weight", "batch", "a donation needs a declared result of the plan"),
        ("weight", "lowered", "cannot give its buffer to a result of"),
        ("wide", "doubled", "is a result as well and cannot be donated"),
    ],
)
def test_what_cannot_be_donated(argument: str, result: str, reason: str) -> None:
    plan, names = step()
    with pytest.raises(EmitError, match=reason):
        plan.emit_stablehlo(donate={names[argument]: names[result]})


def test_a_donation_goes_by_name() -> None:
    plan, names = step()
    by_symbol = plan.emit_stablehlo(donate={names["weight"]: names["halved"]})
    tape = plan.network.into_tape()
    weight = tape.value("weight")
    (weight * weight).named("squared")
    plan = tape.into_network().entry(["squared"]).lower()
    text = plan.emit_stablehlo(donate={"weight": "squared"})
    assert "%v0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32, topos.name" in text
    assert "%v0: tensor<2x3xf32> {tf.aliasing_output = 1 : i32, topos.name" in by_symbol


def test_a_name_that_is_none_of_them_is_told_with_those_that_are() -> None:
    plan, names = step()
    told = r"an argument of the plan, got 'wieght'; there is 'weight', 'bias', 'wide', 'batch'$"
    with pytest.raises(EmitError, match=told):
        plan.emit_stablehlo(donate={"wieght": names["halved"]})
    with pytest.raises(EmitError, match=r"result of the plan, got 'halved'; there is 'wide'$"):
        plan.emit_stablehlo(donate={"weight": "halved"})
    twice: dict[Symbol | str, Symbol] = {
        "weight": names["halved"],
        names["weight"]: names["halved"],
    }
    with pytest.raises(EmitError, match="has one buffer, and is donated twice"):
        plan.emit_stablehlo(donate=twice)


def test_a_result_takes_one_buffer() -> None:
    tape = Tape(element=f32)
    first, second = (tape.parameter(np.ones(3, np.float32)) for _ in range(2))
    total = (first + second).symbol
    donate = {first.symbol: total, second.symbol: total}
    plan = tape.into_network().entry([total]).lower()
    with pytest.raises(EmitError, match="takes one buffer, and two are donated to it"):
        plan.emit_stablehlo(donate=donate)
