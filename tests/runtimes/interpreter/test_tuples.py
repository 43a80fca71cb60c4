"""Tuples and tokens, and the operations that exchange values with another process."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtimes.interpreter.conftest import Run
from topos.errors import UnsupportedError

PAIR = "tuple<tensor<2xi8>, tuple<tensor<2xi8>>>"


def test_parts_of_nested_tuples(run: Run) -> None:
    body = f"""
      %n = stablehlo.negate %a : tensor<2xi8>
      %t = stablehlo.tuple %n : tuple<tensor<2xi8>>
      %p = stablehlo.tuple %a, %t : {PAIR}
      %u = stablehlo.get_tuple_element %p[1] : ({PAIR}) -> tuple<tensor<2xi8>>
      %v = stablehlo.get_tuple_element %u[0] : (tuple<tensor<2xi8>>) -> tensor<2xi8>
      %w = stablehlo.get_tuple_element %p[0] : ({PAIR}) -> tensor<2xi8>
      %d = stablehlo.add %w, %w : tensor<2xi8>
      %r = stablehlo.add %v, %d : tensor<2xi8>"""
    assert run(body, "tensor<2xi8>", np.array([3, 4], np.int8)).tolist() == [3, 4]


def test_tokens_order_nothing_here(run: Run) -> None:
    body = """
      %t = stablehlo.create_token : !stablehlo.token
      %u = stablehlo.after_all %t, %t : !stablehlo.token
      %v = stablehlo.after_all : !stablehlo.token
      %w = stablehlo.tuple %a, %u : TYPE
      %r = stablehlo.get_tuple_element %w[0] : (TYPE) -> tensor<i8>"""
    body = body.replace("TYPE", "tuple<tensor<i8>, !stablehlo.token>")
    assert run(body, "tensor<i8>", np.int8(5)) == 5


CHANNEL = (
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true"
)
FOREIGN = (
    '%x, %u = "stablehlo.infeed"(%t) {infeed_config = ""}'
    " : (!stablehlo.token) -> (tensor<i8>, !stablehlo.token)",
    '%u = "stablehlo.outfeed"(%a, %t) {outfeed_config = ""}'
    " : (tensor<i8>, !stablehlo.token) -> !stablehlo.token",
    f'%x, %u = "stablehlo.recv"(%t) {{{CHANNEL.replace("2", "3")}}}'
    " : (!stablehlo.token) -> (tensor<i8>, !stablehlo.token)",
    f'%u = "stablehlo.send"(%a, %t) {{{CHANNEL}}}'
    " : (tensor<i8>, !stablehlo.token) -> !stablehlo.token",
)


@pytest.mark.parametrize("line", FOREIGN, ids=[line.split('"')[1] for line in FOREIGN])
def test_nothing_outside_is_there_to_talk_to(run: Run, line: str) -> None:
    name = line.split('"')[1]
    body = f"""
      %t = stablehlo.create_token : !stablehlo.token
      {line}
      %r = stablehlo.negate %a : tensor<i8>"""
    with pytest.raises(UnsupportedError, match=f"{name} exchanges values with another process"):
        run(body, "tensor<i8>", np.int8(5))
