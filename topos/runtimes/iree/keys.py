"""Integers in the order of a tensor's elements, and the first elements of that order."""

from __future__ import annotations

from typing import Final

from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer
from topos.runtimes.iree.site import Site

# By the element, the signed integer that is in its order.
KEYS: Final = {
    **{"bf16": "i16", "f16": "i16", "f32": "i32", "f64": "i64"},
    **dict.fromkeys(("i1", "i8", "i16", "i32", "ui8", "ui16"), "i32"),
    **dict.fromkeys(("i64", "ui32", "ui64"), "i64"),
}
FLOATS: Final = frozenset({"bf16", "f16", "f32", "f64"})
# Elements with more integers than an f64 holds.
WIDE: Final = frozenset({"f64", "i64", "ui64"})
# On a top_k whose elements are such integers already.
MARK: Final = "topos.keys"


def chosen(site: Site, elements: Binding, count: int, largest: bool) -> tuple[Binding, Binding]:
    """Returns the `count` largest or smallest elements along the last axis, and their places.

    Of equal elements the first in place comes first. Elements of up to 32 bits are chosen by
    IREE's own top_k as integers in f64, for it passes over NaN and keeps ties of floats alone.
    Others are sorted, which takes longer.
    """
    element = str(elements.type.element_type)
    keys = _flipped(site.write, _keyed(site.write, elements), largest)
    choose = _sorted if element in WIDE else _own
    first, places = choose(site, keys, count)
    return _restored(site.write, _flipped(site.write, first, largest), element), places


def _own(site: Site, keys: Binding, count: int) -> tuple[Binding, Binding]:
    write, kept = site.write, (*keys.type.shape[:-1], count)
    types = [write.type(kept, "f64"), write.type(kept, "i32")]
    best, places = write.add(
        "chlo.top_k", [write.convert(keys, "f64")], types, {"k": count, MARK: "unit"}
    ).results
    return write.convert(best, str(keys.type.element_type)), places


def _sorted(site: Site, keys: Binding, count: int) -> tuple[Binding, Binding]:
    write, shape, axis = site.write, keys.type.shape, keys.type.rank - 1
    places = write("iota", to=write.type(shape, "i32"), iota_dimension=axis)
    given, attributes = [keys, places], {"dimension": axis, "is_stable": "true"}
    sort = write.add("sort", given, [each.type for each in given], attributes, regions=1)
    scalars = [write.type([], each.type.element_type) for each in given for _ in range(2)]
    (first, second, *_), inner = write.body(sort, *scalars)
    inner.add("return", [inner.compare(first, "GT", second)], [])
    limits = (*shape[:-1], count)
    best, where = (write.slice(each, [0] * len(shape), limits) for each in sort.results)
    return best, where


def _keyed(write: Writer, elements: Binding) -> Binding:
    """Returns the integers of elements; floats are in their total order."""
    element = str(elements.type.element_type)
    cast = write.bits if _is_cast(element) else write.convert
    return _ordered(write, cast(elements, KEYS[element]), element)


def _restored(write: Writer, keys: Binding, element: str) -> Binding:
    """Returns the elements of integers: each step of `_keyed` undoes itself."""
    cast = write.bits if _is_cast(element) else write.convert
    return cast(_ordered(write, keys, element), element)


def _is_cast(element: str) -> bool:
    return element in FLOATS or element == "ui64"


def _flipped(write: Writer, keys: Binding, largest: bool) -> Binding:
    """Returns integers, in the opposite order if not `largest`."""
    return keys if largest else _exclusive(write, keys, -1)


def _ordered(write: Writer, keys: Binding, element: str) -> Binding:
    """Returns integers in their order for bits, and bits for such integers."""
    if element in FLOATS:
        mirrored = _exclusive(write, keys, 2 ** (int(KEYS[element][1:]) - 1) - 1)
        is_negative = write.compare(keys, "LT", write.zero(keys.type))
        return write.select(is_negative, mirrored, keys)
    # The middle of the unsigned numbers becomes zero.
    return _exclusive(write, keys, -(2**63)) if element == "ui64" else keys


def _exclusive(write: Writer, keys: Binding, mask: int) -> Binding:
    return write("xor", keys, write.constant(mask, keys.type))
