"""The body of a function, walked with the static types of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from topos.errors import ToposError
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import find
from topos.stablehlo.dialect.control import Case, If
from topos.stablehlo.dialect.dynamic import GetDimensionSize
from topos.stablehlo.dialect.layout import BroadcastInDim, Cast, Reshape
from topos.stablehlo.dialect.random import Rng
from topos.stablehlo.dialect.slicing import RealDynamicSlice
from topos.stablehlo.ir import (
    Block,
    Function,
    FunctionType,
    Operation,
    Region,
    Symbol,
    Tensor,
)
from topos.stablehlo.meshes import Mesh
from topos.stablehlo.specialize.retyping import arguments_of, results_of
from topos.stablehlo.specialize.shape_arithmetic import (
    constant,
    folds,
)
from topos.stablehlo.specialize.shape_calls import asks_for_shapes, shape_call
from topos.stablehlo.specialize.static_forms import STATIC_FORMS
from topos.stablehlo.specialize.values import (
    Names,
    Value,
    Variant,
    branch_of,
    of_known_sizes,
    union,
)

# The operations among whose operands are sizes.
_OF_SIZES: Final = {Rng, *STATIC_FORMS} - {BroadcastInDim, Cast, GetDimensionSize, Reshape}


class Context(NamedTuple):
    """What the bodies of a module share; `variant` returns the copy of a function."""

    functions: Mapping[str, Function]
    meshes: Mapping[str, Mesh]
    variant: Callable[[str, tuple[Value, ...], Operation], Variant]


class Body:
    """The walk of one copy; `consulted` are the arguments whose numbers shaped it."""

    def __init__(self, context: Context, body: Region) -> None:
        self._context = context
        self._names = Names(body)
        self.consulted: set[int] = set()

    def region(
        self, region: Region, arguments: tuple[Value, ...]
    ) -> tuple[Region, tuple[Value, ...]]:
        """Returns a region with static types, and what it returns."""
        (block,) = region.blocks
        for parameter, value in zip(block.arguments, arguments, strict=True):
            changed = value.type != parameter.type
            self._names.define(parameter.name, value._replace(changed=changed))
        inlined, self._names.inlined = self._names.inlined, False
        made: list[Operation] = []
        *operations, end = block.operations
        for operation in operations:
            self._operation(operation, made)
        self._names.inlined = inlined
        returned = self._names.operands(end)
        made.append(self._names.retyped(end, returned))
        parameters = [
            parameter._replace(type=value.type)
            for parameter, value in zip(block.arguments, arguments, strict=True)
        ]
        return Region((Block(tuple(parameters), tuple(made), block.label),)), returned

    def _operation(self, operation: Operation, made: list[Operation]) -> None:
        values = self._names.operands(operation)
        view = self._view(operation, values)
        if view.calls:
            self._call(view, values, made)
            return
        if isinstance(view, If | Case):
            self.consulted |= values[0].sources
            if values[0].array is not None:
                self._taken(operation, values[0], made)
                return
        form = shape_call if asks_for_shapes(operation) else STATIC_FORMS.get(type(view))
        if type(view) in _OF_SIZES or form is shape_call:
            self.consulted |= union(values)
        if form is None:
            self._plain(operation, values, made)
            return
        if isinstance(view, RealDynamicSlice):
            view = self._view(of_known_sizes(operation, values), values)
        try:
            static = form(view, self._names.fresh)
        except ToposError:
            raise
        except (IndexError, KeyError, OverflowError, ValueError):
            # A call that asks for shapes has no rule of its own in the specification.
            view.unsupported("has operands or attributes that tell no shape")
        for each in static:
            self._plain(each, self._names.operands(each), made, is_new=True)
        if not static and operation.results:
            target, stated = operation.operands[0], operation.result_types[0]
            self._names.rename(operation.results[0], target, values[0].type == stated)

    def _taken(self, operation: Operation, choice: Value, made: list[Operation]) -> None:
        """Adds the operations of the branch that is taken; no other is ever run or looked at."""
        region = operation.regions[branch_of(choice, len(operation.regions))]
        if not region.blocks:
            return
        (block,) = region.blocks
        inlined, self._names.inlined = self._names.inlined, True
        *operations, end = block.operations
        for each in operations:
            self._operation(each, made)
        self._names.inlined = inlined
        returned = self._names.operands(end)
        stated = operation.result_types
        for name, target, value, type in zip(
            operation.results, end.operands, returned, stated, strict=True
        ):
            self._names.rename(name, target, value.type == type)

    def _plain(
        self,
        operation: Operation,
        values: tuple[Value, ...],
        made: list[Operation],
        is_new: bool = False,
    ) -> None:
        """Adds an operation with its regions and types; one that `is_new` is not verified yet."""
        regions, bodies = self._regions(operation, values)
        retyped = self._names.retyped(operation, values)._replace(regions=regions)
        view = self._view(operation, values, bodies)
        results = results_of(view, values, is_new)
        named = self._names.defined(retyped, results)
        match results:
            case (Value(Tensor() as tensor, _, array),) if (
                array is not None and folds(type(view)) and self._is_shared(results)
            ):
                made.append(constant(named, array, tensor))
            case _:
                made.append(self._with_symbols(named))

    def _regions(
        self, operation: Operation, values: tuple[Value, ...]
    ) -> tuple[tuple[Region, ...], tuple[FunctionType, ...]]:
        if not operation.regions:
            return (), ()
        regions: list[Region] = []
        bodies: list[FunctionType] = []
        view = self._view(operation, values)
        for position, region in enumerate(operation.regions):
            arguments: tuple[Value, ...] = ()
            results: tuple[Value, ...] = ()
            if region.blocks:
                arguments = arguments_of(view, position, values)
                region, results = self.region(region, arguments)
            regions.append(region)
            types = [tuple([value.type for value in each]) for each in (arguments, results)]
            bodies.append(FunctionType(*types))
        return tuple(regions), tuple(bodies)

    def _call(self, view: Definition, values: tuple[Value, ...], made: list[Operation]) -> None:
        operation, key = view.operation, view.calls
        variant = self._context.variant(operation.attributes[key], values, operation)
        for index in variant.consulted:
            self.consulted |= values[index].sources
        results: list[Value] = []
        for result, stated in zip(variant.results, operation.result_types, strict=True):
            sources = union([values[index] for index in result.sources])
            results.append(Value(result.type, result.type != stated, result.array, sources))
        known = all(each.array is not None for each in results)
        if known and variant.is_pure and self._is_shared(results):
            self._known(operation, tuple(results), made)
            return
        attributes = {**operation.attributes, key: Symbol(variant.name)}
        retyped = self._names.retyped(operation, values)._replace(attributes=attributes)
        made.append(self._names.defined(retyped, tuple(results)))

    def _is_shared(self, results: Iterable[Value]) -> bool:
        """Returns whether numbers are the same in every call of this copy."""
        return union(results) <= self.consulted

    def _known(
        self, operation: Operation, results: tuple[Value, ...], made: list[Operation]
    ) -> None:
        """Adds a constant for each result of a call, all of which are known."""
        for name, value in zip(operation.results, results, strict=True):
            assert value.array is not None
            assert isinstance(value.type, Tensor)
            # No two constants share a name, as the results of a call do.
            one = operation._replace(results=(name,))
            named = self._names.defined(one, (value,), is_new="#" in name)
            made.append(constant(named, value.array, value.type))

    def _view(
        self,
        operation: Operation,
        values: tuple[Value, ...],
        bodies: tuple[FunctionType, ...] = (),
    ) -> Definition:
        definition = find(operation.name)
        assert definition, f"{operation.name} is verified"
        return definition(
            operation,
            tuple([value.type for value in values]),
            operation.result_types,
            tuple([value.array for value in values]),
            bodies,
            self._context.functions,
            self._context.meshes,
        )

    def _with_symbols(self, operation: Operation) -> Operation:
        """Returns an operation with the names of the copies of the functions that it names."""
        changed = {
            key: self._symbols(value, operation)
            for key, value in operation.attributes.items()
            if isinstance(value, Symbol) or (type(value) is tuple and value)
        }
        if all(value is operation.attributes[key] for key, value in changed.items()):
            return operation
        return operation._replace(attributes={**operation.attributes, **changed})

    def _symbols(self, value: Any, operation: Operation) -> Any:
        if type(value) is tuple:
            parts = tuple([self._symbols(part, operation) for part in value])
            return value if parts == value else parts
        if not isinstance(value, Symbol) or value not in self._context.functions:
            return value
        stated = [Value(each.type) for each in self._context.functions[value].arguments]
        return Symbol(self._context.variant(value, tuple(stated), operation).name)
