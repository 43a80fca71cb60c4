"""Roots, exponentials, logarithms and circular functions, each with an accuracy of its choice."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any, Final

from topos.stablehlo.dialect._alike import Unary
from topos.stablehlo.ir import Record, Word
from topos.stablehlo.opview import OpView
from topos.stablehlo.rounding import Units
from topos.stablehlo.traits import Trait
from topos.stablehlo.typed_attributes import Attribute
from topos.stablehlo.types import COMPLEX, FLOATS

_TOLERANCES: Final = {"atol": float, "rtol": float, "ulps": int}
# The number of ulps is an i64.
_BEYOND: Final = 1 << 63
_MODE: Final = "#stablehlo.result_accuracy_mode<"
_MODES: Final = ("DEFAULT", "HIGHEST", "TOLERANCE")


class Accuracy(Attribute[Mapping[str, Any]]):
    """How near to the exact value a result has to be: a mode, and perhaps tolerances."""

    takes = f"a dictionary of mode ({', '.join(_MODES)}) and perhaps {', '.join(_TOLERANCES)}"
    example = "{'mode': 'HIGHEST'}"

    def read(self, view: OpView) -> Mapping[str, Any]:
        """Returns the fields, `{}` where there are none."""
        if self.key not in view.operation.attributes:
            return {}
        fields = view.fields(self.key)
        known = [key for key in (*_TOLERANCES, "mode") if key in fields]
        if [*fields] != known or "mode" not in fields:
            needs = f"{', '.join(_TOLERANCES)}, each perhaps, and mode in {self.key}"
            view.refuse(f"needs {needs}, got {', '.join(fields) or 'nothing'}")
        mode = fields["mode"]
        if mode not in _MODES:
            view.refuse(f"needs an accuracy of {' '.join(_MODES)}, got {mode}")
        tolerances = [fields.get(key, kind()) for key, kind in _TOLERANCES.items()]
        if [*map(type, tolerances)] != [*_TOLERANCES.values()]:
            view.refuse(f"needs numbers such as atol = 0.0, rtol = 0.0, ulps = 0, got {tolerances}")
        if not all(0 <= each < _BEYOND for each in tolerances):
            view.refuse(f"needs tolerances of 0 or more, got {tolerances}")
        if mode != "TOLERANCE" and any(tolerances):
            view.refuse(f"takes no tolerances with the mode {mode}, got {tolerances}")
        return fields

    def made(self, value: Any) -> Any:
        """Returns the fields of a mapping, in which what is left out is zero."""
        asked = dict(value)
        if asked.get("mode", "DEFAULT") not in _MODES:
            raise ValueError(f"{asked['mode']} is no mode")
        fields: dict[str, Any] = {
            "atol": float(asked.pop("atol", 0)),
            "rtol": float(asked.pop("rtol", 0)),
            "ulps": index(asked.pop("ulps", 0)),
            "mode": Word(str(asked.pop("mode", "DEFAULT")), _MODE),
        }
        return Record({**fields, **asked}, "#stablehlo.result_accuracy<")


class Function(Unary):
    """A function of a real or complex number, of each element."""

    elements = FLOATS | COMPLEX
    result_accuracy = Accuracy()


# Near their zeros, an approximation is as good as its reduction of the argument.
_CIRCULAR: Final = Units(2, of_one=0.5)

Sqrt = Function.named("stablehlo.sqrt", "The square root of each element.", Units(1))
Rsqrt = Function.named(
    "stablehlo.rsqrt", "One divided by the square root of each element.", Units(2)
)
Cbrt = Function.named("stablehlo.cbrt", "The cube root of each element.", Units(4))
Exponential = Function.named(
    "stablehlo.exponential", "e to the power of each element.", Units(4), Trait.UNDERFLOWS
)
ExponentialMinusOne = Function.named(
    "stablehlo.exponential_minus_one",
    "e to the power of each element, less one; exact near zero.",
    Units(6),
)
Log = Function.named("stablehlo.log", "The natural logarithm of each element.", Units(2))
LogPlusOne = Function.named(
    "stablehlo.log_plus_one",
    "The natural logarithm of one more than each element; exact near zero.",
    Units(4),
)
Logistic = Function.named("stablehlo.logistic", "1 / (1 + exp(-x)) of each element.", Units(4))
Sine = Function.named("stablehlo.sine", "The sine of each element.", _CIRCULAR)
Cosine = Function.named("stablehlo.cosine", "The cosine of each element.", _CIRCULAR)
Tan = Function.named("stablehlo.tan", "The tangent of each element.", Units(4))
Tanh = Function.named("stablehlo.tanh", "The hyperbolic tangent of each element.", Units(4))
