"""Arguments as constants: a module that takes nothing and has its numbers in its text."""

from __future__ import annotations

from topos.judge.reproduction.chains import Part
from topos.stablehlo.dense import dense_of
from topos.stablehlo.ir import Block, Operation, Region, Tensor


def with_constants(part: Part) -> Part:
    """Returns a part whose arguments are constants of its @main."""
    main = part.module.function()
    assert main.body is not None  # The oracle ran it.
    (block,) = main.body.blocks
    constants = [
        Operation(
            "stablehlo.constant", (each.name,), (), {"value": dense_of(array, each.type.element)},
            (), (), (each.type,), 0, 0,
        )
        for each, array in zip(block.arguments, part.arguments, strict=True)
        if isinstance(each.type, Tensor)
    ]  # fmt: skip
    body = Region((Block((), (*constants, *block.operations)),))
    changed = main._replace(arguments=(), body=body)
    functions = tuple([changed if each is main else each for each in part.module.functions])
    return Part(part.module._replace(functions=functions), ())
