"""The judge on programs of jax, flax and optax: its false alarms, and what its samples cost.

The first figure is the time of a whole grade. Then every program is graded on XLA, as it is and
without its algebraic simplifier and fusion, and on IREE where --iree asks for it. What XLA gives is
taken for right, so each suspect or wrong element is a false alarm; on IREE it may be a fault of
IREE's. The cost is that of 8 samples by one exact run of the oracle, in time of the processor on
one thread, best of rounds in turn.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

# Before numpy loads its BLAS: threads that wait for each other measure the other programs.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

try:
    from judge_cases import cases
except ImportError as error:
    raise SystemExit(f"this bench needs jax, flax and optax ({error})") from None

from topos import judge, runtimes  # noqa: E402  # The folders must be on the path first.
from topos.stablehlo import parse  # noqa: E402  # See above.

PAIRS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "xla": ("xla", {}),
    "xla without algsimp and fusion": ("xla", {"xla_disable_hlo_passes": "algsimp,fusion"}),
}
PARTS: Final = ("grade", "alarms", "costs")
PRODUCT: Final = """
func.func @main(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
"""


def main() -> int:
    """Prints the figures; returns 1 where a sound pair has an element that is not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--iree", action="store_true", help="grade on IREE too")
    parser.add_argument("--rounds", type=int, default=3, help="of the costs (default: %(default)s)")
    parser.add_argument("--only", choices=PARTS, help="measure nothing else")
    chosen = parser.parse_args()
    parts = (chosen.only,) if chosen.only else PARTS
    if "grade" in parts:
        _grade()
    if parts == ("grade",):
        return 0
    programs = {case.name: case.exported() for case in cases()}
    pairs = {**PAIRS, **({"iree": ("iree", {})} if chosen.iree else {})}
    alarms = 0
    for name, (runtime, options) in pairs.items() if "alarms" in parts else ():
        alarms += _alarms(name, runtime, options, programs)
    if "costs" in parts:
        _costs(programs, chosen.rounds)
    return int(alarms > 0)


def _grade() -> None:
    """Prints how long a grade of a thousand operations takes, and then a bisection of them."""
    lines, value = [], "%x"
    for place in range(500):
        name = ("tanh", "sine", "logistic", "cosine")[place % 4]
        lines += [
            f"%a{place} = stablehlo.{name} {value} : tensor<64xf32>",
            f"%b{place} = stablehlo.add %a{place}, %x : tensor<64xf32>",
        ]
        value = f"%b{place}"
    body = "\n".join(lines)
    text = f"func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {{\n{body}\nreturn {value}"
    text += " : tensor<64xf32>\n}"
    for call, most in ((judge.grade, " (at most 30 s)"), (judge.bisect, "")):
        start = time.perf_counter()
        found: Any = call(text, "xla")
        seconds = time.perf_counter() - start
        verdict = "passed" if found.passed else "is wrong"
        print(f"{call.__name__} of 1,000 operations on XLA: {verdict}, {seconds:.1f} s{most}")


def _alarms(
    name: str,
    runtime: str,
    options: Mapping[str, Any],
    programs: Mapping[str, tuple[str, Sequence[Any]]],
) -> int:
    """Prints the verdicts of one pair, and returns how many programs a sound one failed."""
    verdicts, elements, failed = Counter[str](), Counter[str](), 0
    for case, (text, arguments) in programs.items():
        found = judge.grade(text, runtime, arguments, options=options)
        verdicts["failed" if found.failure else str(found.verdict)] += 1
        for result in found.results:
            elements.update({str(key): count for key, count in result.counts.items()})
        if not found.passed:
            print(f"  {name}: {case}: {str(found).splitlines()[0][:200]}")
            failed += runtime != "iree"
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(elements.items()))
    print(f"{name}: {dict(verdicts)} of {len(programs)} programs; elements: {told}", flush=True)
    return failed


def _costs(programs: Mapping[str, tuple[str, Sequence[Any]]], rounds: int) -> None:
    ratios: dict[str, float] = {}
    for name, (text, arguments) in programs.items():
        module = parse(text).verify()
        count = sum(1 for _ in module.walk())
        if 50 <= count <= 1000:
            ratios[name] = _cost(module, arguments, rounds)
    within = sum(ratio <= 3 for ratio in ratios.values())
    highest = sorted(ratios.items(), key=lambda pair: -pair[1])[:5]
    told = ", ".join(f"{name} {ratio:.1f}x" for name, ratio in highest)
    print(
        f"8 samples by an exact run, {len(ratios)} programs of 50 to 1,000 operations: median"
        f" {median(ratios.values()):.2f}x (at most 3x), {within} within 3x, highest {told}"
    )
    generator = np.random.default_rng(0)
    matrices = [generator.standard_normal((512, 512)).astype(np.float32) for _ in range(2)]
    ratio = _cost(parse(PRODUCT).verify(), matrices, rounds)
    print(f"8 samples by an exact run, a product of 512: {ratio:.2f}x (at most 10x)")


def _cost(module: Any, arguments: Sequence[Any], rounds: int) -> float:
    oracle = runtimes.load("interpreter").compile(module, numerics="exact")
    ensemble = judge.Ensemble(module)
    calls: list[Callable[[], object]] = [
        lambda: oracle(*arguments),
        lambda: ensemble.run(arguments, samples=8),
    ]
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for place, call in enumerate(calls):
            start = time.process_time()
            call()
            best[place] = min(best[place], time.process_time() - start)
    return best[1] / best[0]


if __name__ == "__main__":
    raise SystemExit(main())
