"""Integers in the order of a tensor's elements, and the elements of such integers."""

from __future__ import annotations

from typing import Final, NamedTuple

from topos.runtimes._rewriting import tensor

__all__ = ["KEYS", "Keys"]

# By the element, the signed integer that is in its order.
KEYS: Final = {
    "bf16": "i16",
    "f16": "i16",
    "f32": "i32",
    "f64": "i64",
    "i1": "i32",
    "i8": "i32",
    "i16": "i32",
    "i32": "i32",
    "i64": "i64",
    "ui8": "i32",
    "ui16": "i32",
    "ui32": "i64",
    "ui64": "i64",
}
FLOATS: Final = frozenset({"bf16", "f16", "f32", "f64"})


class Keys(NamedTuple):
    """Integers for the elements of a tensor; floats are in their total order."""

    shape: tuple[int, ...]
    element: str

    def keyed(self, source: str, result: str, largest: bool) -> str:
        """Returns text for the integers of elements, in the opposite order if not `largest`."""
        own, type = tensor(self.shape, self.element), tensor(self.shape, KEYS[self.element])
        start = f"\n%{result}own = stablehlo.{self._cast()} %{source} : ({own}) -> {type}"
        ordered = self._ordered(f"{result}own", f"{result}up")
        return start + ordered + self._flipped(f"{result}up", result, largest)

    def restored(self, source: str, result: str, largest: bool) -> str:
        """Returns text for the elements of integers: each step of `keyed` undoes itself."""
        own, type = tensor(self.shape, self.element), tensor(self.shape, KEYS[self.element])
        flipped = self._flipped(source, f"{result}up", largest)
        ordered = self._ordered(f"{result}up", f"{result}own")
        end = f"\n%{result} = stablehlo.{self._cast()} %{result}own : ({type}) -> {own}"
        return flipped + ordered + end

    def _cast(self) -> str:
        bits = self.element in FLOATS or self.element == "ui64"
        return "bitcast_convert" if bits else "convert"

    def _flipped(self, source: str, result: str, largest: bool) -> str:
        type = tensor(self.shape, KEYS[self.element])
        return self._xor(source, result, 0 if largest else -1, type)

    def _ordered(self, source: str, result: str) -> str:
        """Returns text between bits and integers in their order."""
        key = KEYS[self.element]
        type, truth = tensor(self.shape, key), tensor(self.shape, "i1")
        if self.element not in FLOATS:
            # The middle of the unsigned numbers becomes zero.
            return self._xor(source, result, -(2**63) if self.element == "ui64" else 0, type)
        mirrored = self._xor(source, f"{result}x", 2 ** (int(key[1:]) - 1) - 1, type)
        return f"""{mirrored}
      %{result}z = stablehlo.constant dense<0> : {type}
      %{result}n = stablehlo.compare LT, %{source}, %{result}z : ({type}, {type}) -> {truth}
      %{result} = stablehlo.select %{result}n, %{result}x, %{source} : {truth}, {type}"""

    def _xor(self, source: str, result: str, mask: int, type: str) -> str:
        return f"""
      %{result}m = stablehlo.constant dense<{mask}> : {type}
      %{result} = stablehlo.xor %{source}, %{result}m : {type}"""
