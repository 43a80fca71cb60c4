"""Faults on XLA, which runs a module mutated at one operation: whether bisection names it.

About half of the operations stand in private functions, in the bodies of loops, or in those of
reductions. A fault is named where bisection tells its operation and no other.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

try:
    from judge_cases import cases
except ImportError as error:
    raise SystemExit(f"this bench needs jax, flax and optax ({error})") from None

from tools.judge_mutations import MutatedRuntime, Mutation, mutations  # noqa: E402  # The folders must be on the path first.
from topos import judge  # noqa: E402  # See above.

# At least so many of 50 must be named.
NAMED: Final = 48 / 50


def main() -> int:
    """Prints what was named; returns 1 where fewer are than must be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=50, help="faults (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runtime", default="xla")
    chosen = parser.parse_args()
    start, named, wrong = time.perf_counter(), Counter[str](), 0
    drawn = _drawn(chosen.count, random.Random(chosen.seed))
    places = Counter(mutation.where for _, _, mutation in drawn)
    for name, case, mutation in drawn:
        found = judge.bisect(case.module, MutatedRuntime(mutation, chosen.runtime), case.arguments)
        wrong += not found.whole.passed
        told = [(each.operation, each.line) for each in found.findings]
        if told == [(mutation.step.name, mutation.step.line)]:
            named[mutation.where] += 1
        else:
            print(f"{name}: line {mutation.place[0]}: {mutation.old} as {mutation.new}: {told}")
    print(f"{wrong} of {len(drawn)} are detected at the results")
    for where, count in places.items():
        print(f"{where}: {named[where]} of {count} are named, and nothing else")
    total = sum(named.values())
    print(f"{total} of {len(drawn)} are named; {time.perf_counter() - start:.0f} s")
    return int(total < NAMED * len(drawn))


def _drawn(count: int, generator: random.Random) -> list[tuple[str, judge.Case, Mutation]]:
    """Returns faults of ever other programs, half of them in functions, loops and bodies."""
    programs = [(each.name, judge.Case(*each.exported())) for each in cases()]
    generator.shuffle(programs)
    found = list[tuple[str, judge.Case, Mutation]]()
    for nested, wanted in ((True, count // 2), (False, count - count // 2)):
        sources = [_of(name, case, nested, generator) for name, case in programs]
        rounds = chain.from_iterable(zip_longest(*sources))
        found += islice((each for each in rounds if each is not None), wanted)
    return found


def _of(
    name: str, case: judge.Case, nested: bool, generator: random.Random
) -> Iterator[tuple[str, judge.Case, Mutation]]:
    for mutation in mutations(case.module, case.arguments, generator):
        if (mutation.where != "main") == nested:
            yield name, case, mutation


if __name__ == "__main__":
    raise SystemExit(main())
