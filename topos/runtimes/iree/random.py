"""Philox on IREE, written out: its own loses the carry into a count's high half."""

from __future__ import annotations

import math
from typing import Final

from topos.errors import UnsupportedError
from topos.runtimes._mlir import Binding
from topos.runtimes._rewriting import Writer
from topos.runtimes.iree.site import Site

MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
WEYL: Final = (0x9E3779B9, 0xBB67AE85)
ROUNDS: Final = 10
WORD: Final = {"8": "ui8", "16": "ui16", "32": "ui32", "64": "ui64"}
UNSIGNED: Final = "#stablehlo<comparison_type UNSIGNED>"


def random_bits(site: Site) -> list[Binding] | None:
    """Returns Philox-4x32 of 10 rounds, as Salmon and others define it (2011)."""
    if "THREE_FRY" in str(site.operation.attributes["rng_algorithm"]):
        return None
    state, bits = (each.type for each in site.results)
    element = str(bits.element_type)
    size = "".join(letter for letter in element[-2:] if letter.isdigit())
    if str(state) not in ("tensor<2xui64>", "tensor<3xui64>") or size not in WORD:
        raise UnsupportedError(
            f"iree takes Philox of 2 or 3 words of ui64 and elements of 8 bits or more,"
            f" got {state} and {element}"
        )
    count = math.prod(bits.shape)
    if not count:
        return None
    write, taken = site.write, count * (2 if size == "64" else 1)
    blocks = -(-taken // 4)
    after, key, counts = _counted(write, site.operands[0], blocks)
    words = _rounds(write, key, counts)
    columns = [write("reshape", each, to=write.type([blocks, 1], "ui32")) for each in words]
    four = write("concatenate", *columns, to=write.type([blocks, 4], "ui32"), dimension=1)
    line = write("reshape", four, to=write.type([4 * blocks], "ui32"))
    cut = write.slice(line, [0], [taken])
    flat = _joined(write, cut) if size == "64" else write.convert(cut, WORD[size])
    return [
        after,
        write(
            "bitcast_convert",
            write("reshape", flat, to=write.type(bits.shape, WORD[size])),
            to=bits,
        ),
    ]


def _counted(
    write: Writer, state: Binding, blocks: int
) -> tuple[Binding, list[Binding], list[Binding]]:
    """Returns the state after so many blocks, the halves of the key, and those of the counts.

    The counts have 128 bits. A state of two words has its key for their high half.
    """
    scalar, line = write.type([], "ui64"), write.type([blocks], "ui64")
    (extent,) = state.type.shape
    words = [write.slice(state, [place], [place + 1]) for place in range(extent)]
    key, low, *rest = (write("reshape", word, to=scalar) for word in words)
    high = rest[0] if rest else key
    lows, highs = (write.broadcast(each, [], line) for each in (low, high))
    lower = write("add", lows, write("iota", to=line, iota_dimension=0))
    higher = write("add", highs, _carry(write, lower, lows))
    ended = write("add", low, write.constant(blocks, scalar))
    after = [key, ended, write("add", high, _carry(write, ended, low))][:extent]
    ones = [write("reshape", each, to=words[0].type) for each in after]
    halves = [
        write.broadcast(each, [], write.type([blocks], "ui32")) for each in _halved(write, key)
    ]
    following = write("concatenate", *ones, to=state.type, dimension=0)
    return following, halves, [*_halved(write, lower), *_halved(write, higher)]


def _carry(write: Writer, total: Binding, part: Binding) -> Binding:
    """Returns one where a sum of unsigned numbers has wrapped around."""
    return write.convert(write.compare(total, "LT", part, compare_type=UNSIGNED), "ui64")


def _halved(write: Writer, words: Binding) -> list[Binding]:
    """Returns the low and the high 32 bits of words."""
    upper = write("shift_right_logical", words, write.constant(32, words.type))
    return [write.convert(each, "ui32") for each in (words, upper)]


def _rounds(write: Writer, key: list[Binding], counts: list[Binding]) -> list[Binding]:
    """Returns the four words of each block."""
    wide, narrow = (write.type(key[0].type.shape, each) for each in ("ui64", "ui32"))
    multipliers = [write.constant(each, wide) for each in MULTIPLIERS]
    steps = [write.constant(each, narrow) for each in WEYL]
    for _ in range(ROUNDS):
        products = [
            write("multiply", write.convert(counts[place], "ui64"), multiplier)
            for place, multiplier in zip((0, 2), multipliers, strict=True)
        ]
        (first, first_high), (second, second_high) = (_halved(write, each) for each in products)
        mixed = [write("xor", second_high, counts[1]), write("xor", first_high, counts[3])]
        x, z = (write("xor", each, part) for each, part in zip(mixed, key, strict=True))
        counts = [x, second, z, first]
        key = [write("add", part, step) for part, step in zip(key, steps, strict=True)]
    return counts


def _joined(write: Writer, words: Binding) -> Binding:
    """Returns the words of 64 bits whose halves stand side by side, the low one first."""
    count = words.type.shape[0] // 2
    pairs = write("reshape", words, to=write.type([count, 2], "ui32"))
    halves = [write.slice(pairs, [0, place], [count, place + 1]) for place in (0, 1)]
    low, high = (
        write.convert(write("reshape", each, to=write.type([count], "ui32")), "ui64")
        for each in halves
    )
    upper = write("shift_left", high, write.constant(32, high.type))
    return write("or", low, upper)
