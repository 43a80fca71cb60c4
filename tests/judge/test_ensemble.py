"""Samples: noise where a runtime may round, none where every runtime is exact."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from topos import judge, runtimes
from topos.errors import UnsupportedError
from topos.judge import Ensemble, Freedom, Verdict, judged
from topos.runtimes._inputs import random_array
from topos.stablehlo import Module, parse

Array = npt.NDArray[Any]
SOUND = ("", "equal", "rounding", "decision within rounding")
GALLERY = sorted((Path(__file__).parents[1] / "gallery").glob("*.mlir"))
LOOP = """
func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %n = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.3> : tensor<f32>
  %end = stablehlo.constant dense<0.0999999> : tensor<f32>
  %r:2 = stablehlo.while(%v = %x, %i = %n) : tensor<f32>, tensor<i32>
    cond {
      %go = stablehlo.compare GT, %v, %end : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %w = stablehlo.multiply %v, %half : tensor<f32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %w, %j : tensor<f32>, tensor<i32>
    }
  return %r#0, %r#1 : tensor<f32>, tensor<i32>
}
"""


# Ends at once for the oracle, whose two sines are alike, and for no sample.
DIFFERENCE = """
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.sine %x : tensor<f32>
  %1 = stablehlo.sine %x : tensor<f32>
  %start = stablehlo.subtract %0, %1 : tensor<f32>
  %r = stablehlo.while(%v = %start) : tensor<f32>
    cond {
      %go = stablehlo.compare NE, %v, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      stablehlo.return %v : tensor<f32>
    }
  %2 = stablehlo.add %r, %0 : tensor<f32>
  return %2 : tensor<f32>
}
"""


def samples(text: str, *arguments: Any, **options: Any) -> Sequence[Array]:
    return Ensemble(parse(text).verify()).run(arguments, **options).results


def unary(name: str, element: str, count: int = 4) -> str:
    type = f"tensor<{count}x{element}>"
    return f"func.func @main(%a: {type}) -> {type} {{ %0 = {name} %a : {type} return %0 : {type} }}"


def test_a_run_as_noisy_as_a_runtime_may_be_is_not_wrong_for_any_operation() -> None:
    judgements: dict[str, list[str]] = {}
    for path in GALLERY:
        module = parse(path.read_text()).verify()
        generator = np.random.default_rng(0)
        try:
            oracle = runtimes.load("interpreter").compile(module, numerics="exact")
            arguments = [random_array(generator, type) for type in oracle.signature.arguments]
            expected = oracle(*arguments)
        except UnsupportedError:
            continue
        found = Ensemble(module.specialize(arguments)).run(arguments, samples=17)
        judgements[path.stem] = [
            str(max(map(Verdict, judged(ours, theirs[0], theirs[1:]).verdicts.flat), default=""))
            for ours, theirs in zip(expected, found.results, strict=True)
        ]
    assert len(judgements) > 80
    assert {name: told for name, told in judgements.items() if not {*told} <= {*SOUND}} == {}


def test_the_same_seed_gives_the_same_samples() -> None:
    text, argument = unary("stablehlo.tanh", "f32"), np.linspace(-1, 2, 4, dtype=np.float32)
    first, again, other = (samples(text, argument, seed=seed)[0] for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_a_map_has_noise_of_its_units_and_exact_sums_have_none() -> None:
    argument = np.array([1, 2, 3, 4], np.float32)
    (found,) = samples(unary("stablehlo.exponential", "f32"), argument, samples=64)
    units = np.abs(found - np.exp(argument)) / (np.exp(argument) * 2**-23)
    assert 2.5 < units.max() < 5.5
    doubled = unary("stablehlo.add %a,", "f32")
    (found,) = samples(doubled, argument)
    assert (found == argument * 2).all()
    (found,) = samples(doubled.replace("f32", "f64"), argument.astype(np.float64) + 2**-40)
    assert (found == found[0]).all()


def test_terms_that_cancel_leave_the_noise_of_their_size() -> None:
    text = """
func.func @main(%a: tensor<2xf32>, %start: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%a init: %start) applies stablehlo.add across dimensions = [0]
      : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
"""
    for size in (1.5, 1.5e10):
        terms = np.array([size, -size], np.float32)
        (found,) = samples(text, terms, np.float32(1.1e-10), samples=64)
        assert 0.2 < found.std() / (size * 2**-23) < 1


def test_each_sample_loops_as_often_as_its_own_numbers_say() -> None:
    value = np.float32(0.0999999 / 0.3 / 0.3)
    found, turns = samples(LOOP, value, samples=32)
    assert set(turns.tolist()) == {2, 3}
    assert (found[turns == 2] > 0.09).all()
    assert (found[turns == 3] < 0.04).all()


def test_freedoms_flush_saturate_and_convert_in_other_ways() -> None:
    tiny = np.array([1e-40, 1, -1e-40, 0], np.float32)
    negate = parse(unary("stablehlo.negate", "f32")).verify()
    plain = Ensemble(negate).run([tiny])
    ranged = Ensemble(negate).run([tiny], samples=16, freedom=Freedom.RANGE)
    assert (plain.freed, ranged.freed > 0) == (0, True)
    assert (plain.results[0] == -tiny).all()
    assert set((ranged.results[0][:, 0] == 0).tolist()) == {True, False}
    assert (ranged.results[0][:, 1] == -1).all()
    large = np.array([400, 1, -400, 2], np.float32)
    (kept,) = samples(
        unary("stablehlo.exponential", "f32"), large, samples=16, freedom=Freedom.RANGE
    )
    assert set(np.isinf(kept[:, 0]).tolist()) == {True, False}
    convert = parse(
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xi32> { %0 = stablehlo.convert %a :"
        " (tensor<4xf32>) -> tensor<4xi32> return %0 : tensor<4xi32> }"
    ).verify()
    beyond = np.array([3e9, np.nan, 7.9, -7.9], np.float32)
    found = Ensemble(convert).run([beyond], freedom=Freedom.OPEN)
    (opened,) = found.results
    assert found.freed == 2
    assert {-(2**31), 2**31 - 1, 0, 3_000_000_000 - 2**32} <= set(opened[:, 0].tolist())
    assert (opened[:, 2:] == [7, -7]).all()


ONE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.{name} %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}}
"""


