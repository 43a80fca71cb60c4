"""Sets of inputs: the cases of a module, a plan or a bundle, one for each set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, cast

import numpy as np
import numpy.typing as npt

from topos.engine import Plan
from topos.errors import ArgumentError, ExecutionError
from topos.judge.case import GIVEN, SAMPLES, Case, demand_whole
from topos.runtimes._inputs import EXTENT, random_array, special_array
from topos.runtimes._signature import ArrayType, require_count
from topos.runtimes.interpreter.program import Array, StepsError
from topos.stablehlo import Module, parse
from topos.stablehlo.forms import ModuleLike, text_of
from topos.stablehlo.ir import Parameter, Tensor
from topos.stablehlo.types import checked, dtype_of

if TYPE_CHECKING:
    from topos.bundle import Bundle

RANDOM, SPECIAL = "random", "special"
INPUTS: Final = {RANDOM: random_array, SPECIAL: special_array}
# A loop may never end for inputs that nobody chose, such as NaN.
STEPS: Final = 20_000


def cases_of(
    subject: ModuleLike | Plan | Bundle,
    arguments: Sequence[npt.ArrayLike] | None = None,
    inputs: Sequence[str] = (),
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    extent: int = EXTENT,
) -> Iterator[Case]:
    """Yields the cases of a module, a plan or a bundle, one for each set of inputs.

    `inputs` are some of "given", "random" and "special", by default the arguments that are given,
    or else random ones; those of a plan are its initial state, and those of a bundle its samples.
    "random" draws floats that are normal and integers of 0 and 1, "special" puts zeros, ties, the
    ends of the range, infinities and NaN among them; both are the same for the same seed, and an
    open extent is `extent`. Raises what `Case` does.
    """
    if not isinstance(subject, Plan) and hasattr(subject, "programs"):
        yield from _of_bundle(cast("Bundle", subject), arguments, inputs, seed, samples)
        return
    names: list[str] = []
    if isinstance(subject, Plan):
        names = [port.name or str(port.symbol) for port in subject.signature().results]
        if arguments is None:
            arguments = subject.arguments()
        subject = subject.emit_stablehlo()
    text = "" if isinstance(subject, Module) else text_of(subject)
    module = parse(text or subject).verify()
    types = argument_types(module)
    for name in inputs or (GIVEN if arguments is not None or not types else RANDOM,):
        if name != GIVEN and name not in INPUTS:
            known = ", ".join((GIVEN, *INPUTS))
            raise ArgumentError(f"inputs are some of {known}, got {name!r}")
        taken = (arguments or ()) if name == GIVEN else _made(name, types, seed, extent)
        require_count(len(taken), len(types))
        if name == GIVEN:
            yield Case(module, taken, seed=seed, samples=samples, names=names, text=text)
            continue
        try:
            case = Case(
                module, taken, seed=seed, samples=samples, name=name, names=names,
                max_steps=STEPS, text=text,
            )  # fmt: skip
        except ExecutionError as error:
            raise _told_of_inputs(error, name) from error.__cause__
        yield case


def _told_of_inputs(error: ExecutionError, name: str) -> ExecutionError:
    """Returns an error of the oracle's run with the set of inputs that it had."""
    hint = f"the inputs are {name}; give others as arguments"
    cause = error.__cause__
    if isinstance(cause, StepsError):
        error.__cause__ = cause = StepsError(
            f"{cause.reason}; {hint}", cause.line, cause.column, cause.source_line
        )
        return ExecutionError(str(cause))
    return ExecutionError(f"{error}; {hint}")


def _made(name: str, types: Sequence[ArrayType], seed: int, extent: int) -> list[Array]:
    demand_whole("a seed", seed)
    demand_whole("an extent", extent)
    generator = np.random.default_rng(seed)
    return [INPUTS[name](generator, type, extent) for type in types]


def _of_bundle(
    bundle: Bundle, arguments: object, inputs: Sequence[str], seed: int, samples: int
) -> Iterator[Case]:
    if arguments is not None or [*inputs] not in ([], [GIVEN]):
        raise ArgumentError("a bundle brings its own inputs: give no arguments and no sets of them")
    weights = bundle.weights()
    for program in bundle.programs:
        module = parse(program.text).verify()
        held = program.resident(weights)
        for number, call in enumerate(program.sample()):
            brought = iter(program.given(call))
            given = [
                held[place] if place in held else next(brought)
                for place in range(len(program.arguments))
            ]
            yield Case(
                module, given, seed=seed, samples=samples, name=f"{program.name}, sample {number}",
                names=[each.name for each in program.results],
            )  # fmt: skip


def argument_types(module: Module) -> list[ArrayType]:
    """Returns the types of what @main takes, open extents as `None`."""
    return array_types(module.function().arguments)


def array_types(parameters: Sequence[Parameter]) -> list[ArrayType]:
    """Returns the types of a function's arguments or results, open extents as `None`."""
    types = []
    for parameter in parameters:
        type = parameter.type
        shape = getattr(type, "shape", ())
        if isinstance(type, Tensor):
            type = type._replace(shape=tuple([1 if each is None else each for each in shape]))
        types.append(ArrayType(shape, dtype_of(checked(type, 0))))
    return types
