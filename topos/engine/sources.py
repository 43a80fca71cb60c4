"""Sources of a run: constants, parameters and feeds, checked before anything executes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from topos.errors import FeedError, SymbolError, ToposError
from topos.graph import Columns, Network
from topos.graph.field import Parameters, demand_type, told
from topos.graph.network import Feeds
from topos.op import Array, Input, Leaf, Source
from topos.payload import TensorType
from topos.payload.storage import stored
from topos.reading import Tensor

_STATES = (Parameters, type(None))


def source_payloads(
    network: Network,
    order: Iterable[int],
    parameters: Parameters | None,
    feeds: Feeds | None,
    *,
    copy: bool,
) -> dict[int, Array]:
    """Returns the array of every source among the nodes of `order`.

    Raises `FeedError` where a feed or a parameter does not fit or a needed one is missing, and
    `SymbolError` where one belongs elsewhere. With `copy`, later writes to a fed array are safe.
    """
    columns = network.columns
    if not isinstance(parameters, _STATES):
        kind = type(parameters).__name__
        raise FeedError(f"a run needs Parameters before its feeds, got {kind}")
    if parameters is not None and parameters._columns.origin != columns.origin:
        raise SymbolError("the parameters belong to another recording")
    fed = {} if feeds is None else _fed_arrays(network, feeds, copy=copy)
    payloads = {}
    operands, forms = columns.operands, columns.forms
    for index in order:
        if operands[index]:
            continue
        source = forms[index].operation
        assert isinstance(source, Source)
        if isinstance(source, Input):
            array = fed.get(index, source.payload)
            if array is None:
                raise FeedError(f"{columns.title(index)} needs a feed of {source.type}, got none")
            payloads[index] = array
        elif isinstance(source, Leaf) or parameters is None:
            # A constant, or the initial state, which is recorded with the parameter.
            if source.payload is None:
                title = columns.title(index)
                raise FeedError(f"{title} was recorded by its shape alone: bring parameters")
            payloads[index] = source.payload
        else:
            payloads[index] = _parameter(columns, index, parameters)
    return payloads


def _fed_arrays(network: Network, feeds: Feeds, *, copy: bool) -> dict[int, Array]:
    """Returns the feeds by position, each checked against its input."""
    columns, fed = network.columns, {}
    if not isinstance(feeds, Mapping):
        labels = [columns.labels.get(symbol.position, "x") for symbol in network.inputs()]
        example = f"{{{labels[0]!r}: ...}}" if labels else "{}"
        raise FeedError(f"feeds map inputs to payloads, as {example}, got {type(feeds).__name__}")
    for reference, payload in feeds.items():
        index = columns.resolve(reference, network.length)
        if not isinstance(columns.forms[index].operation, Input):
            raise FeedError(f"{columns.title(index)} is not an input and cannot be fed")
        if index in fed:
            raise FeedError(f"{columns.title(index)} is fed twice, by name and by symbol")
        fed[index] = _fitted(columns, index, payload, copy)
    return fed


def _parameter(columns: Columns, index: int, state: Parameters) -> Array:
    """Returns the payload of the parameter at `index` in `state`."""
    payload = state._payloads.get(index)
    if payload is None:
        raise FeedError(
            f"{columns.title(index)} has no payload: carry the parameters to this network"
        )
    demand_type(columns, index, payload)
    return payload.numpy()


def _fitted(columns: Columns, index: int, payload: Any, copy: bool) -> Array:
    wanted = columns.forms[index].type
    # A payload without a dtype must not meet None, which numpy takes for f64.
    fits = getattr(payload, "dtype", object()) == wanted.element.dtype
    if isinstance(payload, Tensor):
        got, array = payload.type, payload.numpy()
    elif fits and not copy:
        # A subclass, such as a masked array, would bring arithmetic of its own.
        tensor = Tensor.wrap(payload, wanted.element)
        got, array = tensor.type, tensor.numpy()
    else:
        # The dtype of an element of the user's own does not tell which element it stores.
        known = wanted.element if fits else None
        try:
            array, element = stored(payload, wanted.element, known)
        except ToposError as error:
            raise FeedError(f"{columns.title(index)} needs {wanted}: {error}") from None
        got = TensorType(array.shape, element)
    if got != wanted:
        raise FeedError(f"{columns.title(index)} needs {wanted}, got {told(got, wanted)}")
    return array