def samples_of(name: str, numbers: Sequence[float], freedom: Freedom = Freedom.NONE) -> Array:
    argument = np.array(numbers, np.float32)
    ensemble = Ensemble(parse(ONE.format(name=name)).verify())
    return ensemble.run([argument], samples=16, freedom=freedom).results[0]


def test_a_sine_near_zero_is_as_near_as_its_operand() -> None:
    samples = samples_of("sine", [0, -0.0, 1e-20, 100])
    assert not samples[:, :2].any()
    assert np.abs(samples[:, 2] - np.float32(1e-20)).max() < 1e-26
    assert np.abs(np.diff(samples[:, 3])).max() > 1e-8


def test_what_is_infinite_of_zero_is_not_out_of_range() -> None:
    assert np.isneginf(samples_of("log", [0, 1, 2, 3], Freedom.RANGE)[:, 0]).all()
    # An infinity beside it does not hide what overflows.
    powers = samples_of("exponential", [np.inf, 89, 1, 2], Freedom.RANGE)
    assert np.isposinf(powers[:, 0]).all()
    assert set(np.isposinf(powers[:, 1])) == {True, False}


def test_nothing_says_what_an_algorithm_makes_of_nan() -> None:
    text = """
    func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = stablehlo.cholesky %x, lower = true : tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }
    """
    wild = np.array([[np.nan, 1], [1, 2]], np.float32)
    anything = judge.grade(text, lambda module, arguments: [np.full((2, 2), 7, np.float32)], [wild])
    assert anything.verdict is Verdict.UNSPECIFIED
    tame = np.array([[2, 1], [1, 2]], np.float32)
    wrong = judge.grade(text, lambda module, arguments: [np.full((2, 2), 7, np.float32)], [tame])
    assert wrong.verdict is Verdict.WRONG


RANDOM = """
func.func @main(%a: tensor<f32>, %state: tensor<2xui64>)
    -> (tensor<4xf32>, tensor<8xui32>, tensor<f32>) {{
  %shape = stablehlo.constant dense<4> : tensor<1xi64>
  %b = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM
      : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<4xf32>
  %2, %3 = stablehlo.rng_bit_generator %state, algorithm = {algorithm}
      : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  return %1, %3, %a : tensor<4xf32>, tensor<8xui32>, tensor<f32>
}}
"""


@pytest.mark.parametrize("algorithm", ["DEFAULT", "THREE_FRY"])
def test_what_an_implementation_draws_is_unspecified(algorithm: str) -> None:
    def other(module: Module, arguments: Sequence[Any]) -> Sequence[Any]:
        _, bits, a = runtimes.load("interpreter").compile(module)(*arguments)
        return [np.full(4, 0.25, np.float32), bits + np.uint32(1), a + np.float32(1)]

    arguments: list[Array] = [np.array(0, np.float32), np.arange(2, dtype=np.uint64)]
    found = judge.grade(RANDOM.format(algorithm=algorithm), other, arguments)
    drawn, bits, argument = [each.verdict for each in found.results]
    assert drawn is Verdict.UNSPECIFIED
    assert bits is (Verdict.UNSPECIFIED if algorithm == "DEFAULT" else Verdict.WRONG)
    assert argument is Verdict.WRONG


def test_a_product_that_broadcasts_may_vanish() -> None:
    text = """func.func @main(%a: tensor<2x2xf32>, %b: tensor<2xf32>) -> tensor<2x2xf32> {
      %0 = chlo.broadcast_multiply %a, %b : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
      return %0 : tensor<2x2xf32>
    }"""
    left, right = np.array([[1e-30, 0], [1, 1]], np.float32), np.array([1e-30, 2], np.float32)
    (found,) = samples(text, left, right, samples=16, freedom=Freedom.RANGE)
    assert set((found[:, 0, 0] == 0).tolist()) == {True, False}
    assert (found[:, 0, 1] == 0).all()


def test_a_loop_that_ends_for_the_oracle_alone_is_stopped() -> None:
    (case,) = judge.cases_of(DIFFERENCE, [np.float32(1.5)])
    assert case.judged(case.results)[0].verdicts == Verdict.EQUAL
