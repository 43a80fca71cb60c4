"""Copies: an argument that every call copies is told in `memory()`, and warned of once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.exact import exactly, same
from topos import Network, Plan, Tape, Tensor, runtimes
from topos.errors import CopyWarning
from topos.payload.storage import aligned

ROWS, COLUMNS = 40, 30


@pytest.fixture
def network() -> Network:
    tape = Tape()
    left = tape.input(shape=(ROWS, COLUMNS), name="left")
    right = tape.parameter(np.ones((COLUMNS, ROWS), np.float32), name="right")
    (left @ right).named("product")
    return tape.into_network()


@pytest.fixture
def plan(network: Network) -> Plan:
    return network.entry(["product"]).lower()


TURNED = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(COLUMNS, ROWS).T
TOLD = "left: f32[40, 30], 4800 bytes, not row-major"
WARNING = f"every call copies {TOLD}: bring numpy.ascontiguousarray or a Tensor of it, made once"


def test_a_feed_of_another_layout_is_told_once_where_it_was_fed(plan: Plan) -> None:
    assert str(plan.memory()).endswith(f"arena of {plan.memory().arena}")
    with pytest.warns(CopyWarning, match=exactly(WARNING)) as caught:
        run = plan.forward(None, {"left": TURNED})
    assert [each.filename for each in caught] == [__file__]
    again = plan.forward(None, {"left": Tensor(TURNED.T).transpose()})
    assert same(run.of("product"), plan.forward(None, {"left": Tensor(TURNED)}).of("product"))
    assert same(run.of("product"), again.of("product"))
    assert [str(each) for each in plan.memory().copied] == [TOLD]
    assert f"\ncopied at each call: {TOLD}\n" in plan.describe()


def test_a_parameter_is_row_major_however_it_was_brought(network: Network, plan: Plan) -> None:
    turned = Tensor(np.ones((ROWS, COLUMNS), np.float32)).transpose()
    for state in (
        network.parameters({"right": turned}),
        network.parameters().with_payloads({"right": turned}),
        network.parameters().map(lambda _: turned),
    ):
        plan.forward(state, {"left": Tensor(TURNED)})
    assert plan.memory().copied == ()


def test_a_small_feed_is_told_and_not_warned_of() -> None:
    tape = Tape()
    tape.input(shape=(3, 2), name="x").sum().named("sum")
    plan = tape.into_network().entry(["sum"]).lower()
    plan.forward(None, {"x": np.ones((2, 3), np.float32).T})
    assert [str(each) for each in plan.memory().copied] == ["x: f32[3, 2], 24 bytes, not row-major"]


def test_what_is_copied_for_a_scan_or_a_view_is_told_before_a_call(network: Network) -> None:
    kept = network.entry(["product"], backward=True).lower()
    told = "left: f32[40, 30], 4800 bytes, "
    assert [str(each) for each in kept.memory().copied] == [told + "kept for Run.backward"]
    tape = Tape()
    tape.input(shape=(ROWS, COLUMNS), name="left").transpose().named("view")
    viewed = tape.into_network().entry(["view"]).lower()
    assert [str(each) for each in viewed.memory().copied] == [told + "a result may be a view of it"]
    viewed.forward(None, {"left": TURNED})


@pytest.fixture(params=["interpreter", "xla", "iree"])
def runtime(request: pytest.FixtureRequest) -> str:
    if not runtimes.load(request.param).status().ready:
        pytest.skip(f"{request.param} is not installed")
    name: str = request.param
    return name


def test_a_compiled_plan_tells_its_copies_too(plan: Plan, runtime: str) -> None:
    compiled = plan.compile(runtime)
    with pytest.warns(CopyWarning, match=exactly(WARNING)):
        run = compiled.forward(None, {"left": TURNED})
    compiled.forward(None, {"left": TURNED})
    assert [str(each) for each in compiled.memory().copied] == [TOLD]
    assert str(compiled.memory()).endswith(f"\ncopied at each call: {TOLD}")
    bound = compiled.bind()
    with pytest.warns(CopyWarning, match=exactly(WARNING)):
        again = bound.forward({"left": TURNED})
    assert same(run.of("product"), again.of("product"))
    assert [str(each) for each in bound.memory().copied] == [TOLD]


def test_a_large_argument_that_comes_again_has_to_lie_where_it_is_read(runtime: str) -> None:
    tape = Tape()
    tape.input(shape=(512, 512), name="x").sum().named("sum")
    compiled = tape.into_network().entry(["sum"]).lower().compile(runtime)
    room = aligned((512 * 512 + 1,), np.dtype(np.float32))
    room[:] = 1.0
    apart = room[1:].reshape(512, 512)
    compiled.forward(None, {"x": apart})
    compiled.forward(None, {"x": room[:-1].reshape(512, 512)})
    compiled.forward(None, {"x": Tensor(apart)})
    # Other memory each time, as a training loop brings it.
    for _ in range(2):
        compiled.forward(None, {"x": apart.copy()})
    if runtime == "interpreter":
        for _ in range(2):
            compiled.forward(None, {"x": apart})
        assert compiled.memory().copied == ()
        return
    told = "x: f32[512, 512], 1.0 MB, not at a multiple of 64 bytes"
    message = f"every call copies {told}: bring a Tensor of it, made once, or bind it"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            compiled.forward(None, {"x": apart})
    assert [str(each.message) for each in caught] == [message]
    assert [str(each) for each in compiled.memory().copied] == [told]
