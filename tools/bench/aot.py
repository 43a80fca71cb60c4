"""The start of a served model from its compiled form, beside the same from its text.

Each start is a process of its own. `load` is from loading a bundle to its first result, jax and
the device being there; `session` is from opening a session to the first answer of its worker
process, whose imports are in it. The two ways take turns, and the best of the rounds counts. The
command fails where the first answers differ in a bit, or the compiled form is no faster.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

import numpy as np
from export_memory import recorded, shapes_of, weights_of
from timing import report

from topos import Mlp, Plan, Tape, bundle, init, runtimes
from topos.bundle import Bundle
from topos.bundle.compiled import Terms, prepared
from topos.serving import Session, Settings

ROUNDS: Final = 5
MEGABYTES: Final = 20.0
WAYS: Final = {"the text": (), "the compiled form": ("--compiled",)}


def classifier() -> Plan:
    """Records the digits classifier for 64 rows."""
    tape = Tape()
    model = Mlp(tape, (64, 32, 10), weights=init.xavier(1))
    model.express(tape, tape.input(shape=[64, 64], name="pixels")).named("scores")
    return tape.into_network().entry(["scores"]).lower()


def exported(folder: Path) -> dict[str, Path]:
    """Exports both models with the machine code of this processor."""
    paths = {"digits classifier": folder / "digits", "decoder of 12 blocks": folder / "decoder"}
    classifier().export(paths["digits classifier"], compiled=["cpu"])
    shapes = shapes_of(MEGABYTES)
    samples = [{"token": np.array([token])} for token in (3, 5)]
    bundle.export(
        paths["decoder of 12 blocks"],
        recorded(shapes, None),
        weights_of(shapes),
        samples=samples,
        compiled=["cpu"],
    )
    return paths


def loaded(path: str, compiled: bool) -> tuple[float, bytes]:
    """Returns the seconds from loading to the first result, and its bytes."""
    runtime = runtimes.load("xla")
    runtime.place(0.0)
    start = time.perf_counter()
    model = Bundle.load(path)
    (program,) = model.programs
    placed = {name: runtime.place(array) for name, array in model.weights().items()}
    made = prepared(runtime, program, Terms("fast", {}, compiled))
    assert made.is_restored == compiled, made.note
    run = made.executable.bind(program.resident(placed))
    results = run(*program.given(program.sample()[0]))
    return time.perf_counter() - start, b"".join(each.tobytes() for each in results)


def opened(path: str, compiled: bool) -> tuple[float, bytes]:
    """Returns the seconds from opening a session to its first answer, and its bytes."""
    model = Bundle.load(path)
    inputs = model.programs[0].sample()[0].inputs
    start = time.perf_counter()
    settings = Settings(isolation="process")
    with Session(path, settings=settings, compiled=compiled) as session:
        results = session.infer(model.name, dict(inputs))
        seconds = time.perf_counter() - start
    return seconds, b"".join(each.tobytes() for each in results.values())


def started(kind: str, path: Path, flags: tuple[str, ...]) -> tuple[float, str]:
    """Returns the seconds of a start in a process of its own, and the bytes of its answer."""
    command = [sys.executable, __file__, "--start", kind, str(path), *flags]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    seconds, answer = done.stdout.split()[-2:]
    return float(seconds), answer


def compared(title: str, kind: str, path: Path) -> bool:
    """Prints how long both ways take; returns whether the compiled form is faster and right."""
    best = dict.fromkeys(WAYS, float("inf"))
    answers = set()
    for _ in range(ROUNDS):
        for way, flags in WAYS.items():
            seconds, answer = started(kind, path, flags)
            best[way] = min(best[way], seconds)
            answers.add(answer)
    text, compiled = best.values()
    figures = {f"from {way}": f"{seconds:.3f} s" for way, seconds in best.items()}
    report(f"{title}: {kind}", figures, compiled / text, "below 1")
    return len(answers) == 1 and compiled < text


def main() -> int:
    """Prints the measurements; returns 1 where one fails."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--start", nargs=2, metavar=("KIND", "BUNDLE"))
    parser.add_argument("--compiled", action="store_true")
    chosen = parser.parse_args()
    kinds: dict[str, Any] = {"load": loaded, "session": opened}
    if chosen.start is not None:
        kind, path = chosen.start
        seconds, answer = kinds[kind](path, chosen.compiled)
        print(seconds, answer.hex())
        return 0
    with tempfile.TemporaryDirectory() as place:
        paths = exported(Path(place))
        held = [compared(title, kind, path) for title, path in paths.items() for kind in kinds]
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
