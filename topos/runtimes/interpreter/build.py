"""Building of programs: names become slots, operations kernels, regions programs of their own."""

from __future__ import annotations

from contextlib import suppress
from operator import itemgetter
from typing import Any

from topos.errors import UnsupportedError, VerifyError
from topos.runtimes.interpreter.context import (
    BuildContext,
    Builder,
    Constant,
    is_scalar,
    moves_nothing,
    unchanged,
    works_pointwise,
)
from topos.runtimes.interpreter.kernels import builder_of
from topos.runtimes.interpreter.program import Array, Kernel, Program, Step
from topos.stablehlo.definition import Definition
from topos.stablehlo.dialect import find
from topos.stablehlo.ir import (
    Function,
    Module,
    Operation,
    Parameter,
    Region,
    Type,
    result_names,
)
from topos.stablehlo.scope import captured
from topos.stablehlo.traits import Trait
from topos.stablehlo.types import checked, held
from topos.stablehlo.walks import called_first, depth_of


class Frame:
    """The slots defined so far, the constants among them, and the steps in order.

    `slots` tells where a name lies, which a verified module defines before it is used. The first
    `arguments` slots are those of the program.
    """

    def __init__(self) -> None:
        self.types: list[Type] = []
        self.constants: dict[int, Array] = {}
        self.slots: dict[str, int] = {}
        self._steps: list[Step] = []
        self._inputs: list[tuple[int, ...]] = []
        self._operations: list[Definition] = []
        self.arguments = 0

    def define(self, name: str, type: Type) -> int:
        """Returns the next slot, which `name` stands for from here on."""
        slot = len(self.types)
        self.types.append(type)
        # An argument of a region may have no name; nothing then uses it.
        if name:
            self.slots.update(dict.fromkeys(result_names(name), slot))
        return slot

    def add(self, op: Definition, kernel: Kernel, inputs: tuple[int, ...], first: int) -> None:
        """Appends a step that writes the slots from `first` on."""
        single = len(op.results) == 1
        output = first if single else slice(first, first + len(op.results))
        self._steps.append(Step(kernel, _reader(inputs), output, ()))
        self._inputs.append(inputs)
        self._operations.append(op)

    def program(self, outputs: tuple[int, ...], elementwise: bool) -> Program:
        """Returns the program, in which a value leaves its slot after its last use."""
        total, arguments = len(self.types), self.arguments
        return Program(
            arguments=tuple(self.types[:arguments]),
            results=tuple(self.types[slot] for slot in outputs),
            rest=tuple(self.constants.get(slot) for slot in range(arguments, total)),
            steps=self._released(outputs),
            operations=tuple(self._operations),
            inputs=tuple(self._inputs),
            outputs=outputs,
            elementwise=elementwise and all(map(is_scalar, self.types)),
            only=self._only(outputs),
        )

    def _released(self, outputs: tuple[int, ...]) -> tuple[Step, ...]:
        kept = {*outputs, *self.constants}
        steps: list[Step] = []
        for step, inputs in zip(reversed(self._steps), reversed(self._inputs), strict=True):
            single = isinstance(step.output, int)
            written = (step.output,) if single else range(len(self.types))[step.output]
            dead = tuple({slot for slot in (*inputs, *written) if slot not in kept})
            kept.update(inputs)
            steps.append(step._replace(dead=dead))
        return tuple(reversed(steps))

    def _only(self, outputs: tuple[int, ...]) -> type[Definition] | None:
        if len(self._steps) != 1 or outputs != (self._steps[0].output,):
            return None
        (inputs,), (op,) = self._inputs, self._operations
        given = tuple(range(self.arguments))
        swapped = Trait.COMMUTATIVE in op.traits and inputs == given[::-1]
        return type(op) if inputs == given or swapped else None


def _reader(inputs: tuple[int, ...]) -> Any:
    if len(inputs) > 1:
        return itemgetter(*inputs)
    # A slice keeps one operand, or none, in a list.
    first = inputs[0] if inputs else 0
    return itemgetter(slice(first, first + len(inputs)))


def build(module: Module, exact: bool) -> Program:
    """Returns the program of `@main` in a verified module, with every function built once.

    Raises `VerifyError` where there is no `@main`, `UnsupportedError` for what has no kernel here;
    both tell the line.
    """
    functions = {function.name: function for function in module.functions}
    builder = ProgramBuilder(functions, exact)
    builder.build_all()
    if "main" not in functions:
        raise VerifyError("a module needs a function @main", 1)
    main = functions["main"]
    for parameter in (*main.arguments, *main.results):
        checked(parameter.type, main.line)
    return builder.program("main", main.line)


