"""A broken runtime, called as `MODULE ARGS.npz RESULTS.npz`: sound and noisy, but for four faults.

A power of a negative base is no number, an index beyond the last row wraps around, a sum of many
terms leaves out the last, and a cosine of a sine is the cosine of what that is the sine of.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.judge_faults import KINDS, Call, Change  # The folder must be on the path.
from tools.judge_folder import LONG  # See above.
from topos.judge.ensemble import _SampledBuilder  # See above.
from topos.judge.sampling import Freedom, Sampling  # See above.
from topos.runtimes.interpreter.context import (  # See above.
    BuildContext,
    Builder,
    Constant,
)
from topos.runtimes.interpreter.program import Array, Kernel, single  # See above.
from topos.stablehlo import Module, parse  # See above.
from topos.stablehlo.definition import Definition  # See above.
from topos.stablehlo.dialect import elementwise, gathering, reduction  # See above.
from topos.stablehlo.ir import Block, Operation, Region  # See above.

# Of the noise that a sound runtime may have.
SHARE: Final = 0.5


def main() -> None:
    """Reads a module and its arguments, and writes the results."""
    text, given, written = sys.argv[1:]
    source = Path(text).read_text()
    module = _without_sines(parse(source).verify())
    with np.load(given) as archive:
        arguments = [archive[f"arg{place}"][None] for place in range(len(archive.files))]
    sampling = Sampling()
    sampling.start(1, zlib.crc32(source.encode()), SHARE, Freedom.NONE)
    with np.errstate(all="ignore"):
        results = _BrokenBuilder(module, sampling, free=False).main().run(*arguments)
    named: Any = {f"result{place}": each[0] for place, each in enumerate(results)}
    np.savez(written, **named)


def _without_sines(module: Module) -> Module:
    functions = [
        each._replace(body=Region(tuple(map(_block, each.body.blocks)))) if each.body else each
        for each in module.functions
    ]
    return module._replace(functions=tuple(functions))


def _block(block: Block) -> Block:
    sines = {
        each.results[0]: each.operands for each in block.operations if each.name == "stablehlo.sine"
    }

    def changed(operation: Operation) -> Operation:
        if operation.name != "stablehlo.cosine" or operation.operands[0] not in sines:
            return operation
        return operation._replace(operands=sines[operation.operands[0]])

    return block._replace(operations=tuple(map(changed, block.operations)))


def _wrapped(call: Call) -> tuple[Array, ...]:
    operand, indices = call.operands
    return call.run(operand, indices % np.asarray(operand.shape[0], indices.dtype))


def _shortened(call: Call) -> tuple[Array, ...] | None:
    is_long = call.operands[0].shape[call.op.dimensions[0]] >= LONG
    return KINDS["reduce drops its last term"].change(call) if is_long else None


FAULTS: Final[dict[type[Definition], Change]] = {
    elementwise.Power: KINDS["power of a negative base is NaN"].change,
    gathering.Gather: _wrapped,
    reduction.Reduce: _shortened,
}


class _BrokenBuilder(_SampledBuilder):
    """Builds programs over one sample, in which some kernels are broken."""

    def _kernel(self, builder: Builder, context: BuildContext[Any]) -> Kernel | Constant:
        kernel = super()._kernel(builder, context)
        change = FAULTS.get(type(context.op))
        if isinstance(kernel, Constant) or change is None:
            return kernel
        return _broken(context.op, kernel, change)


def _broken(op: Definition, kernel: Kernel, change: Change) -> Kernel:
    def run(*operands: Array) -> tuple[Array, ...]:
        found = kernel(*[each[None].copy() for each in operands])
        return tuple([each[0] for each in (found if isinstance(found, list | tuple) else [found])])

    def broken(*operands: Array) -> Any:
        taken = tuple([each[0] for each in operands])
        results = run(*taken)
        made = change(Call(op, taken, results, run))
        return single([each[None] for each in (results if made is None else made)])

    return broken


if __name__ == "__main__":
    main()
