"""XLA without topos: a script that runs a StableHLO module through jax's client.

usage: python SCRIPT [XLA_OPTION=VALUE ...] MODULE ARGS.npz RESULTS.npz
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any


def main() -> None:
    """Compiles the module as it is, runs it once, and writes its results."""
    import numpy as np

    *options, module, given, written = sys.argv[1:]
    with open(module) as file:
        text = file.read()
    archive = np.load(given)
    arguments = [archive[f"arg{place}"] for place in range(len(archive.files))]
    results = run(text, arguments, dict(option.split("=", 1) for option in options))
    # An archive holds the bits of an element that numpy does not know.
    bits = [
        each if each.dtype.isbuiltin == 1 else each.view(f"u{each.itemsize}") for each in results
    ]
    named: dict[str, Any] = {f"result{place}": each for place, each in enumerate(bits)}
    np.savez(written, **named)


def run(text: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> list[Any]:
    """Returns the results of a module's text, which XLA gets as it is."""
    import jax
    import ml_dtypes
    import numpy as np
    from jax.extend.backend import get_compile_options
    from jax.extend.mlir import ir
    from jax.interpreters.mlir import make_ir_context

    device = jax.devices()[0]
    settings = get_compile_options(1, 1, [[device.id]], env_options_overrides=dict(options))
    with make_ir_context():
        body: Any = ir.Module.parse(text).body
        main = next(each for each in body.operations if str(each.name) == '"main"')
        elements = [str(each.element_type) for each in main.type.inputs]
    executable = device.client.compile_and_load(text.encode(), [device], settings)
    known = {"bf16": ml_dtypes.bfloat16, "f8E4M3FN": ml_dtypes.float8_e4m3fn}
    with jax.enable_x64(True):
        buffers = [
            jax.device_put(array.view(known[element]) if element in known else array, device)
            for array, element in zip(arguments, elements, strict=True)
        ]
        shards = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
        return [np.asarray(parts[0]) for parts in shards]


if __name__ == "__main__":
    main()