class ProgramBuilder:
    """The functions of a module, each built after those that it calls.

    A subclass may make other kernels of the same operations.
    """

    def __init__(self, functions: dict[str, Function], exact: bool) -> None:
        self._functions = functions
        self._exact = exact
        self._built: dict[str, Program] = {}
        self._refused: dict[str, UnsupportedError] = {}
        self._depths: dict[str, int] = {}

    def build_all(self) -> None:
        """Builds every function, and remembers those that are not supported."""
        for name in called_first(self._functions, self._functions):
            # What nothing runs need not be supported, but it must be right.
            with suppress(UnsupportedError):
                self.build(name)

    def build(self, name: str) -> None:
        """Builds a function, and remembers why where that is not supported."""
        try:
            function = self._functions[name]
            self._depths[name] = depth_of(function, self._depths)
            self._built[name] = self._function(function)
        except UnsupportedError as error:
            self._refused[name] = error
            raise

    def program(self, name: str, line: int) -> Program:
        """Returns the program of a function that has been built; a line is where it is called."""
        if name in self._built:
            return self._built[name]
        if name in self._refused:
            raise self._refused[name].with_traceback(None)
        if name not in self._functions:
            raise VerifyError(f"no function is called @{name}", line)
        # What a function calls is built before it, unless that is or calls the function itself.
        raise UnsupportedError(f"@{name} calls itself, which is not supported", line)

    def _function(self, function: Function) -> Program:
        if function.body is None:
            raise UnsupportedError(f"@{function.name} has no body", function.line)
        return self._region(function.body, function.line)

    def _region(
        self,
        region: Region,
        line: int,
        captures: tuple[Parameter, ...] = (),
        known: tuple[tuple[Parameter, Array], ...] = (),
    ) -> Program:
        """Returns the program of a region, whose captures follow its own arguments.

        The constants `known` outside are constants inside.
        """
        if not region.blocks:
            raise UnsupportedError("a region without a block is not supported", line)
        block = region.blocks[0]
        frame = Frame()
        for parameter in (*block.arguments, *captures):
            frame.define(parameter.name, held(parameter.type, line))
        frame.arguments = len(frame.types)
        for parameter, array in known:
            frame.constants[frame.define(parameter.name, parameter.type)] = array
        elementwise = True
        *operations, end = block.operations
        for operation in operations:
            elementwise = self._add(frame, operation) and elementwise
        return frame.program(tuple([frame.slots[name] for name in end.operands]), elementwise)

    def _add(self, frame: Frame, operation: Operation) -> bool:
        """Adds one operation and returns whether it works element by element."""
        definition = find(operation.name)
        builder = None if definition is None else builder_of(definition)
        if definition is None or builder is None:
            raise UnsupportedError(
                f"{operation.name} is not supported", operation.line, operation.column
            )
        inputs = [frame.slots[name] for name in operation.operands]
        outside = _captures(frame, operation)
        captures = [slot for slot in outside if slot not in frame.constants]
        regions = self._regions(frame, operation, definition, outside)
        operands = tuple([frame.types[slot] for slot in inputs])
        results = tuple([held(type, operation.line) for type in operation.result_types])
        constants = tuple([frame.constants.get(slot) for slot in inputs])
        op = definition(operation, operands, results, constants)
        context = BuildContext(op, tuple(regions), len(captures), self.program, self._exact)
        try:
            kernel = self._kernel(builder, context)
        except MemoryError:
            context.unsupported("needs more memory than this machine has")
        first = len(frame.types)
        for name, type in zip(operation.results, context.results, strict=True):
            frame.define(name, type)
        if isinstance(kernel, Constant):
            frame.constants[first] = kernel.array
        else:
            kernel = unchanged if moves_nothing(context) else kernel
            frame.add(context.op, kernel, (*inputs, *captures), first)
        return works_pointwise(context)

    def _kernel(self, builder: Builder, context: BuildContext[Any]) -> Kernel | Constant:
        return builder(context)

    def _regions(
        self,
        frame: Frame,
        operation: Operation,
        definition: type[Definition],
        names: dict[int, str],
    ) -> list[Program]:
        """Returns the programs of an operation's regions, which use slots of these `names`."""
        values = frame.constants
        named = {slot: Parameter(name, frame.types[slot], {}) for slot, name in names.items()}
        captures = tuple([named[slot] for slot in named if slot not in values])
        known = tuple([(each, values[slot]) for slot, each in named.items() if slot in values])
        # Regions nest deep, so a loop spares the call of a comprehension.
        regions: list[Program] = []
        for region in operation.regions:
            regions.append(self._region(region, operation.line, captures, known))
        return regions


def _captures(frame: Frame, operation: Operation) -> dict[int, str]:
    """Returns the slots that the regions of `operation` use from the frame, and their names."""
    names: dict[int, str] = {}
    for name in captured(operation.regions):
        # The first of several results goes by two names, of which this one defines both.
        if name in frame.slots and (name.endswith("#0") or frame.slots[name] not in names):
            names[frame.slots[name]] = name
    return names
