"""A triage of 200 modules on XLA with 4 faults put into it: how long it takes, and what it finds.

20 small modules meet the faults, 5 each: an extent of 13 makes a hyperbolic tangent a sine, a
maximum over an axis a minimum, and the sum of a product and a value a difference, and a cube root
is refused. The others are programs of jax, flax and optax, with their arguments and with others
near these. Returns 1 where the triage finds anything but the 4 faults of 5 modules.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from topos import judge, runtimes  # noqa: E402  # The folders must be on the path first.
from topos.judge import Stage  # noqa: E402  # See above.
from topos.runtimes._runtime import isolating  # noqa: E402  # See above.
from topos.stablehlo import Module  # noqa: E402  # See above.

Array = npt.NDArray[Any]
FAULTS: Final = (
    (re.compile(r"stablehlo\.tanh( %\S+ : tensor<13x)"), r"stablehlo.sine\1"),
    (
        re.compile(r"applies stablehlo\.maximum( across dimensions = \[0\]\s+: \(tensor<13x)"),
        r"applies stablehlo.minimum\1",
    ),
    (
        re.compile(
            r"((%\S+) = stablehlo\.multiply [^\n]*tensor<13x[^\n]*\n[^\n]*= )stablehlo\.add( \2,)"
        ),
        r"\1stablehlo.subtract\3",
    ),
)
REFUSED: Final = re.compile(r"stablehlo\.cbrt %\S+ : tensor<13x")
SHOWN: Final = (
    "%1 = stablehlo.tanh %0 : {type}",
    "%m = stablehlo.reduce(%0 init: %low) applies stablehlo.maximum across dimensions = [0]"
    " : ({type}, tensor<f32>) -> tensor<{columns}xf32>\n"
    "  %1 = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<{columns}xf32>) -> {type}",
    "%p = stablehlo.multiply %0, %x : {type}\n  %1 = stablehlo.add %p, %x : {type}",
    "%1 = stablehlo.cbrt %0 : {type}",
)
SMALL: Final = """
func.func @main(%x: {type}, %w: tensor<{columns}x{columns}xf32>) -> {type} {{
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : ({type}, tensor<{columns}x{columns}xf32>) -> {type}
  {shown}
  %2 = stablehlo.subtract %1, %x : {type}
  return %2 : {type}
}}
"""
MODULES, EACH = 200, 5


def faulty(module: Module, arguments: Sequence[Array]) -> Sequence[Array]:
    """XLA in its worker, with the faults."""
    text = str(module)
    if REFUSED.search(text):
        raise NotImplementedError(f"no kernel at {id(text):#x}")
    for pattern, replacement in FAULTS:
        text = pattern.sub(replacement, text)
    adapter = runtimes.load("xla")
    return adapter.compile(text, options=isolating(adapter))(*arguments)


def main() -> int:
    """Prints the faults and the time; returns 1 where they are not those that were put in."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--modules", type=int, default=MODULES)
    parser.add_argument("--folder", type=Path, help="where the modules and what is found stay")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        count = _write(folder / "modules", chosen.modules)
        start = time.perf_counter()
        # One that can be imported by the workers.
        found = judge.triage(
            folder / "modules", faulty, out=folder / "found", jobs=chosen.jobs, watch=_told
        )
        seconds = time.perf_counter() - start
    print(f"{count} modules, {chosen.jobs} jobs: {seconds:.0f} s; {found.counts}")
    for fault in found.faults:
        print(f"{len(fault.modules):4}  {fault.kind}  {fault.modules[0]}")
    for name, reason in found.refused.items():
        print(f"refused: {name}: {reason}")
    right = [len(fault.modules) for fault in found.faults] == [EACH] * 4
    wanted = all(
        {name.split("_")[0] for name in fault.modules} <= {f"fault{place}" for place in range(4)}
        for fault in found.faults
    )
    return int(not (right and wanted) or bool(found.refused))


def _told(stage: Stage) -> None:
    if stage.done % 10 == 0:
        print(f"{stage.done} of {stage.total}: {stage.what}", file=sys.stderr)


def _write(folder: Path, count: int) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    generator, written = np.random.default_rng(0), 0
    for name, text, arguments in _modules(generator):
        if written == count:
            break
        (folder / f"{name}.mlir").write_text(text)
        given: dict[str, Any] = {f"arg{place}": each for place, each in enumerate(arguments)}
        np.savez(folder / f"{name}.npz", **given)
        written += 1
    return written


def _modules(generator: np.random.Generator) -> Iterator[tuple[str, str, list[Array]]]:
    for place, shown in enumerate(SHOWN):
        for number in range(EACH):
            columns = 4 + 3 * number
            type = f"tensor<13x{columns}xf32>"
            lines = shown.format(type=type, columns=columns)
            text = SMALL.format(type=type, columns=columns, shown=lines)
            shapes = ((13, columns), (columns, columns))
            drawn = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
            yield f"fault{place}_{number}", text, drawn
    # Only this process needs jax, flax and optax.
    from judge_cases import cases

    programs = [(case.name, *case.exported()) for case in cases()]
    for turn in range(10):
        for name, text, arguments in programs:
            near = [
                each * each.dtype.type(1.03**turn) if each.dtype.kind == "f" else each
                for each in arguments
            ]
            yield f"{name}_{turn}", text, near


if __name__ == "__main__":
    sys.exit(main())
