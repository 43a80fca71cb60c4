"""The judge on faults that IREE and XLA are known to have, end to end.

The modules go to the runtimes as they are, for our adapters rewrite what is known to be wrong. Each
fault has to be wrong, its operation named by the bisection, and its reproducer still wrong when the
script in its folder runs it. What XLA may do, such as one multiply-add for two operations, has to
pass. Prints a line for each with the seconds that grading, bisecting and reducing took.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from topos import judge  # noqa: E402  # The folder must be on the path first.
from topos.judge import Verdict, raw_iree, raw_xla  # noqa: E402  # See above.
from topos.judge.bisection.cures import EXCESS  # noqa: E402  # See above.
from topos.judge.reproduction.reproducer import Reproducer  # noqa: E402  # See above.
from topos.judge.target import Target  # noqa: E402  # See above.
from topos.stablehlo import Module  # noqa: E402  # See above.

F32, F64, BF16 = np.float32, np.float64, ml_dtypes.bfloat16
Run = Callable[[Module, Sequence[Any]], Sequence[Any]]
ATTRIBUTES: Final = "attributes"
MAP: Final = """
func.func @main(%x: tensor<3x5x{element}>) -> tensor<3x5x{element}> {{
  %0 = stablehlo.{operation} %x : tensor<3x5x{element}>
  return %0 : tensor<3x5x{element}>
}}
"""
POWER: Final = """
func.func @main(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = stablehlo.power %x, %y : tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
"""
GATHER: Final = """
func.func @main(%x: tensor<4x8xf32>, %i: tensor<3x1xi32>) -> tensor<3x8xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>
  }> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
"""
ALIASED: Final = """
func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.multiply %x, %y : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
"""
CANCELLING: Final = """
func.func @main(%a: tensor<f32>, %b: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.multiply %a, %x : tensor<f32>
  %1 = stablehlo.multiply %b, %x : tensor<f32>
  %2 = stablehlo.add %0, %1 : tensor<f32>
  return %2 : tensor<f32>
}
"""
SQUARES: Final = """
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.multiply %a, %a : tensor<f32>
  %1 = stablehlo.multiply %b, %b : tensor<f32>
  %2 = stablehlo.subtract %0, %1 : tensor<f32>
  return %2 : tensor<f32>
}
"""
# The first moment of Adam in bf16, and the step that it gives in f32: XLA computes the step from a
# moment that it did not round.
ADAM: Final = """
func.func @main(%m: tensor<30xbf16>, %g: tensor<30xbf16>) -> (tensor<30xbf16>, tensor<30xf32>) {
  %b = stablehlo.constant dense<0.9> : tensor<30xbf16>
  %c = stablehlo.constant dense<0.1> : tensor<30xbf16>
  %r = stablehlo.constant dense<0.001> : tensor<30xf32>
  %0 = stablehlo.multiply %b, %m : tensor<30xbf16>
  %1 = stablehlo.multiply %c, %g : tensor<30xbf16>
  %2 = stablehlo.add %0, %1 : tensor<30xbf16>
  %3 = stablehlo.convert %2 : (tensor<30xbf16>) -> tensor<30xf32>
  %4 = stablehlo.multiply %r, %3 : tensor<30xf32>
  return %2, %4 : tensor<30xbf16>, tensor<30xf32>
}
"""


def iree(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
    """Runs a module on IREE as it is."""
    return raw_iree.run(str(module), arguments, ())


def xla(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
    """Runs a module on XLA as it is."""
    return raw_xla.run(str(module), arguments, {})


def careless(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
    """Gives XLA integers where the module takes floats, of which XLA reads the bits."""
    return raw_xla.run(str(module), [each.astype(np.int32) for each in arguments], {})


class Fault(NamedTuple):
    """A module that a runtime gets wrong; `operation` is the one to be named."""

    name: str
    text: str
    arguments: tuple[Any, ...]
    operation: str
    runtime: Run = iree


def faults() -> list[Fault]:
    """Returns what IREE gets wrong, and what XLA does with arguments that it does not check."""
    rows, few = np.arange(32, dtype=F32).reshape(4, 8), np.linspace(-2, 1, 15, dtype=F32)
    large, tiny = np.full((3, 5), 1e4, F32), np.full((3, 5), 1e-17, F64)
    double = {"element": "f64"}
    return [
        Fault("gather of row 9 of 4", GATHER, (rows, _column(1, 9, 0)), "gather"),
        Fault("gather of row -3 of 4", GATHER, (rows, _column(1, -3, 0)), "gather"),
        Fault("pow(-2, 2)", POWER, (few.reshape(3, 5), np.full((3, 5), 2, F32)), "power"),
        Fault("sin(1e4)", MAP.format(operation="sine", element="f32"), (large,), "sine"),
        Fault(
            "expm1(1e-17)", MAP.format(operation="exponential_minus_one", **double), (tiny,),
            "exponential_minus_one",
        ),
        Fault(
            "log1p(1e-17)", MAP.format(operation="log_plus_one", **double), (tiny,),
            "log_plus_one",
        ),
        Fault(
            "tf.aliasing_output", ALIASED, (np.arange(4, dtype=F32), np.ones(4, F32)), ATTRIBUTES
        ),
        Fault(
            "i32 for f32", MAP.format(operation="negate", element="f32"), (few.reshape(3, 5),),
            "negate", careless,
        ),
    ]  # fmt: skip


def _column(*indices: int) -> Any:
    return np.array(indices, np.int32)[:, None]


def main() -> int:
    """Prints a line for each fault and sound difference; returns 1 where one is not as said."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    wrong = [f"{fault.name}: {each}" for fault in faults() for each in _told(fault)]
    wrong += [*_sound()]
    print("\n".join(wrong) or "every fault is found, named and reproduced; nothing sound is wrong")
    return int(bool(wrong))


