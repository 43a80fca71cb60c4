"""Bundles: a model in a folder, exported once, checked and served anywhere."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from topos.errors import UnavailableError

if TYPE_CHECKING:
    from topos.bundle.bundle import Bundle, Call, Program
    from topos.bundle.checking import check
    from topos.bundle.commands import Commands
    from topos.bundle.envelope import deviation
    from topos.bundle.exporting import export
    from topos.bundle.external import evaluator_verdicts, named_verdicts, validator_verdicts
    from topos.bundle.manifest import Argument, CompiledForm, Port, Result
    from topos.bundle.module_export import export_module
    from topos.bundle.modules import demand_runnable
    from topos.bundle.report import Check

__all__ = [
    "Argument",
    "Bundle",
    "Call",
    "Check",
    "Commands",
    "CompiledForm",
    "Port",
    "Program",
    "Result",
    "check",
    "demand_runnable",
    "deviation",
    "evaluator_verdicts",
    "export",
    "export_module",
    "named_verdicts",
    "validator_verdicts",
]

_HOMES: Final = {
    **dict.fromkeys(("Bundle", "Call", "Program"), "bundle"),
    **dict.fromkeys(("Argument", "CompiledForm", "Port", "Result"), "manifest"),
    "Commands": "commands",
    **dict.fromkeys(("evaluator_verdicts", "named_verdicts", "validator_verdicts"), "external"),
    "Check": "report",
    "check": "checking",
    "demand_runnable": "modules",
    "deviation": "envelope",
    "export": "exporting",
    "export_module": "module_export",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # The command line knows of bundles where the packages behind them are not installed.
    if name not in _HOMES:
        raise AttributeError(f"topos.bundle has no attribute {name!r}")
    try:
        return getattr(import_module(f"topos.bundle.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "msgspec":
            raise
        # The package behind it is all there is to know; a second traceback would hide it.
        raise UnavailableError(
            "a bundle needs msgspec: pip install 'topos-compiler[export]'"
        ) from None
