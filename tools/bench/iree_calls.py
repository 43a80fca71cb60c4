"""What a call of a module compiled by IREE costs, and a start with its cache warm.

Calls are of small modules from numpy to numpy: on either device, through IREE's own invoker, with
arguments that the device holds already, and a step whose state it holds. A start is a process of
its own that compiles a training step of a perceptron 784-256-10 and runs it once, with an empty
folder for a cache and with the one that the start before it left. All are least times of rounds in
turn, so that a noisy machine treats them alike.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from timing import interleaved, report

from topos import AdamW, Mlp, Plan, Tape, cross_entropy, i64, init, record_step
from topos import parameters as parameters_of
from topos.runtimes import Executable, aligned, load
from topos.runtimes.iree import HOST, KEEP_DOUBLES
from topos.runtimes.iree.process import compiled

SMALL: Final = "tensor<64x64xf32>"
LARGE: Final = "tensor<1024x1024xf32>"
COUNT: Final = 20
CALLS: Final = 200
BATCH: Final = 64

START: Final = """
import pathlib, sys, time
import numpy as np
from topos.runtimes import load
text = pathlib.Path(sys.argv[1]).read_text()
start = time.perf_counter()
module = load("iree").compile(text, cache=pathlib.Path(sys.argv[2]))
module(*(np.zeros(*each) for each in module.signature.arguments))
print(time.perf_counter() - start)
"""


def summed(type: str, count: int) -> str:
    """Returns a module that adds up `count` arguments."""
    names = [f"%a{place}" for place in range(count)]
    lines = [
        f"  %{place} = stablehlo.add {names[0] if place == 1 else f'%{place - 1}'},"
        f" {names[place]} : {type}"
        for place in range(1, count)
    ]
    arguments = ", ".join(f"{name}: {type}" for name in names)
    body = "\n".join([*lines, f"  return %{count - 1} : {type}"])
    return f"func.func @main({arguments}) -> {type} {{\n{body}\n}}"


def invoker(text: str) -> Callable[..., Any]:
    """Returns the function that IREE's own Python gives for `text`, its result copied."""
    from iree.compiler.tools.binaries import find_tool
    from iree.runtime import Config, SystemContext, VmModule

    code = compiled(find_tool, text.encode(), [KEEP_DOUBLES, *HOST], 600.0).binary
    context = SystemContext(config=Config("local-sync"))
    context.add_vm_module(VmModule.copy_buffer(context.instance, code))
    main = context.modules.module["main"]
    return lambda *arguments: np.array(main(*arguments).to_host(), copy=True)


def repeated(call: Callable[..., Any], *arguments: Any) -> Callable[[], None]:
    """Returns what calls `call` often enough to time it."""

    def run() -> None:
        for _ in range(CALLS):
            call(*arguments)

    return run


def calls(rounds: int) -> None:
    """Prints what small calls cost on either device."""
    text, arrays = summed(SMALL, 2), list(np.ones((2, 64, 64), np.float32))
    sync, task = (on(text, device) for device in ("local-sync", "local-task"))
    rivals = {
        "local-sync": repeated(sync, *arrays),
        "local-sync, one argument bound": repeated(sync.bind({0: arrays[0]}), arrays[1]),
        "local-sync, a loop": repeated(sync.loop({0: 0}, {0: arrays[0]}), arrays[1]),
        "local-task": repeated(task, *arrays),
        "IREE's own invoker, local-sync": repeated(invoker(text), *arrays),
    }
    times = interleaved(rivals, rounds)
    figures = {name: f"{seconds / CALLS * 1e6:.1f} µs" for name, seconds in times.items()}
    title = "a sum of two 64x64, from numpy to numpy"
    report(title, figures, times["local-task"] / times["local-sync"], "local-task by local-sync")
    many, held = on(summed(SMALL, COUNT), "local-sync"), [arrays[0]] * COUNT
    bound = many.bind(dict(enumerate(held[1:], 1)))
    times = interleaved({"given": repeated(many, *held), "bound": repeated(bound, held[0])}, rounds)
    figures = {name: f"{seconds / CALLS * 1e6:.1f} µs" for name, seconds in times.items()}
    report(f"{COUNT} arguments of 64x64, 19 of them", figures, times["bound"] / times["given"], "")


def large(rounds: int) -> None:
    """Prints what an argument of 4 MB costs where it is copied, lent or held."""
    module = on(summed(LARGE, 2), "local-sync")
    copied, lent = np.ones((1024 * 1024 + 4), np.float32), aligned((1024, 1024), np.float32)
    lent[...] = 1.0
    # One of these starts at no multiple of 64 bytes.
    shifted = next(
        copied[place : place + 1024 * 1024].reshape(1024, 1024)
        for place in range(2)
        if copied[place:].ctypes.data % 64
    )
    rivals = {
        "not aligned: copied in": lambda: module(shifted, shifted),
        "aligned: read in place": lambda: module(lent, lent),
    }
    times = interleaved(rivals, 10 * rounds)
    figures = {name: f"{seconds * 1e3:.2f} ms" for name, seconds in times.items()}
    slow, fast = times.values()
    report("a sum of two 1024x1024", figures, fast / slow, "in place by copied in")


def starts(rounds: int) -> None:
    """Prints what a process takes to its first result, its cache empty and warm."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "step.mlir")
        text.write_text(step().emit_stablehlo())
        times: dict[str, list[float]] = {"cold": [], "warm": []}
        for number in range(rounds):
            cache = Path(folder, str(number))
            for name in times:
                times[name].append(started(text, cache))
    cold, warm = map(min, times.values())
    figures = {"cold": f"{cold:.2f} s", "warm": f"{warm:.3f} s"}
    report("a start to the first training step", figures, warm / cold, "must be at most 0.30")


def started(text: Path, cache: Path) -> float:
    """Returns the seconds from the import of the adapter to the first result."""
    command = [sys.executable, "-c", START, str(text), str(cache)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def step() -> Plan:
    """Records a training step of a perceptron by AdamW."""
    tape = Tape()
    model = Mlp(tape, (784, 256, 10), weights=init.xavier(0))
    pixels = tape.input(shape=[BATCH, 784], name="pixels")
    classes = tape.input(shape=[BATCH], element=i64, name="classes")
    loss = cross_entropy(model.express(tape, pixels), classes)
    recorded = record_step(tape, loss, parameters_of(model), AdamW(1e-3))
    return tape.into_network().entry(recorded.roots()).lower()


def on(text: str, device: str) -> Executable:
    """Returns `text` compiled for a device of IREE."""
    return load("iree").compile(text, options={"device": device})


def main() -> None:
    """Prints all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    calls(rounds)
    large(rounds)
    starts(min(rounds, 3))


if __name__ == "__main__":
    main()
