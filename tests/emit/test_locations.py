"""Source locations on their way from the recording expression to a runtime."""

from __future__ import annotations

from tests.runtimes.held import has_oracle_bits
from topos import Tape


def test_a_location_reaches_the_text_the_plan_and_the_runtime() -> None:
    tape = Tape(locations=True)
    x = tape.input([1.0, 2.0], name="x")
    y = (x * 3.0).log_softmax(0)
    plan = tape.into_network().entry([y.symbol]).lower()
    line = test_a_location_reaches_the_text_the_plan_and_the_runtime.__code__.co_firstlineno + 3
    text = plan.emit_stablehlo()
    product = next(each for each in text.splitlines() if "multiply" in each)
    assert product.endswith(f' : tensor<2xf32> loc("{__file__}":{line}:10)')
    stable = [each for each in text.splitlines() if each.startswith("    %v3")]
    assert len(stable) > 5
    assert all(each.endswith(f' loc("{__file__}":{line}:9)') for each in stable)
    assert f"at {__file__}:{line}:10" in plan.describe()
    assert has_oracle_bits(plan, "interpreter", "exact")
