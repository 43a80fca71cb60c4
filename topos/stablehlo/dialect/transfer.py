"""Data that moves into and out of a program while it runs."""

from __future__ import annotations

from typing import ClassVar, Final

from topos.stablehlo.definition import Definition, define
from topos.stablehlo.dialect._demands import holding
from topos.stablehlo.ir import Type
from topos.stablehlo.opview import OpView
from topos.stablehlo.rounding import EXACT
from topos.stablehlo.shapes import ranked
from topos.stablehlo.typed_attributes import Fields, String, Truth
from topos.stablehlo.types import TOKEN

_HANDLE: Final = "#stablehlo.channel_handle<"
_CHANNELS: Final = {1: "DEVICE_TO_DEVICE", 2: "DEVICE_TO_HOST", 3: "HOST_TO_DEVICE"}


class _Transfer(Definition):
    """Tensors that leave or enter the program, and a token."""

    # Which way a channel leads that is no one between devices; "" where there is none.
    host: ClassVar[str] = ""
    rounding = EXACT

    def demand_ordered(self, types: tuple[Type, ...], what: str) -> None:
        """Refuses unless `types` are tensors, then one token, and the channel is one for them."""
        if not types or types[-1] != TOKEN:
            got = types[-1] if types else "nothing"
            self.refuse(f"needs a token as its last {what}, got {got}")
        for type in types[:-1]:
            holding(self, type, what)
        if self.host:
            _demand_channel(self, self.host)


class _Received(_Transfer):
    """Tensors from outside the program, then a token that waits for them."""

    operand_order = "a token"

    def infer(self) -> tuple[Type, ...]:
        if self.operands != (TOKEN,):
            self.refuse(f"needs a token as its operand, got {len(self.operands)} operands")
        self.demand_ordered(self.results, "result")
        for type in self.results[:-1]:
            if None in ranked(self, type, "result").shape:
                self.refuse(f"needs a static result, got {type}")
        return self.results


class _Sent(_Transfer):
    """A token that waits until the operands have left the program."""

    operand_order = "values, then a token"

    def infer(self) -> tuple[Type, ...]:
        self.demand_ordered(self.operands, "operand")
        return (TOKEN,)


@define("stablehlo.infeed")
class Infeed(_Received):
    """Tensors that the host feeds, then a token."""

    infeed_config = String(default="")

    def verify(self) -> None:
        super().verify()
        layout = self.optional("layout")
        if layout is None:
            return
        if not isinstance(layout, tuple) or len(layout) != len(self.results) - 1:
            self.refuse(f"needs a layout of {len(self.results) - 1} parts, got {layout}")
        for part in layout:
            if not isinstance(part, tuple) or any(type(number) is not int for number in part):
                self.refuse(f"needs lists of integers as layout, got {part}")


@define("stablehlo.outfeed")
class Outfeed(_Sent):
    """Tensors for the host to take, and a token."""

    outfeed_config = String(default="")


@define("stablehlo.send")
class Send(_Sent):
    """Tensors for another device, or the host, and a token."""

    channel_handle = Fields(_HANDLE)
    is_host_transfer = Truth()
    host = "DEVICE_TO_HOST"


@define("stablehlo.recv")
class Recv(_Received):
    """Tensors of another device, or of the host, then a token."""

    channel_handle = Fields(_HANDLE)
    is_host_transfer = Truth()
    host = "HOST_TO_DEVICE"


def _demand_channel(view: OpView, host: str) -> None:
    """Refuses a channel that is not the one for the transfer: `host`, or between devices."""
    fields = view.fields("channel_handle")
    pairs = view.integers("source_target_pairs", ())
    if len(pairs) % 2:
        view.refuse(f"needs pairs as source_target_pairs, got {list(pairs)}")
    needed = host if view.truth("is_host_transfer", False) else "DEVICE_TO_DEVICE"
    number = fields.get("type")
    got = _CHANNELS.get(number, "none") if type(number) is int else "none"
    if got != needed:
        view.refuse(f"needs a channel of type {needed}, got {got}")
