"""Mistakes in runs, modules and runtimes: class, whole message, nothing lost."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.exact import holds
from tests.project.bad_input import Bad, innermost_of_the_user, sealed_value
from topos import (
    Element,
    Network,
    Parameters,
    Tape,
    Tensor,
    errors,
    f32,
    runtimes,
)


def model() -> Network:
    tape = Tape()
    w = tape.parameter([1.0, 2.0], name="w")
    x = tape.input(shape=(2,), name="x")
    hidden = (w * x).named("hidden")
    hidden.sum().named("loss")
    return tape.into_network()


def foreign_parameters() -> Parameters:
    return model().parameters()


RUNNING = [
    Bad(
        "unfed",
        errors.FeedError,
        "%1 'x' needs a feed of f32[2], got none",
        lambda n: n.entry(["loss"]).lower().forward(),
    ),
    Bad(
        "fed_shape",
        errors.FeedError,
        "%1 'x' needs f32[2], got f32[3]",
        lambda n: n.entry(["loss"]).lower().forward(None, {"x": [1, 2, 3]}),
    ),
    Bad(
        "fed_element",
        errors.FeedError,
        "%1 'x' needs f32[2], got f64[2]",
        lambda n: n.entry(["loss"]).lower().forward(None, {"x": np.zeros(2)}),
    ),
    Bad(
        "fed_parameter",
        errors.FeedError,
        "%0 'w' is not an input and cannot be fed",
        lambda n: n.forward(None, {"w": [1, 2], "x": [1, 2]}),
    ),
    Bad(
        "fed_first",
        errors.FeedError,
        "a run needs Parameters before its feeds, got dict",
        lambda n: n.forward({"x": [1, 2]}),
    ),
    Bad(
        "fed_array",
        errors.FeedError,
        "feeds map inputs to payloads, as {'x': ...}, got ndarray",
        lambda n: n.forward(None, np.ones(2, np.float32)),
    ),
    Bad(
        "fed_list",
        errors.FeedError,
        "feeds map inputs to payloads, as {'x': ...}, got list",
        lambda n: n.entry(["loss"]).lower().arguments(None, []),
    ),
    Bad(
        "fed_compiled",
        errors.FeedError,
        "feeds map inputs to payloads, as {'x': ...}, got ndarray",
        lambda n: n.entry(["loss"]).lower().compile("interpreter").bind().forward(np.zeros(0)),
    ),
    Bad(
        "payloads_of_array",
        errors.FeedError,
        "payloads go by name or symbol, as {'w': ...}, got ndarray",
        lambda n: n.parameters(np.zeros(0)),
    ),
    Bad(
        "replaced_by_array",
        errors.FeedError,
        "payloads go by name or symbol, as {'w': ...}, got Tensor",
        lambda n: n.parameters().with_payloads(Tensor([1.0, 2.0])),
    ),
    Bad(
        "donated_array",
        errors.EmitError,
        "a donation maps arguments to results, by symbol or name, got ndarray",
        lambda n: n.entry(["loss"]).lower().emit_stablehlo(donate=np.zeros(0)),
    ),
    Bad(
        "roots_of_number",
        errors.SymbolError,
        "an entry takes sequences of symbols or names, got 5",
        lambda n: n.entry(5),
    ),
    Bad(
        "foreign_parameters",
        errors.SymbolError,
        "the parameters belong to another recording",
        lambda n: n.forward(foreign_parameters(), {"x": [1, 2]}),
    ),
    Bad(
        "foreign_symbol",
        errors.SymbolError,
        "symbol %0 belongs to another recording",
        lambda n: n.entry([model().symbol("w")]),
    ),
    Bad(
        "value_as_root",
        errors.SymbolError,
        "a value is referred to by a Symbol or a name, got Value: take its symbol",
        lambda n: n.entry([sealed_value()]),
    ),
    Bad(
        "no_roots",
        errors.ReadError,
        "an entry needs one root or more, got none",
        lambda n: n.entry([]),
    ),
    Bad(
        "unobserved",
        errors.ReadError,
        "%2 'hidden' was not declared: make it a root or observe it",
        lambda n: n.entry(["loss"]).lower().forward(None, {"x": [1, 2]}).of("hidden"),
    ),
    Bad(
        "undeclared_target",
        errors.ReadError,
        "%2 'hidden' was not declared: a backward target is a root or observed",
        lambda n: (
            n.entry(["loss"], backward=True).lower().forward(None, {"x": [1, 2]}).backward("hidden")
        ),
    ),
    Bad(
        "forward_only",
        errors.PostureError,
        "backward needs an entry with backward=True, got a forward-only or compiled one",
        lambda n: n.entry(["loss"]).lower().forward(None, {"x": [1, 2]}).backward("loss"),
    ),
    Bad(
        "stepped_type",
        errors.FeedError,
        "%0 'w' needs f32[2], got f32[]",
        lambda n: n.parameters().step(
            n.forward(None, {"x": [1, 2]}).backward("loss"), lambda w, g: w.sum()
        ),
    ),
    Bad(
        "payload_type",
        errors.FeedError,
        "%0 'w' needs a Tensor of f32[2], got list",
        lambda n: n.parameters().with_payloads({"w": [1.0, 2.0]}),
    ),
    Bad(
        "no_entry",
        errors.ReadError,
        "%1 'x' has no entry in this Parameters",
        lambda n: n.parameters().of("x"),
    ),
    Bad(
        "unknown_runtime",
        errors.UnavailableError,
        f"no runtime is called 'abacus'; there are {', '.join(runtimes.names())}",
        lambda n: n.entry(["loss"]).lower().compile("abacus"),
    ),
]


@pytest.mark.parametrize("bad", RUNNING, ids=lambda bad: str(bad.name))
def test_a_mistake_in_a_run_is_told_and_loses_nothing(bad: Bad) -> None:
    network = model()
    with pytest.raises(bad.error) as caught:
        bad.action(network)
    assert type(caught.value) is bad.error
    assert str(caught.value) == bad.message
    assert innermost_of_the_user(caught.value).f_code is bad.action.__code__
    assert holds(network.forward(None, {"x": [1, 2]}).of("loss"), 5.0, f32)


def test_a_network_reopens_once() -> None:
    network = model()
    tape = network.into_tape()
    with pytest.raises(errors.PhaseError) as caught:
        network.into_tape()
    assert str(caught.value) == "a network reopens once: its history is linear"
    assert tape.value("loss").shape == ()


def test_a_module_that_cannot_be_written_names_the_element() -> None:
    odd = Element("odd", ml_dtypes.float8_e5m2, mlir="", compute=np.float32)
    tape = Tape(element=odd)
    total = (tape.input(shape=(2,), name="x") + 1.0).symbol
    plan = tape.into_network().entry([total]).lower()
    with pytest.raises(errors.EmitError) as caught:
        plan.emit_stablehlo()
    assert str(caught.value) == "the element odd has no MLIR type"
    assert plan.forward(None, {"x": [1, 2]}).of(total).shape == (2,)


MODULE = """module @m {
  func.func public @main(%v0: tensor<2xf32>) -> (tensor<2xf32>) {
    %v1 = stablehlo.negate %v0 : tensor<2xf32>
    return %v1 : tensor<2xf32>
  }
}
"""


def test_a_text_that_does_not_parse_shows_the_place() -> None:
    interpreter = runtimes.load("interpreter")
    with pytest.raises(errors.ParseError) as caught:
        interpreter.compile(MODULE.replace("%v0 : tensor<2xf32>\n", "%v0 ; tensor<2xf32>\n"))
    assert (caught.value.line, caught.value.column) == (3, 32)
    first, line, caret = str(caught.value).splitlines()
    assert first == f"line 3, column 32: {caught.value.reason}"
    assert line == "    %v1 = stablehlo.negate %v0 ; tensor<2xf32>"
    assert caret == " " * 31 + "^"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the module takes 1 arguments, got 0"),
        ((np.zeros(2, np.float32),) * 2, "the module takes 1 arguments, got 2"),
        ((np.zeros(3, np.float32),), "argument 0 must be float32[2], got float32[3]"),
        ((np.zeros(2),), "argument 0 must be float32[2], got float64[2]"),
        ((np.zeros(2, np.int32),), "argument 0 must be float32[2], got int32[2]"),
    ],
)
def test_an_executable_refuses_arguments_that_do_not_fit(
    arguments: tuple[Any, ...], message: str
) -> None:
    executable = runtimes.load("interpreter").compile(MODULE)
    with pytest.raises(errors.ArgumentError) as caught:
        executable(*arguments)
    assert str(caught.value) == message
    assert executable(np.ones(2, np.float32))[0].tolist() == [-1.0, -1.0]


@pytest.mark.parametrize("name", ["xla", "reference", "iree"])
def test_a_missing_package_is_told_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [*sys.modules, "jax", "jaxlib", "iree", "iree.compiler", "iree.runtime"]:
        if module.partition(".")[0] in ("jax", "jaxlib", "iree"):
            monkeypatch.setitem(sys.modules, module, None)
    adapter = runtimes.load(name)
    status = adapter.status()
    assert not status.ready
    with pytest.raises(errors.UnavailableError) as caught:
        adapter.compile(MODULE)
    assert str(caught.value) == status.detail
    extra = "iree" if name == "iree" else "xla"
    assert f"topos-compiler[{extra}]" in status.detail


def test_messages_have_no_full_stop() -> None:
    assert [bad.name for bad in RUNNING if bad.message.endswith(".")] == []
