"""Running one node of a plan beside the numpy call that it makes, over [8, 8] f32."""

from __future__ import annotations

import numpy as np
from timing import interleaved

from topos import Numerics, Tape

LENGTH = 10_000
ARRAY = np.full((8, 8), 0.5, np.float32)


def by_hand() -> np.ndarray:
    """Returns the chain computed by numpy alone, with as many calls as the plan has nodes."""
    value = ARRAY
    for _ in range(LENGTH // 2):
        value = np.add(np.multiply(value, ARRAY), ARRAY)
    return value


if __name__ == "__main__":
    tape = Tape()
    value, weight = tape.parameter(ARRAY), tape.parameter(ARRAY)
    for _ in range(LENGTH // 2):
        value = value * weight + weight
    network = tape.into_network()
    plans = {
        posture: network.entry([value.symbol], numerics=posture).lower() for posture in Numerics
    }
    parameters = network.parameters()
    rivals = {
        posture.value: (lambda plan=plan: plan.forward(parameters))
        for posture, plan in plans.items()
    }
    assert plans[Numerics.EXACT].forward(parameters).of(value.symbol).numpy().tobytes() == (
        by_hand().tobytes()
    )
    best = interleaved({"numpy": by_hand, **rivals}, rounds=9)
    each = {name: seconds / LENGTH * 1e6 for name, seconds in best.items()}
    print("run a node of a plan over [8, 8] f32")
    print(f"  {'numpy call, us':<34} {each['numpy']:>12.3f}")
    for posture in Numerics:
        above = each[posture.value] - each["numpy"]
        print(
            f"  {f'{posture.value} plan, us a node':<34} {each[posture.value]:>12.3f}"
            f"   {above:.3f} above numpy, must be at most 1.5"
        )
