"""A module as data: read, verified, walked, rewritten, cut and counted without an MLIR build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from topos.errors import ArgumentError, SymbolError
from topos.stablehlo.cost import CostAnalysis, cost_analysis
from topos.stablehlo.forms import ModuleLike, text_of
from topos.stablehlo.fresh_names import FreshNames, names_in
from topos.stablehlo.given import type_of
from topos.stablehlo.ir import Function, Operation, Tensor
from topos.stablehlo.ir import Module as Tree
from topos.stablehlo.printer import printed
from topos.stablehlo.read import parsed, told_of
from topos.stablehlo.rewriting import Rewrite, rewritten, sliced
from topos.stablehlo.specialize import specialized
from topos.stablehlo.verifier import verify
from topos.stablehlo.walks import called_first, demand_shallow, walked


class Module(Tree):
    """The functions of a StableHLO module, as tuples of tuples; nothing here changes in place.

    `str(module)` is its text, which reads back as the same tree.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return printed(self)

    def __repr__(self) -> str:
        count = sum(1 for _ in self.walk())
        functions = ", ".join(f"@{function.name}" for function in self.functions)
        return f"Module({functions or 'no functions'}; {count} operations)"

    def text(self, *, generic: bool = False) -> str:
        """Returns the text of the module, in custom assembly or every operation in generic form."""
        return printed(self, generic=generic)

    def verify(self) -> Self:
        """Returns this module where every operation keeps its rules.

        Raises `VerifyError` at the first that does not, `UnsupportedError` at what is known by name
        only; both tell the line, and show it where `str(module)` is the text.
        """
        self._demand_depth()
        with told_of(""):
            verify(self)
        return self

    def cost(self) -> CostAnalysis:
        """Returns what a run of `@main` executes: operations, flops, elements, a loop counted once.

        Of the branches of an `if` or a `case` only the one with the most flops counts. An open
        extent counts as no element; `open_runs` tells whether there are any. Raises
        `VerifyError` where there is no `@main`.
        """
        self._demand_depth()
        return cost_analysis(self)

    def specialize(self, argument_types: Sequence[Any]) -> Self:
        """Returns this module for its arguments' static types, with every `?` made static.

        A type is a `Tensor`, its text, or an array like the argument. Raises `ArgumentError` where
        `@main` does not take such types or an assertion of the module fails, with its own message,
        and `UnsupportedError` where the types of the arguments do not tell those of all values.
        """
        if not isinstance(argument_types, (list, tuple)):
            raise ArgumentError(f"a list has a type for each argument, got {argument_types!r}")
        types = [type_of(each) for each in argument_types]
        for position, each in enumerate(types):
            if isinstance(each, Tensor) and None in each.shape:
                raise ArgumentError(f"argument {position} still has an open extent in {each}")
        if not all(isinstance(each, Tensor) for each in types):
            raise ArgumentError(f"the types of arguments are tensors, got {types}")
        verified = self.verify()
        with told_of(""):
            return specialized(verified, [each for each in types if isinstance(each, Tensor)])

    def function(self, name: str = "main") -> Function:
        """Returns a function; raises `SymbolError` where there is none of that name."""
        for function in self.functions:
            if isinstance(name, str) and function.name == name:
                return function
        names = ", ".join(f"@{function.name}" for function in self.functions) or "none"
        raise SymbolError(f"the module has no function @{name}; its functions: {names}")

    def walk(self) -> Iterator[Operation]:
        """Yields every operation of every function in order, before those of its regions."""
        for function in self.functions:
            if function.body is not None:
                yield from walked(function.body)

    def replace(self, rewrite: Rewrite) -> Self:
        """Returns the module with each operation replaced by what `rewrite` returns for it.

        It returns `None` to keep the operation, another one, or a list of operations that stand in
        its place; together they must define the names of its results. Operations inside regions
        are replaced before those that hold them.
        """
        self._demand_depth()
        if not callable(rewrite):
            raise ArgumentError(f"a rewrite is a function of an operation, got {rewrite!r}")
        functions = [
            function
            if function.body is None
            else function._replace(body=rewritten(function.body, rewrite))
            for function in self.functions
        ]
        return self._replace(functions=tuple(functions))

    def fresh_names(self) -> FreshNames:
        """Returns what makes names for new values that no function of this module has yet.

        With `fresh = module.fresh_names()`, `fresh("%half")` is `%half` or `%half_1` and so on.
        """
        bodies = [each.body for each in self.functions if each.body is not None]
        return FreshNames([name for body in bodies for name in names_in(body)])

    def slice(
        self, results: Sequence[str], inputs: Sequence[str] = (), *, function: str = "main"
    ) -> Self:
        """Returns the module that computes the values `results` of a function from `inputs`.

        Values are named as in the text, such as `"%3"`. Its `@main` takes the inputs in the order
        given, then those of the function's own arguments that are needed besides; an input `%r#1`
        is called `%r_1`, and `%0#1` is called `%v0_1`. It holds the operations that
        lead to the results, whole with their regions, and the functions that these call. Raises
        `SymbolError` where the function's outermost block defines no such value.
        """
        lists = all(isinstance(each, (list, tuple)) for each in (results, inputs))
        if not lists or not all(isinstance(each, str) for each in (*results, *inputs)):
            raise ArgumentError('results and inputs are lists of names, such as ["%0"]')
        source = self.function(function)
        self._demand_depth()
        main = sliced(source, results, inputs)
        # No function is called by the empty name, under which the slice stands for this search.
        functions = {each.name: each for each in self.functions} | {"": main}
        reached = {*called_first(functions, [""])}
        if "main" in reached:
            raise ArgumentError(f"a slice of @{function} cannot hold the call of @main in it")
        called = [each for each in self.functions if each.name in reached]
        return self._replace(functions=(main, *called))

    def _demand_depth(self) -> None:
        for function in self.functions:
            if not isinstance(function, Function):
                raise ArgumentError(f"a module holds functions, got {function!r}")
            if function.body is not None:
                demand_shallow(function.body)


def parse(module: ModuleLike) -> Module:
    """Returns a module in any form that `text_of` takes as a tree, not verified yet.

    Raises `ParseError` with the line, the column and a caret where its text is no module, and what
    `text_of` raises; the text of a binary form is the one that jaxlib prints.
    """
    return Module(*(module if isinstance(module, Tree) else parsed(text_of(module))))
