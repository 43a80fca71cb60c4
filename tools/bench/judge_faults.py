"""Faults injected into a simulated runtime: how many the judge detects, at the results and alone.

The runtime is a sound, noisy run in which one operation is faulty. A fault is detected at the
results where the judge does not pass them, and by local replay where it does not pass the operation
alone, with the oracle's operands. Sound runs from the same seeds show the false alarms.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

try:
    import jax
    from jax import numpy as jnp
    from judge_cases import Case as Program
    from judge_cases import cases
except ImportError as error:
    raise SystemExit(f"this bench needs jax, flax and optax ({error})") from None

from tools.judge_faults import KINDS, Fault  # noqa: E402  # The folders must be on the path first.
from tools.judge_faulty_run import FaultyRun, FaultyRuntime  # noqa: E402  # See above.
from topos import judge  # noqa: E402  # See above.
from topos.errors import ExecutionError  # noqa: E402  # See above.
from topos.judge.bisection.replay import replays, steps_of  # noqa: E402  # See above.
from topos.judge.samples.formats import is_floating, limits_of  # noqa: E402  # See above.
from topos.judge.verdicts import BAD, FLOOR  # noqa: E402  # See above.

Arrays = Sequence[Any]
SIZES: Final = (0.0, 3.0, 5.0, 10.0, 20.0, 100.0, np.inf)
# What the judge must detect: at the results, with local replay, and beyond how many spreads all.
AT_RESULTS, WITH_REPLAY, ALWAYS = 0.80, 0.97, 20.0
BASES: Final = np.linspace(-2, 2, 20, dtype=np.float32)


class Trial(NamedTuple):
    """One fault in one program, which changed the result of its operation.

    `effect` is the largest change of a result, in spreads beyond the floor; `alarm` tells that the
    sound run from the same seed was not passed.
    """

    program: str
    fault: Fault
    seed: int
    changed: bool
    detected: bool
    replayed: bool
    effect: float
    alarm: bool


def more() -> Iterator[Program]:
    """Yields programs with what the others lack: float64, powers, and truncations."""
    yield Program("powers", jnp.power, (BASES, np.tile(np.float32([2, 3, -1, 4]), 5)))
    yield Program("truncated", lambda x: (x * 3).astype(np.int32), (BASES,))
    yield Program("quantized", lambda x: (x / x.max() * 127).astype(np.int8), (BASES,))
    grid = np.linspace(-2, 2, 40)
    weights = np.random.default_rng(3).standard_normal((40, 8))
    yield Program("f64_series", lambda x: jnp.polyval(jnp.arange(8.0), jnp.sin(x)), (grid,))
    yield Program("f64_layer", lambda x, w: jax.nn.softmax(jnp.tanh(x @ w)), (grid, weights))
    yield Program("f64_variance", lambda x: jnp.var(jnp.exp(x) / 3), (grid,))


def programs() -> Iterator[tuple[str, str, Arrays]]:
    """Yields the name, the text and the arguments of every program."""
    for program in (*cases(), *more()):
        with jax.enable_x64(program.name.startswith("f64_") and program.name != "f64_polynomial"):
            text, arguments = program.exported()
        yield program.name, text, arguments


def main() -> int:
    """Prints the figures; returns 1 where fewer faults are detected than must be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--each", type=int, default=3, help="faults of a kind and a program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--missed", action="store_true", help="name the faults not detected at all")
    parser.add_argument("--only", nargs="*", default=(), help="the names of some programs")
    chosen = parser.parse_args()
    start, generator = time.perf_counter(), random.Random(chosen.seed)
    trials: list[Trial] = []
    sound, operations, findings = 0, 0, 0
    for name, text, arguments in programs():
        if chosen.only and name not in chosen.only:
            continue
        case = judge.Case(text, arguments)
        trials += _trials(name, case, chosen.each, generator)
        found = judge.bisect(text, FaultyRuntime(generator.randrange(10**6)), arguments)
        sound += not found.whole.passed
        operations += found.replayed
        findings += len(found.findings)
    _print_kinds(trials)
    reached = _print_sums(trials)
    print(f"sound runs: {sum(each.alarm for each in trials)} of {len(trials)} are not passed")
    print(f"sound operations alone: {findings} of {operations} are not passed")
    print(f"{time.perf_counter() - start:.0f} s")
    if chosen.missed:
        for each in trials:
            if not (each.detected or each.replayed):
                print(f"missed: {each}")
    return int(not reached)


