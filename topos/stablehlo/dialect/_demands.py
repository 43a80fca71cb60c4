"""What several families ask of the operands and attributes of an operation."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from topos.stablehlo.elements import ANY
from topos.stablehlo.ir import Tensor, Type
from topos.stablehlo.opview import OpView
from topos.stablehlo.shapes import TensorType, ranked, tensor
from topos.stablehlo.typed_attributes import Choice

__all__ = [
    "Spoken",
    "ascending",
    "axes_below",
    "below",
    "counted",
    "demand_one_element",
    "distinct",
    "filled",
    "holding",
]


class Spoken(Choice):
    """A choice that may stand without its opening; `what` is how a refusal calls it."""

    def __init__(
        self, what: str, opening: str, words: Collection[str], *, default: str | None = None
    ) -> None:
        super().__init__(opening, words, default=default)
        self._what = what

    def read(self, view: OpView) -> str:
        """Returns the word."""
        value = view.word(self.key, self._default)
        if value not in self.words:
            view.refuse(f"needs {self._what} of {' '.join(self.words)}, got {value}")
        return value


def filled(view: OpView, type: Type, what: str, elements: frozenset[str] = ANY) -> TensorType:
    """Returns `type` where it is a tensor of such elements, ranked or not."""
    taken = tensor(view, type, what)
    if taken.element not in elements:
        view.refuse(f"takes no elements of {taken.element} as {what}")
    return taken


def holding(view: OpView, type: Type, what: str, elements: frozenset[str] = ANY) -> Tensor:
    """Returns `type` where it is a ranked tensor of such elements."""
    taken = ranked(view, type, what)
    if taken.element not in elements:
        view.refuse(f"takes no elements of {taken.element} as {what}")
    return taken


def demand_one_element(view: OpView, taken: Sequence[TensorType]) -> None:
    """Refuses tensors of several elements."""
    if len({type.element for type in taken}) > 1:
        view.refuse(f"needs operands of one element, got {', '.join(map(str, taken))}")


def below(view: OpView, key: str, value: int, rank: int) -> int:
    """Returns `value`, that of the attribute `key`, where it is an axis of a value of `rank`."""
    if value >= rank:
        view.refuse(f"needs {key} below {rank}, got {value}")
    return value


def counted(view: OpView, key: str, values: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Returns `values`, those of the attribute `key`, where there are `count` of them."""
    if len(values) != count:
        view.refuse(f"needs {count} numbers as {key}, got {list(values)}")
    return values


def axes_below(view: OpView, axes: Sequence[int], rank: int, what: str) -> None:
    """Refuses unless each of `axes` is one of a value of `rank`."""
    for axis in axes:
        if not 0 <= axis < rank:
            view.refuse(f"needs {what} from 0 to below {rank}, got {axis}")


def distinct(view: OpView, axes: Sequence[int], what: str) -> None:
    """Refuses where an axis is there twice."""
    if len(set(axes)) != len(axes):
        view.refuse(f"needs distinct {what}, got {list(axes)}")


def ascending(view: OpView, axes: Sequence[int], what: str) -> None:
    """Refuses unless `axes` are in ascending order; equal ones may follow each other."""
    if list(axes) != sorted(axes):
        view.refuse(f"needs ascending {what}, got {list(axes)}")
