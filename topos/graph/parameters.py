"""Parameters: the weights of a network, owned by the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from topos.errors import FeedError, SymbolError
from topos.graph.columns import Columns
from topos.graph.field import Field, demand_type
from topos.graph.symbol import Symbol
from topos.payload.kernels.clean import has_nan
from topos.reading import Tensor

if TYPE_CHECKING:
    from topos.graph.network import Network


class Parameters(Field):
    """One payload a parameter of a network: an immutable state that each step replaces.

    Payloads are held in row-major order, as every run reads them.
    """

    __slots__ = ("_clean",)

    def __init__(self, columns: Columns, payloads: Mapping[int, Tensor]) -> None:
        super().__init__(columns, {index: own.row_major() for index, own in payloads.items()})
        self._clean: frozenset[int] | None = None

    def without_nan(self) -> frozenset[int]:
        """Returns the positions of the payloads that hold no NaN, which are looked at once."""
        if self._clean is None:
            payloads = self._payloads.items()
            self._clean = frozenset(at for at, own in payloads if not has_nan(own.numpy()))
        return self._clean

    def step(self, gradients: Field, rule: Callable[[Tensor, Tensor], Tensor]) -> Parameters:
        """Returns the state in which each payload is `rule(payload, gradient)`."""
        return self.step_each(gradients, lambda _, payload, gradient: rule(payload, gradient))

    def step_each(
        self, gradients: Field, rule: Callable[[Symbol, Tensor, Tensor], Tensor]
    ) -> Parameters:
        """Returns the state in which each payload is `rule(symbol, payload, gradient)`.

        Raises `FeedError` where a rule changes a payload's shape or element.
        """
        if not isinstance(gradients, Field):
            raise FeedError(f"a step needs gradients, then a rule, got {type(gradients).__name__}")
        stepped = {}
        for symbol, payload in self.items():
            gradient = gradients._partner(self, symbol.position)
            stepped[symbol.position] = rule(symbol, payload, gradient)
            demand_type(self._columns, symbol.position, stepped[symbol.position])
        return self._with(stepped)

    def carried(self, network: Network) -> Parameters:
        """Returns this state for a network that grew from this one; new parameters are initial."""
        if network.columns.origin != self._columns.origin:
            raise SymbolError("parameters carry only to a network of the same recording")
        return network.parameters(dict(self.items()))