def _trials(name: str, case: judge.Case, count: int, generator: random.Random) -> Iterator[Trial]:
    """Yields trials of up to `count` faults of each kind, of the operations that are replayed."""
    run = FaultyRun(case.module)
    kinds = defaultdict(list)
    for fault in run.survey(case.arguments, generator.randrange(10**6)):
        kinds[fault.kind].append(fault)
    steps = {
        (step.operation.line, step.operation.column): step
        for step in steps_of(case.module, case.arguments)
    }
    alone: dict[Any, judge.Case] = {}
    for faults in kinds.values():
        for fault in generator.sample(faults, min(count, len(faults))):
            seed = generator.randrange(10**6)
            if fault.place not in steps:
                continue  # What takes a value from outside is not replayed.
            if fault.place not in alone:
                (replay,) = replays(case.module, [steps[fault.place]])
                alone[fault.place] = judge.Case(replay.module, replay.arguments)
            try:
                trial = _trial(name, case, run, alone[fault.place], fault, seed)
            except ExecutionError as error:
                print(f"{name}: {fault.kind} at line {fault.place[0]} is left out: {error}")
                continue
            if trial is not None:
                yield trial


def _trial(
    name: str, case: judge.Case, run: FaultyRun, alone: judge.Case, fault: Fault, seed: int
) -> Trial | None:
    sound, _ = run.run(case.arguments, seed, fault, applied=False)
    faulty, active = run.run(case.arguments, seed, fault)
    if not active:
        return None
    changed = any(bool(_differs(*pair).any()) for pair in zip(sound, faulty, strict=True))
    replayed = FaultyRuntime(seed, fault)(alone.module, alone.arguments)
    return Trial(
        name, fault, seed, changed, not _passed(case, faulty), not _passed(alone, replayed),
        _effect(case, sound, faulty) if changed else 0.0, not _passed(case, sound),
    )  # fmt: skip


def _passed(case: judge.Case, results: Arrays) -> bool:
    verdicts = {int(each.verdicts.max(initial=0)) for each in case.judged(results)}
    return not verdicts & BAD


def _differs(one: Any, other: Any) -> Any:
    return (one != other) & ~((one != one) & (other != other))


def _effect(case: judge.Case, sound: Arrays, faulty: Arrays) -> float:
    """Returns how far a fault moves a result, in spreads beyond the floor."""
    largest = 0.0
    samples = case.drawn(case.samples, case.seed).results
    for center, before, after, drawn in zip(case.results, sound, faulty, samples, strict=True):
        moved = _differs(before, after)
        if not is_floating(center.dtype):
            unseen = moved & ~(drawn == after).any(axis=0)
            largest = np.inf if unseen.any() else largest
            continue
        kind = np.complex128 if center.dtype.kind == "c" else np.float64
        middle, one, other, found = (each.astype(kind) for each in (center, before, after, drawn))
        limits = limits_of(center.dtype)
        with np.errstate(all="ignore"):
            off = np.where(np.isfinite(found) & np.isfinite(middle), np.abs(found - middle), 0.0)
            spread = np.sqrt((off**2).mean(axis=0))
            floor = FLOOR * np.maximum(limits.eps * np.abs(one), limits.least)
            size = np.maximum(np.abs(other - one) - floor, 0.0) / np.maximum(spread, 1e-300)
            size = np.where(np.isfinite(one) == np.isfinite(other), size, np.inf)
        largest = max(largest, float(np.nanmax(np.where(moved, size, 0.0), initial=0.0)))
    return largest


def _print_kinds(trials: Sequence[Trial]) -> None:
    print(f"{'fault':46} {'active':>6} {'shown':>6} {'found':>6} {'alone':>6} {'either':>6}")
    for kind in (*KINDS, "all"):
        some = [each for each in trials if kind in (each.fault.kind, "all")]
        shown = [each for each in some if each.changed]
        numbers = (
            len(some), len(shown), sum(each.detected for each in shown),
            sum(each.replayed for each in some),
            sum(each.detected or each.replayed for each in shown),
        )  # fmt: skip
        print(f"{kind:46}", *[f"{number:6}" for number in numbers])
    print("active: changes its operation's result; shown: changes a result of the module, and is")
    print("found at the results; alone: found by replay of the operation; either: shown and found")


def _print_sums(trials: Sequence[Trial]) -> bool:
    """Prints what must hold, and returns whether it does."""
    shown = [each for each in trials if each.changed]
    for low, high in pairwise(SIZES):
        here = [each for each in shown if low <= min(each.effect, sys.float_info.max) < high]
        print(f"{low:g} to {high:g} spreads: {sum(each.detected for each in here)} of {len(here)}")
    found = sum(each.detected for each in shown)
    either = sum(each.detected or each.replayed for each in shown)
    masked = [each for each in trials if not each.changed]
    large = [each for each in shown if each.effect > ALWAYS]
    count = max(1, len(shown))
    print(
        f"of {len(shown)} faults that change a result {found} ({found / count:.1%}) are detected"
        f" there, {either} ({either / count:.1%}) with replay; {len(masked)} change none, of which"
        f" replay detects {sum(each.replayed for each in masked)}; beyond {ALWAYS:g} spreads"
        f" {sum(each.detected for each in large)} of {len(large)} are detected"
    )
    return (
        found >= AT_RESULTS * count
        and either >= WITH_REPLAY * count
        and all(each.detected for each in large)
    )


if __name__ == "__main__":
    raise SystemExit(main())
