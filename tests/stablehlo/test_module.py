"""A module as data: walked, rewritten, cut into slices, printed in either form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topos import runtimes
from topos.errors import ArgumentError, SymbolError, VerifyError
from topos.stablehlo import Module, Operation, Tensor, parse

TEXT = """
module @steps {
  func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<i32>) {
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1:2 = "stablehlo.while"(%0, %n) ({
    ^bb0(%a: tensor<4xf32>, %i: tensor<i32>):
      %c = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }, {
    ^bb0(%a: tensor<4xf32>, %i: tensor<i32>):
      %b = func.call @grown(%a) : (tensor<4xf32>) -> tensor<4xf32>
      %j = stablehlo.add %i, %i : tensor<i32>
      stablehlo.return %b, %j : tensor<4xf32>, tensor<i32>
    }) : (tensor<4xf32>, tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
    %2 = stablehlo.add %1#0, %x : tensor<4xf32>
    return %2, %1#1 : tensor<4xf32>, tensor<i32>
  }
  func.func private @grown(%y: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %y, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @unused(%y: tensor<4xf32>) -> tensor<4xf32> {
    return %y : tensor<4xf32>
  }
}
"""
X, N = np.arange(4, dtype=np.float32), np.int32(1)


def run(module: Module, *arguments: Any) -> list[np.ndarray]:
    return list(runtimes.load("interpreter").compile(str(module))(*arguments))


@pytest.fixture(scope="module")
def module() -> Module:
    return parse(TEXT).verify()


def test_a_walk_yields_regions_behind_their_operation(module: Module) -> None:
    names = [operation.name.rpartition(".")[2] for operation in module.walk()]
    main = ["negate", "while", "constant", "compare", "return", "call", "add", "return", "add"]
    assert names == [*main, "return", "add", "return", "return"]


def test_both_forms_of_the_text_read_back_as_the_same_tree(module: Module) -> None:
    generic = module.text(generic=True)
    assert '"stablehlo.negate"' in generic
    assert '"stablehlo.negate"' not in str(module)
    assert str(parse(generic)) == str(module) == str(parse(str(module)))


def test_a_slice_computes_what_the_module_does(module: Module) -> None:
    whole, count = run(module, X, N)
    part = module.slice(["%2"]).verify()
    assert [function.name for function in part.functions] == ["main", "grown"]
    assert np.array_equal(run(part, X, N)[0], whole)
    (_, looped) = module.slice(["%0", "%1#0"], inputs=["%0"]).verify(), module.slice(["%1#1"])
    assert np.array_equal(run(looped.verify(), X, N)[0], count)


def test_a_slice_starts_at_the_values_that_it_is_given(module: Module) -> None:
    part = module.slice(["%2"], inputs=["%1#0"]).verify()
    assert [argument.name for argument in part.function().arguments] == ["%v1_0", "%x"]
    assert np.array_equal(run(part, X, X)[0], X + X)


def test_a_slice_of_a_helper_function_is_a_main(module: Module) -> None:
    assert np.array_equal(run(module.slice(["%0"], function="grown"), X)[0], X + X)


def test_a_slice_names_what_it_does_not_find(module: Module) -> None:
    with pytest.raises(SymbolError, match=r"@main defines no value %c outside of regions"):
        module.slice(["%c"])
    with pytest.raises(SymbolError, match=r"no function @other; its functions: @main, @grown"):
        module.slice(["%0"], function="other")


def test_replacing_reaches_into_regions_and_leaves_the_rest(module: Module) -> None:
    def doubled(operation: Operation) -> list[Operation] | None:
        if operation.name != "stablehlo.add" or operation.operands != ("%i", "%i"):
            return None
        again = operation._replace(results=(fresh("%i"),))
        return [again, operation._replace(operands=(*again.results, "%i"))]

    fresh = module.fresh_names()
    changed = module.replace(doubled).verify()
    assert sum(1 for _ in changed.walk()) == sum(1 for _ in module.walk()) + 1
    assert run(changed, X, N)[1] == 3
    assert module.replace(lambda operation: None) == module


def test_a_rewrite_may_give_attributes_as_python_values() -> None:
    text = """func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
      %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
      return %0 : tensor<3x2xf32>
    }"""
    module = parse(text)
    plain = module.replace(
        lambda each: each._replace(attributes={"permutation": [1, 0]}) if each.results else None
    )
    assert str(plain) == str(module)
    with pytest.raises(ArgumentError, match="an operation or a list of them, got str"):
        module.replace(lambda each: "text")  # type: ignore[arg-type, return-value]


def test_verification_tells_the_place(module: Module) -> None:
    broken = module.replace(
        lambda each: each._replace(operands=("%x", "%n")) if each.results == ("%2",) else None
    )
    with pytest.raises(
        VerifyError, match=r"line 16, column 10: stablehlo.add needs operands of one element"
    ):
        broken.verify()


def test_a_module_is_made_static_for_types_texts_or_arrays() -> None:
    text = """func.func @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
      %0 = stablehlo.negate %x : tensor<?x3xf32>
      return %0 : tensor<?x3xf32>
    }"""
    open_cost = parse(text).cost()
    assert (open_cost.total.flops, open_cost.open_runs) == (0, 1)
    static_cost = parse(text).specialize(["tensor<2x3xf32>"]).cost()
    assert (static_cost.total.flops, static_cost.open_runs) == (6, 0)
    for given in (Tensor((2, 3), "f32"), "tensor<2x3xf32>", np.ones((2, 3), np.float32)):
        static = parse(text).specialize([given])
        assert "?" not in str(static)
        assert static.function().results[0].type == Tensor((2, 3), "f32")
    with pytest.raises(ArgumentError, match=r"argument 0 must be tensor<.x3xf32>, got tensor<2x4"):
        parse(text).specialize(["tensor<2x4xf32>"])


def test_a_function_of_several_blocks_has_no_slice() -> None:
    text = """func.func @main() {
    ^bb0:
      "cf.br"()[^bb1] : () -> ()
    ^bb1:
      return
    }"""
    with pytest.raises(ArgumentError, match=r"@main has no single block"):
        parse(text).slice([])
