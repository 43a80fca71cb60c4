"""Subjects: instances of forms as modules, alone for the oracle and together for a runtime."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from topos.judge.certification.cells import Found, Oracle, measured
from topos.judge.certification.forms import Instance
from topos.judge.certification.inputs import classes_of, drawn
from topos.runtimes._signature import ArrayType, ModuleSignature
from topos.runtimes.interpreter.program import Array
from topos.runtimes.interpreter.run import built
from topos.stablehlo import Module, parse
from topos.stablehlo.ir import Parameter, Tensor
from topos.stablehlo.types import ELEMENTS

# So many operations go into one module.
TOGETHER: Final = 48


class Subject:
    """An instance as a module, and the oracle's program of it, which is built when first needed.

    `classes` are the classes of inputs that it is run with.
    """

    def __init__(self, instance: Instance, seed: int) -> None:
        self.instance, self.seed = instance, seed
        self.classes = classes_of(instance.arguments)

    @cached_property
    def module(self) -> Module:
        """The module whose @main is the operation's function."""
        return parse(self.instance.text.replace("private @form(", "@main(", 1)).verify()

    @cached_property
    def oracle(self) -> Oracle:
        """The oracle's program."""
        return built(self.module)

    def arguments(self, name: str) -> list[Array]:
        """Returns the arguments of a class of inputs, the same ones for the same seed.

        Those of a class that this subject has not are of its first.
        """
        name = name if name in self.classes else self.classes[0]
        words = "/".join((*self.instance.key, name))
        generator = np.random.default_rng([self.seed, zlib.crc32(words.encode())])
        is_elementwise = self.instance.is_elementwise
        return drawn(self.instance.arguments, name, generator, is_elementwise=is_elementwise)

    def found(self, name: str, results: Sequence[Array]) -> Found:
        """Returns what is to be said of the results of a class of inputs."""
        return measured(self.module, self.oracle, self.arguments(name), results, self.seed)


def together(chosen: Sequence[Instance]) -> tuple[Module, ModuleSignature]:
    """Returns a module that calls each instance once, on arguments of its own."""
    calls, functions = list[str](), list[str]()
    parameters, returned = list[str](), list[tuple[str, str]]()
    for place, each in enumerate(chosen):
        functions.append(each.text.replace("@form", f"@form{place}"))
        types = [str(parameter.type) for parameter in each.arguments]
        made = [str(parameter.type) for parameter in each.results]
        given = [f"%a{place}_{at}" for at in range(len(types))]
        parameters += [f"{name}: {type}" for name, type in zip(given, types, strict=True)]
        several = "" if len(made) == 1 else f":{len(made)}"
        calls.append(
            f"  %r{place}{several} = func.call @form{place}({', '.join(given)})"
            f" : ({', '.join(types)}) -> ({', '.join(made)})\n"
        )
        suffixes = [f"#{at}" for at in range(len(made))] if several else [""]
        returned += zip([f"%r{place}{suffix}" for suffix in suffixes], made, strict=True)
    types_of_results = ", ".join(type for _, type in returned)
    text = (
        f"func.func @main({', '.join(parameters)}) -> ({types_of_results}) {{\n{''.join(calls)}"
        f"  return {', '.join(name for name, _ in returned)} : {types_of_results}\n}}\n"
    )
    module = parse(text + "".join(functions)).verify()
    return module, ModuleSignature(
        tuple([_array_type(type) for each in chosen for type in each.arguments]),
        tuple([_array_type(type) for each in chosen for type in each.results]),
    )


def _array_type(parameter: Parameter) -> ArrayType:
    assert isinstance(parameter.type, Tensor)
    return ArrayType(tuple(parameter.type.shape), ELEMENTS[parameter.type.element])
