"""The parser in several threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from topos.stablehlo.parser import parse


def test_threads_that_parse_first_share_one_parser() -> None:
    # Python 3.11 fails where two of them build it at once.
    parse._parser.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(parse.parse, ["module {}"] * 4))
    assert parse._parser.cache_info().misses == 1
