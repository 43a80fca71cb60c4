"""A module made ready for the reference interpreter, which ends its process at what it lacks."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import stablehlo

from topos.errors import ExecutionError, UnsupportedError
from topos.runtimes._admission import admit
from topos.runtimes._archive import Array, stored_dtype
from topos.runtimes._mlir import main_of, parse, signature
from topos.runtimes._plain_forms import plain_constants, plain_indices
from topos.runtimes._rewriting import operations_of
from topos.runtimes._signature import ArrayType
from topos.runtimes.reference.rewrites import rewrite
from topos.stablehlo import dialect

# Decompositions that come with the bindings: of CHLO, and of operations the specification dropped.
PIPELINE: Final = (
    "builtin.module(func.func(chlo-legalize-to-stablehlo,stablehlo-legalize-deprecated-ops))"
)
# At these operations of StableHLO the interpreter ends its process: collectives and device
# identifiers, which it runs only under a parallel run of its own, what is decomposed before it, and
# `fft`, at which jaxlib 0.10 stops with a mismatch of types.
LACKING: Final = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("all_gather", "all_reduce", "all_to_all", "async_done", "async_start"),
        *("batch_norm_grad", "batch_norm_inference", "batch_norm_training", "broadcast"),
        *("cholesky", "collective_broadcast", "collective_permute", "collective_reduce"),
        *("create_token", "cross-replica-sum", "custom_call", "dot", "einsum", "fft", "infeed"),
        *("outfeed", "partition_id", "real_dynamic_slice", "recv", "reduce_scatter", "replica_id"),
        *("rng", "rng_bit_generator", "send", "set_dimension_size", "torch_index_select"),
        *("unary_einsum", "uniform_dequantize", "uniform_quantize"),
    )
)
AROUND: Final = frozenset({"builtin.module", "func.call", "func.func", "func.return"})


class ReferenceModule:
    """A parsed, decomposed and checked module in a context of its own.

    Raises `ParseError` or `VerifyError` where the text is refused, and `UnsupportedError`
    with the first operation or type that the interpreter lacks.
    """

    def __init__(self, text: str) -> None:
        with make_ir_context() as context, ir.Location.unknown():
            self._context = context
            self._module = parse(ir, text)
            admit(ir, self._module)
            self.signature = signature(ir, self._module)
            self._arguments = list(main_of(ir, self._module).type.inputs)
            _refuse_complex(self.signature.arguments + self.signature.results)
            plain_constants(ir, self._module, text)
            plain_indices(ir, self._module)
            _decompose(self._module)
            rewrite(ir, self._module)
            _refuse_unsupported(self._module)
            _return_bits(self._module, self.signature.results)

    def run(self, arguments: list[Array]) -> list[Array]:
        """Returns the results in their stored form, for arguments in theirs."""
        reasons: list[str] = []

        def hear(diagnostic: Any) -> bool:
            reasons.append(diagnostic.message)
            return True

        with self._context as context, ir.Location.unknown():
            attributes = [
                _attribute(*each) for each in zip(arguments, self._arguments, strict=True)
            ]
            # The interpreter tells its reason to the context's handlers alone. One that stayed
            # attached would keep the context for ever.
            handler: Any = context.attach_diagnostic_handler(hear)
            try:
                results = stablehlo.eval_module(self._module, attributes)
            except ValueError as error:
                reason = "; ".join(reasons) or str(error)
                raise ExecutionError(f"the reference interpreter failed: {reason}") from None
            finally:
                handler.detach()
            return [np.array(result) for result in results]


def _refuse_complex(types: tuple[ArrayType, ...]) -> None:
    for each in types:
        if each.dtype.kind == "c":
            raise UnsupportedError(
                f"the reference runtime passes no complex arguments or results, got {each}"
            )


def _decompose(module: Any) -> None:
    stablehlo.register_stablehlo_passes()
    try:
        passmanager.PassManager.parse(PIPELINE).run(module.operation)
    except ir.MLIRError as error:
        reason = "; ".join(each.message for each in error.error_diagnostics) or error.message
        raise UnsupportedError(
            f"the reference runtime cannot decompose the module: {reason}"
        ) from error


def _refuse_unsupported(module: Any) -> None:
    known = {name for name in dialect.names() if name.startswith("stablehlo.")} - LACKING
    for operation in operations_of(ir, module):
        if operation.name not in known | AROUND:
            raise UnsupportedError(f"the reference interpreter has no {operation.name}")


def _return_bits(module: Any, results: tuple[ArrayType, ...]) -> None:
    """Ends `@main` with the bits of each result whose element the bindings cannot give back."""
    hidden = [
        position for position, each in enumerate(results) if stored_dtype(each.dtype) != each.dtype
    ]
    if not hidden:
        return
    main = main_of(ir, module)
    returned = main.regions[0].blocks[0].operations[-1]
    types = list(main.type.results)
    with ir.InsertionPoint(returned):
        for position in hidden:
            width = 8 * results[position].dtype.itemsize
            bits = ir.IntegerType.get_unsigned(width)
            types[position] = ir.RankedTensorType.get(results[position].shape, bits)
            returned.operands[position] = stablehlo.bitcast_convert(
                types[position], returned.operands[position]
            )
    function = ir.FunctionType.get(list(main.type.inputs), types)
    main.attributes["function_type"] = ir.TypeAttr.get(function)


def _attribute(array: Array, kind: Any) -> Any:
    # The bindings read float16 from its bits, as they do the elements that numpy does not know.
    # numpy tells type checkers of its buffers from Python 3.12 on.
    bits: Any = array.view("u2") if array.dtype.str == "<f2" else array
    element = ir.RankedTensorType(kind).element_type
    return ir.DenseElementsAttr.get(bits, type=element, shape=list(array.shape))
