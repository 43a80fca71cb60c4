"""Portable artifacts: modules in the binary form that StableHLO keeps readable for years."""

from __future__ import annotations

import re
from typing import Any, Final

from topos.errors import ArgumentError, BundleError, UnavailableError
from topos.runtimes._mlir import bytecode, main_of, parse
from topos.runtimes._packages import imported, installed

# How long ago a reader may have been built, by the names that StableHLO has for the promise:
# https://github.com/openxla/stablehlo/blob/main/docs/compatibility.md.
PERIODS: Final = {
    "current": "NONE",
    "week-4": "WEEK_4",
    "week-12": "WEEK_12",
    "max": "MAX",
}

VERSION: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){2}")
SHOWN: Final = 60
# How a conversion tells of an operation that a version lacks, and a place in the text itself.
LACKING: Final = re.compile(r"failed to legalize operation 'vhlo\.(\w+?)_v[0-9]+'")
OWN: Final = re.compile(r'"-":([0-9]+):[0-9]+')
PIPELINE: Final = "builtin.module(func.func(chlo-legalize-to-stablehlo))"


def is_ready() -> bool:
    """Returns whether jaxlib, which writes and reads artifacts, is installed."""
    return installed("portable", "export", {"jax": "jax", "jaxlib": "jaxlib"}).ready


def version_of(compatibility: str) -> str:
    """Returns the StableHLO version of a period's name, or `compatibility` itself if it is one.

    Raises `ArgumentError` for any other word, and for a version that jaxlib cannot write.
    """
    stablehlo = _binding()
    if isinstance(compatibility, str) and compatibility in PERIODS:
        requirements = stablehlo.StablehloCompatibilityRequirement
        requirement = getattr(requirements, PERIODS[compatibility])
        return str(stablehlo.get_version_from_compatibility_requirement(requirement))
    if not isinstance(compatibility, str) or not VERSION.fullmatch(compatibility):
        words, got = ", ".join(PERIODS), ascii(compatibility)[:SHOWN]
        raise ArgumentError(
            f"compatibility needs a version such as 1.13.7 or one of {words}, got {got}"
        )
    least, most = stablehlo.get_minimum_version(), stablehlo.get_current_version()
    if not _numbers(least) <= _numbers(compatibility) <= _numbers(most):
        raise ArgumentError(
            f"compatibility needs a version of {least} to {most}, got {compatibility}"
        )
    return compatibility


def serialized(text: str, version: str) -> bytes:
    """Returns a module as a portable artifact for readers of StableHLO `version` and later.

    The form has no CHLO: its operations, such as `chlo.erf`, are spelled out in StableHLO. Raises
    `BundleError` where the module uses what that version had not.
    """
    stablehlo = _binding()
    from jax.extend.mlir import ir
    from jax.interpreters.mlir import make_ir_context
    from jaxlib.mlir import passmanager

    told: list[str] = []
    with make_ir_context() as context:
        module: Any = parse(ir, text)
        handler: Any = context.attach_diagnostic_handler(lambda each: _hear(told, each))
        try:
            stablehlo.register_stablehlo_passes()
            passmanager.PassManager.parse(PIPELINE).run(module.operation)
            return bytes(stablehlo.serialize_portable_artifact(module, version))
        except (ValueError, ir.MLIRError) as error:
            reason = (told or str(error).strip().splitlines())[0]
            raise BundleError(f"StableHLO {version} cannot hold the module: {reason}") from error
        finally:
            handler.detach()


def bytecode_of(text: str) -> bytes:
    """Returns a module as MLIR bytecode, which readers of the same age as jaxlib take."""
    _binding()
    from jax.extend.mlir import ir
    from jax.interpreters.mlir import make_ir_context

    with make_ir_context():
        return bytecode(parse(ir, text))


def argument_locations(text: str) -> list[str | None]:
    """Returns what the location of each argument of `@main` calls it, None where it has no name.

    Raises as `demand_valid` does.
    """
    _binding()
    from jax.extend.mlir import ir
    from jax.interpreters.mlir import make_ir_context

    with make_ir_context():
        module = parse(ir, text)
        symbols: Any = ir.SymbolTable(module.operation)
        return [_located(symbols, argument) for argument in main_of(ir, module).arguments]


def _located(symbols: Any, argument: Any) -> str | None:
    """Returns the name of an argument by its location, or by that of a callee's that it becomes.

    A module of jax with open shapes has its names in a function that `@main` calls.
    """
    own = getattr(argument.location, "name_str", None)
    for use in [] if own else argument.uses:
        if use.owner.name == "func.call":
            callee = symbols[use.owner.attributes["callee"].value]
            return getattr(callee.arguments[use.operand_number].location, "name_str", None)
    return own


def demand_valid(text: str) -> None:
    """Raises `ParseError` or `VerifyError` where jaxlib's MLIR refuses a text."""
    _binding()
    from jax.extend.mlir import ir
    from jax.interpreters.mlir import make_ir_context

    with make_ir_context():
        parse(ir, text)


def _hear(told: list[str], diagnostic: Any) -> bool:
    """Adds what a diagnostic says, in the words of StableHLO; it goes nowhere else."""
    lacking = LACKING.search(diagnostic.message)
    if lacking:
        name = "a type of func.func" if lacking[1] == "func" else f"stablehlo.{lacking[1]}"
        place = str(diagnostic.location).removeprefix("loc(").removesuffix(")")
        line = OWN.fullmatch(place)
        at = f"line {line[1]}" if line else place
        told.append(f"it lacks {name} as it stands at {at}")
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _binding() -> Any:
    status = installed("portable", "export", {"jax": "jax", "jaxlib": "jaxlib"})
    if not status.ready:
        raise UnavailableError(
            "a portable artifact needs jax and jaxlib: pip install 'topos-compiler[export]'"
        )
    with imported(status):
        from jaxlib.mlir.dialects import stablehlo
    return stablehlo
