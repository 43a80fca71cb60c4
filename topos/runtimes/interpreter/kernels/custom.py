"""Operations that another module or another program defines: composites and custom calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from topos.errors import ExecutionError, UnavailableError
from topos.runtimes._signature import ArrayType
from topos.runtimes.interpreter.context import BuildContext, Builders
from topos.runtimes.interpreter.custom_calls import (
    CustomCall,
    CustomKernel,
    check_of,
    is_shipped,
    kernel_of,
)
from topos.runtimes.interpreter.custom_calls.call import Called, failure
from topos.runtimes.interpreter.kernels.bodies import Pointwise, pointwise
from topos.runtimes.interpreter.kernels.control import call_of
from topos.runtimes.interpreter.program import Array, Kernel
from topos.stablehlo.dense import decoded
from topos.stablehlo.dialect import custom as dialect
from topos.stablehlo.ir import Dense, Opaque, Symbol, Tensor, TupleType, Type
from topos.stablehlo.types import TOKEN, dtype_of, extents


def _custom_call(context: BuildContext[Any]) -> Kernel:
    target = context.op.call_target_name
    kernel = kernel_of(target)
    if kernel is None:
        context.unsupported(
            f"@{target} is not supported; register_custom_call gives a target its kernel"
        )
    results, tupled = _results(context.results)
    # The text may carry the shapes of dynamic results as operands, which the types say too.
    shapes = set(context.integers("indices_of_shape_operands", ()))
    taken = tuple(
        place
        for place, type in enumerate(context.operands)
        if place not in shapes and isinstance(type, Tensor)
    )
    call = CustomCall(
        target=target,
        attributes={key: _read(context.optional(key)) for key in context.operation.attributes},
        configuration=_configuration(context),
        operand_layouts=_layouts(context, "operand_layouts", len(context.operands)),
        result_layouts=_layouts(context, "result_layouts", len(results)),
        results=tuple([_array_type(context, target, type) for type in results]),
        called=tuple(
            [_called(context, name) for name in context.optional("called_computations") or ()]
        ),
        exact=context.exact,
    )
    check = check_of(target)
    if check is not None:
        complaint = check(
            call, [_array_type(context, target, context.operands[at]) for at in taken]
        )
        context.demand(not complaint, f"@{target} {complaint}")
    return _Invocation(kernel, call, taken, tupled, is_shipped(target))


def _results(types: Sequence[Type]) -> tuple[Sequence[Type], bool]:
    """Returns the types of the results, and whether they are the parts of one tuple."""
    match types:
        case (TupleType(parts),):
            return parts, True
    return types, False


def _read(value: Any) -> Any:
    """Returns an attribute without the classes of the syntax tree."""
    match value:
        case Dense(body, Tensor(element="index") as type, line, column):
            return decoded(Dense(body, type._replace(element="i64"), line, column))
        case Dense():
            return decoded(value)
        case Opaque(text):
            return text
        case tuple():
            return tuple(map(_read, value))
        case dict():
            return {key: _read(part) for key, part in value.items()}
        case str():
            return str(value)
    return value


def _configuration(context: BuildContext[Any]) -> Mapping[str, Any]:
    # Texts of before the typed interface carry the dictionary under the name of their dialect.
    for key in ("backend_config", "mhlo.backend_config"):
        value = context.optional(key)
        if isinstance(value, dict):
            return {name: _read(part) for name, part in value.items()}
    return {}


def _layouts(
    context: BuildContext[Any], key: str, count: int
) -> tuple[tuple[int, ...] | None, ...]:
    stated = context.optional(key)
    if stated is None:
        return (None,) * count
    return tuple([tuple(np.ravel(_read(layout)).tolist()) for layout in stated])


def _array_type(context: BuildContext[Any], target: str, type: Type) -> ArrayType:
    if not isinstance(type, Tensor):
        kind = "token" if type == TOKEN else "tuple in a tuple"
        context.unsupported(f"@{target} with a {kind} as its result is not supported")
    return ArrayType(extents(type), dtype_of(type))


def _called(context: BuildContext[Any], name: Symbol) -> Called:
    body = context.function(name, context.operation.line)
    dtypes = [_array_type(context, name, type).dtype for type in body.arguments]
    return partial(_applied, name, pointwise(body), dtypes)


def _applied(
    name: Symbol, apply: Pointwise, dtypes: Sequence[np.dtype[Any]], *arrays: Array
) -> Sequence[Array]:
    if dtypes != [array.dtype for array in arrays]:
        needed, got = (
            ", ".join(map(str, each)) for each in (dtypes, [array.dtype for array in arrays])
        )
        raise ExecutionError(f"@{name} needs scalars of ({needed}), got ({got})")
    return apply(arrays, ())


def _guarded(operand: Array, trusted: bool) -> Array:
    """Returns `operand` as an array that a kernel cannot write, since it may be a constant.

    A kernel that is not trusted might reach what lies behind a view, and gets a copy.
    """
    guarded = operand.view() if trusted else np.array(operand)
    guarded.setflags(write=False)
    return guarded


def _told(error: Exception) -> str:
    # The words of an exception are computed by its own class, which may fail in turn.
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


@dataclass(frozen=True, slots=True)
class _Invocation:
    """A kernel with its call; `taken` are the places of the operands that it is given.

    One that is not `trusted` may keep what it is given and what it returns, so both are copied.
    """

    kernel: CustomKernel
    call: CustomCall
    taken: tuple[int, ...]
    tupled: bool
    trusted: bool

    def __call__(self, *operands: Array) -> Any:
        values = self._returned([_guarded(operands[place], self.trusted) for place in self.taken])
        count = len(self.call.results)
        if len(values) != count:
            needs = f"needs a kernel that returns {count} results"
            raise failure(self.call, f"{needs}, got {len(values)}")
        for position, (value, stated) in enumerate(zip(values, self.call.results, strict=True)):
            got = ArrayType(value.shape, value.dtype)
            if got != stated:
                raise failure(self.call, f"needs {stated} as result {position}, got {got}")
        return values[0] if len(values) == 1 and not self.tupled else values

    def _returned(self, operands: list[Array]) -> tuple[Array, ...]:
        try:
            values = self.kernel(self.call, *operands)
            if values is None:
                return ()
            several = values if isinstance(values, list | tuple) else (values,)
            copied = None if self.trusted else True
            return tuple([np.array(value, copy=copied, subok=False) for value in several])
        except (ExecutionError, MemoryError, UnavailableError):
            raise
        # The kernel is the user's, so it may raise anything.
        except Exception as error:
            raise failure(self.call, f"failed: {_told(error)}") from error


BUILDERS: Final[Builders] = {
    dialect.CustomCall: _custom_call,
    dialect.Composite: lambda context: call_of(context, context.op.decomposition),
}
