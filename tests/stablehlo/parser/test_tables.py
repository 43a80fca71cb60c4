"""The kept tables of the parser are those of its grammar."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files

from topos.stablehlo.parser.parse import kept, parser_of


def test_the_tables_are_kept_for_the_grammar_as_it_is() -> None:
    folder = files("topos.stablehlo.parser")
    grammar = folder.joinpath("grammar.lark").read_text(encoding="utf-8")
    line = folder.joinpath("grammar.tables").read_bytes().split(b"\n", 1)[0].decode()
    # Another release of lark computes tables of its own.
    assert line.split()[-1] == sha256(grammar.encode()).hexdigest(), "run tools/grammar.py"


def test_tables_of_another_grammar_are_not_used() -> None:
    tables = kept('start: "b"')
    assert parser_of('start: "b"', tables).parse("b").data == "start"
    assert parser_of('start: "a"', tables).parse("a").data == "start"
