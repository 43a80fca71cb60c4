"""Operations written into a parsed module, in front of one that stands there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from topos.errors import UnsupportedError
from topos.runtimes._mlir import DTYPES, Binding

__all__ = ["Writer"]


class Writer:
    """Writes StableHLO before or after one operation, with its location."""

    def __init__(self, ir: Binding, operation: Binding, after: bool = False) -> None:
        self._ir = ir
        place = ir.InsertionPoint.after if after else ir.InsertionPoint
        self._point, self._location = place(operation), operation.location

    def tensor(self, shape: Sequence[int], element: Binding) -> Binding:
        """Returns the type of a tensor."""
        return self._ir.RankedTensorType.get(shape, element, loc=self._location)

    def write(
        self, name: str, type: Binding, operands: Sequence[Binding], **attributes: Any
    ) -> Binding:
        """Returns the one result of an operation of StableHLO."""
        made = self._ir.Operation.create(
            f"stablehlo.{name}",
            results=[type],
            operands=list(operands),
            attributes={key: self._attribute(value) for key, value in attributes.items()},
            loc=self._location,
            ip=self._point,
        )
        return made.results[0]

    def zero(self, element: Binding) -> Binding:
        """Returns a scalar zero; raises `UnsupportedError` for an element that has none."""
        text = str(element)
        spelled = "(0.0, 0.0)" if text.startswith("complex") else "0.0"
        if isinstance(element, self._ir.IntegerType):
            spelled = "false" if text == "i1" else "0"
        try:
            value = self._ir.Attribute.parse(f"dense<{spelled}> : tensor<{text}>")
        except self._ir.MLIRError:
            raise UnsupportedError(f"iree takes no scatter of elements {text}") from None
        return self.write("constant", self.tensor((), element), (), value=value)

    def along(self, values: Sequence[int], type: Binding, axis: int) -> Binding:
        """Returns integers of the tensor `type`, `values` along `axis`.

        Where `axis` is none of its own, there is one value for all of them.
        """
        element, shape = type.element_type, () if axis == type.rank else (len(values),)
        array = np.array(values, DTYPES[str(element)]).reshape(shape)
        elements = self._ir.DenseElementsAttr.get(array, type=element, shape=list(shape))
        constant = self.write("constant", self.tensor(shape, element), (), value=elements)
        axes = () if axis == type.rank else (axis,)
        return self.write("broadcast_in_dim", type, [constant], broadcast_dimensions=axes)

    def converted(self, value: Binding, element: Binding) -> Binding:
        """Returns `value` in `element`."""
        if value.type.element_type == element:
            return value
        return self.write("convert", self.tensor(value.type.shape, element), [value])

    def compared(self, direction: str, left: Binding, right: Binding) -> Binding:
        """Returns the truth values of a comparison of signed integers."""
        truth = self.tensor(left.type.shape, self._ir.IntegerType.get_signless(1))
        spelled = f"#stablehlo<comparison_direction {direction}>"
        return self.write(
            "compare",
            truth,
            [left, right],
            comparison_direction=self._ir.Attribute.parse(spelled),
        )

    def _attribute(self, value: Any) -> Binding:
        return self._ir.DenseI64ArrayAttr.get(value) if isinstance(value, tuple) else value