def _told(fault: Fault) -> Iterator[str]:
    """Prints what is found of a fault, and yields what is not as it has to be."""
    start = time.perf_counter()
    grade = judge.grade(fault.text, fault.runtime, fault.arguments)
    graded = time.perf_counter()
    found = judge.bisect(fault.text, fault.runtime, fault.arguments)
    bisected = time.perf_counter()
    smallest = judge.reduce(fault.text, fault.runtime, fault.arguments)
    reduced = time.perf_counter()
    named = [each.operation.removeprefix("stablehlo.") for each in found.findings]
    named += [ATTRIBUTES] if found.attributes else []
    seconds = (graded - start, bisected - graded, reduced - bisected)
    told = f"{', '.join(named)}; {', '.join(f'{each:.1f} s' for each in seconds)}"
    shapes = [each.shape for each in smallest.arguments] if smallest else []
    runs = smallest.runs if smallest else 0
    print(f"{fault.name:22} {grade.verdict!s:7} {told}; {shapes or 'constants'}, {runs} runs")
    if grade.verdict is not Verdict.WRONG:
        yield f"is {grade.verdict}"
    if named != [fault.operation]:
        yield f"is told as {named}"
    if smallest is None or not _is_reproduced(smallest, fault.runtime):
        yield "has no reproducer that fails again"


def _is_reproduced(found: Reproducer, runtime: Run) -> bool:
    """Returns whether the script in a reproducer's folder fails as well."""
    if runtime is careless:
        return not judge.grade(found.module, runtime, found.arguments).passed
    with tempfile.TemporaryDirectory() as folder:
        command = shlex.join([sys.executable, raw_iree.__file__])
        found._replace(target=Target(command)).save(Path(folder) / "reproducer")
        case = judge.recorded(Path(folder) / "reproducer")
        script = shlex.join([sys.executable, f"{folder}/reproducer/reproduce.py"])
        return not judge.grade(case.module, script, case.arguments).passed


def _sound() -> Iterator[str]:
    """Prints what XLA gives that is rounding, and yields what the judge says instead."""
    scalars = [F32(1e20), F32(-1e20), F32(1e10)]
    for name, text, arguments in (
        ("a*x + b*x", CANCELLING, scalars),
        ("a*a - b*b", SQUARES, [F32(1.2345678), F32(1.2345678)]),
    ):
        grade = judge.grade(text, xla, arguments)
        print(f"{name:22} {grade}")
        if grade.verdict is not Verdict.ROUNDING or not grade.results[0].ill_conditioned:
            yield f"{name}: is {grade.verdict}"
    generator = np.random.default_rng(0)
    moment = [generator.standard_normal(30).astype(BF16) for _ in range(2)]
    for runtime in (xla, "xla"):
        found = judge.bisect(ADAM, runtime, moment)
        step = found.whole.results[-1]
        unequal = int((step.judgement.verdicts > 0).sum())
        off = float(np.abs(step.result / step.oracle - 1).max())
        cured = {each.name: each.verdict for each in found.cures}
        told = ", ".join(map(str, found.cures)) or "no option is tried"
        differing = f"{unequal} of 30 differ by up to {off:.1e}"
        print(f"{'Adam in bf16':22} {found.whole.verdict}: {differing}; {told}")
        if found.whole.verdict is not Verdict.ROUNDING or found.findings:
            yield f"Adam in bf16: is {found.whole.verdict}"
        if runtime == "xla" and cured != {EXCESS: Verdict.EQUAL}:
            yield "Adam in bf16: is not equal without excess precision"


if __name__ == "__main__":
    raise SystemExit(main())
