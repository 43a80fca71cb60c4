"""An element with an arithmetic of its own: what follows from it, and what is refused where."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

from tests.exact import exactly
from topos import Arithmetic, Element, FloatArithmetic, Network, Tape, Tensor, f32, f64, i64, stack
from topos.errors import ElementError, EmitError, ExecutionError, FeedError

Array = npt.NDArray[Any]
PAIR: Final = np.dtype([("value", np.float64), ("count", np.int64)])


class Tropical(Arithmetic):
    """The semiring of maximum and sum over float64: what no backend may take for float64."""

    def zero(self, dtype: np.dtype[Any]) -> Array:
        return np.array(-np.inf)

    def add(self, left: Array, right: Array) -> Array:
        return np.asarray(np.maximum(left, right))

    def multiply(self, left: Array, right: Array) -> Array:
        return np.add(left, right)

    def spell(self, scalar: Any) -> str:
        return f"t{scalar}"

    def conversion(self, source: Element, target: Element) -> Callable[..., Array] | None:
        return np.negative if source is f64 else None


class Counted(Arithmetic):
    """Numbers beside how many additions they took, which tells the order of a sum."""

    def literal(self, numbers: Array) -> Array:
        return pairs(numbers, 0)

    def add(self, left: Array, right: Array) -> Array:
        deeper = np.maximum(left["count"], right["count"]) + 1
        return pairs(left["value"] + right["value"], deeper)

    def multiply(self, left: Array, right: Array) -> Array:
        return pairs(left["value"] * right["value"], left["count"] + right["count"])

    def negate(self, array: Array) -> Array:
        return pairs(-array["value"], array["count"])

    def less_equal(self, left: Array, right: Array) -> Array:
        return np.asarray(left["value"] <= right["value"])

    def conversion(self, source: Element, target: Element) -> Callable[..., Array] | None:
        if target is f64:
            return lambda array: array["value"]
        return self.literal if source is f64 else None


def pairs(values: Any, counts: Any) -> Array:
    """Returns the structures of values and counts."""
    array = np.empty(np.shape(values), PAIR)
    array["value"], array["count"] = values, counts
    return array


tropical = Element("tropical", np.float64, arithmetic=Tropical(), differentiable=False)
counted = Element("counted", PAIR, arithmetic=Counted())
ELEMENTS: Final = (tropical, counted)
MATRIX: Final = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
WEIGHTS: Final = [[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]]


def recorded(element: Element) -> Network:
    """Returns products, sums, windows, selections and moves of one element."""
    tape = Tape(element=element)
    x, w = tape.input(shape=(2, 3), name="x"), tape.parameter(WEIGHTS, name="w")
    product = (x @ w).named("product")
    sums = stack([product, product + 1.0], 0).sum((0, 1)).named("sums")
    windows = x.pad((1, 0), (0, 2)).unfold(1, 2, 1).fold(1, 1, 5).named("windows")
    places = tape.leaf(np.array([2, 0, 2]))
    windows.gather(places, 1).scatter(places, 1, 3).named("moved")
    mask = tape.leaf(np.array([[True, False], [False, True]]))
    mask.select(product, product.transpose()).pad((0, 0), (1, 0)).named("chosen")
    tape.leaf([1.0, -2.0, 3.0], element=f64).convert(element).named("converted")
    sums.sum().named("total")
    return tape.into_network()


NAMES: Final = ("product", "sums", "windows", "moved", "chosen", "converted", "total")


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_a_plan_has_the_bits_of_the_oracle(element: Element, numerics: str) -> None:
    network = recorded(element)
    run = network.entry(NAMES, numerics=numerics).lower().forward(None, {"x": MATRIX})
    oracle = network.forward(None, {"x": MATRIX})
    for name in NAMES:
        assert run.of(name).numpy().tobytes() == oracle.of(name).numpy().tobytes()
        assert run.of(name).element is element


def test_sums_and_products_follow_from_the_arithmetic() -> None:
    oracle = recorded(tropical).forward(None, {"x": MATRIX})
    assert oracle.of("product").numpy().tolist() == [[8.0, 9.0], [11.0, 12.0]]
    assert oracle.of("sums").numpy().tolist() == [11.0, 12.0]
    padded = [[-np.inf] * 5, [1.0, 2.0, 3.0, -np.inf, -np.inf], [4.0, 5.0, 6.0, -np.inf, -np.inf]]
    assert oracle.of("windows").numpy().tolist() == padded
    assert oracle.of("converted").numpy().tolist() == [-1.0, 2.0, -3.0]


class Lopsided(Arithmetic):
    """Functions in which the operands' order is seen."""

    def add(self, left: Array, right: Array) -> Array:
        return np.asarray(3.0 * left + right)

    def multiply(self, left: Array, right: Array) -> Array:
        return np.asarray(left - 7.0 * right)


def test_operands_keep_their_order_in_what_follows() -> None:
    element = Element("lopsided", np.float64, arithmetic=Lopsided())
    terms = Tensor([1.0, 2.0, 4.0], element)
    # The tree adds 1 and 4, carries 2, adds that, and the result comes after zero.
    assert terms.sum().item() == 3.0 * 0.0 + (3.0 * (3.0 * 1.0 + 4.0) + 2.0)
    product = terms.reshape((1, 3)) @ Tensor([[5.0], [6.0], [8.0]], element)
    assert product.item() == 3.0 * (3.0 * (1.0 - 35.0) + (2.0 - 42.0)) + (4.0 - 56.0)
    places = Tensor(np.array([1, 1, 0]))
    assert terms.scatter(places, 0, 2).numpy().tolist() == [4.0, 3.0 * 1.0 + 2.0]


def test_a_sum_is_the_tree_of_halves_and_a_product_adds_in_order() -> None:
    terms = Tensor(np.arange(5.0), f64).convert(counted)
    # Three levels of halves of five terms, then the addition to zero; five additions in a row.
    assert terms.sum().numpy().item() == (10.0, 4)
    assert (terms.reshape((1, 5)) @ terms.reshape((5, 1))).numpy().item() == (30.0, 5)
    assert Tensor([], counted).sum().numpy().item() == (0.0, 0)


def test_comparisons_and_steps_follow_and_gradients_are_recorded() -> None:
    x = Tensor([1.0, 2.0, 3.0], counted)
    assert x.greater_equal(2.0).numpy().tolist() == [False, True, True]
    assert x.step(2.0).convert(f64).numpy().tolist() == [0.0, 1.0, 1.0]
    tape = Tape(element=counted)
    w = tape.parameter([1.0, 2.0], name="w")
    loss = (w * w - w).sum().named("loss")
    adjoints = tape.differentiate(loss, [w])
    network = tape.into_network()
    run = network.entry(["loss", *adjoints.roots()], numerics="exact").lower().forward()
    assert run.of(adjoints.roots()[0]).convert(f64).numpy().tolist() == [1.0, 3.0]
    scanned = network.forward().backward("loss").of("w")
    assert scanned.numpy().tobytes() == run.of(adjoints.roots()[0]).numpy().tobytes()


@pytest.mark.parametrize(
    ("element", "express", "message"),
    [
        (tropical, lambda x: x.exp(), "tropical has no exp: define exp in Tropical"),
        (tropical, lambda x: x - x, "tropical has no subtract: define subtract in Tropical"),
        (tropical, lambda x: x.max(), "tropical has no max: define maximum in Tropical"),
        (
            counted,
            lambda x: x.log_softmax(0),
            "counted has no log_softmax: define maximum and exp and ln in Counted",
        ),
        (counted, lambda x: x.less(x), "counted has no less: define less in Counted"),
        (
            counted,
            lambda x: x.convert(f32),
            "convert has no way from counted to f32: define conversion in Counted",
        ),
        (
            tropical,
            lambda x: x.convert(f64),
            "convert has no way from tropical to f64: define conversion in Tropical",
        ),
    ],
)
def test_what_an_element_lacks_is_refused_where_it_is_recorded(
    element: Element, express: Callable[[Any], Any], message: str
) -> None:
    value = Tape(element=element).input(shape=(2,))
    with pytest.raises(ElementError, match=exactly(message)):
        express(value)


class Faulty(FloatArithmetic):
    """Functions that fail in the ways that functions fail."""

    def exp(self, array: Array) -> Array:
        raise ValueError("no exponentials today")

    def tanh(self, array: Array) -> Array:
        return np.zeros(array.shape, np.float64)

    def sin(self, array: Array) -> Array:
        return np.zeros((7,), np.float32)

    def cos(self, array: Array) -> Array:
        return array

    def ln(self, array: Array) -> Array:
        return np.asarray(np.log(array))

    def sqrt(self, array: Array) -> Array:
        return np.asarray(np.sqrt(array))

    def divide(self, left: Array, right: Array) -> Array:
        raise ValueError("nothing is divided")


faulty = Element("faulty", np.float32, arithmetic=Faulty())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("exp", "exp of faulty failed: ValueError: no exponentials today"),
        ("tanh", "tanh of Faulty has to return float32 of shape (2,), got float64 of shape (2,)"),
        ("sin", "sin of Faulty has to return float32 of shape (2,), got float32 of shape (7,)"),
    ],
)
@pytest.mark.parametrize("how", ["oracle", "exact", "fast"])
def test_a_function_that_fails_is_told_with_its_node(how: str, function: str, message: str) -> None:
    tape = Tape(element=faulty)
    x = tape.input([1.0, 2.0], name="x")
    getattr(x + 1.0, function)().named("y")
    network = tape.into_network()
    run = network.forward if how == "oracle" else network.entry(["y"], numerics=how).lower().forward
    with pytest.raises(ExecutionError, match=exactly(f"{message}\nat %3 'y'")) as raised:
        run()
    assert isinstance(raised.value.__cause__, ValueError) == (function == "exp")


def test_a_function_that_fails_in_a_derivative_or_within_a_product_is_told() -> None:
    tape = Tape(element=faulty)
    tape.input([1.0, 4.0], name="x").sqrt().sum().named("loss")
    message = "divide of faulty failed: ValueError: nothing is divided\nin the derivative of %1"
    with pytest.raises(ExecutionError, match=exactly(message)):
        tape.into_network().forward().backward("loss")

    class Scalar(Tropical):
        def multiply(self, left: Array, right: Array) -> Array:
            return np.array(3.0)

    matrix = Tensor([[1.0, 2.0]], Element("scalar", np.float64, arithmetic=Scalar()))
    message = "multiply of Scalar has to return float64 of shape (2, 2), got float64 of shape ()"
    with pytest.raises(ExecutionError, match=exactly(message)):
        matrix.transpose() @ matrix


def test_zero_is_one_element_and_operands_are_read_only() -> None:
    class Careless(Tropical):
        def zero(self, dtype: np.dtype[Any]) -> Array:
            return np.zeros((2,), dtype)

        def add(self, left: Array, right: Array) -> Array:
            left += right
            return left

    tape = Tape(element=Element("careless", np.float64, arithmetic=Careless()))
    x = tape.input([1.0, 2.0], name="x")
    (x * x + x).named("y")
    x.sum().named("total")
    network = tape.into_network()
    message = "zero of Careless has to return float64 of shape (), got float64 of shape (2,)"
    with pytest.raises(ExecutionError, match=exactly(f"{message}\nat %3 'total'")):
        network.entry(["total"]).interpret()
    with pytest.raises(ExecutionError, match="ValueError: output array is read-only"):
        network.entry(["y"]).lower().forward()


def test_a_function_may_return_its_operand_and_warn() -> None:
    tape = Tape(element=faulty)
    x = tape.input(shape=(2,), name="x")
    x.cos().named("same")
    x.ln().named("nan")
    fed = np.array([1.0, -2.0], np.float32)
    plan = tape.into_network().entry(["same", "nan"], numerics="exact").lower()
    run = plan.forward(None, {"x": fed})
    assert not np.shares_memory(run.of("same").numpy(), fed)
    assert run.of("same").numpy().tolist() == [1.0, -2.0]
    assert np.isnan(run.of("nan").numpy()[1])


def test_a_nan_that_comes_out_of_a_structure_is_canonical_in_an_exact_plan() -> None:
    tape = Tape(element=counted)
    x = tape.input(shape=(2,), name="x")
    (x.convert(f64) + 1.0).named("y")
    network = tape.into_network()
    fed = pairs(-np.array([np.nan, 1.0]), 0)
    run = network.entry(["y"], numerics="exact").lower().forward(None, {"x": fed})
    oracle = network.forward(None, {"x": fed})
    assert run.of("y").numpy().tobytes() == oracle.of("y").numpy().tobytes()


def test_an_element_prints_and_pickles_as_it_spells() -> None:
    assert repr(Tensor([1.0, 2.0], tropical)) == "Tensor([t1.0, t2.0], tropical[2])"
    tape = Tape(element=tropical)
    tape.leaf(1.0)
    assert "%0 = leaf(t1.0) : tropical[]" in tape.into_network().describe()
    network = recorded(counted)
    copy = pickle.loads(pickle.dumps(network))
    total = copy.forward(None, {"x": MATRIX}).of("total")
    assert total.item() == network.forward(None, {"x": MATRIX}).of("total").item()


def test_an_element_that_no_module_holds_is_another_one_after_a_pickle() -> None:
    element = Element("local", PAIR, arithmetic=Counted())
    network = pickle.loads(pickle.dumps(recorded(element)))
    assert network.forward(None, {"x": pairs(np.ones((2, 3)), 0)}).of("total").shape == ()
    message = r"needs local\[2, 3\], got local\[2, 3\] of another element of that name$"
    with pytest.raises(FeedError, match=message):
        network.forward(None, {"x": Tensor(np.ones((2, 3)), f64).convert(element)})


def test_a_structure_is_no_number_and_no_array_of_another_dtype() -> None:
    tensor = Tensor(1.0, counted)
    with pytest.raises(ElementError, match=r"^float needs a real number, got counted\[\]"):
        float(tensor)
    with pytest.raises(ElementError, match=r"^bool needs a real number, got counted\[\]"):
        bool(tensor)
    with pytest.raises(FeedError, match="needs counted"):
        recorded(counted).forward(None, {"x": np.ones((2, 3))})
    with pytest.raises(ElementError, match="no element is stored as"):
        Tensor(pairs([1.0], 0))
    assert Tensor(pairs([1.0], 0), counted).shape == (1,)


def test_emission_refuses_an_element_without_an_mlir_type() -> None:
    for element in ELEMENTS:
        plan = recorded(element).entry(["product"]).lower()
        with pytest.raises(EmitError, match=f"the element {element} has no MLIR type"):
            plan.emit_stablehlo()


def test_an_element_is_made_of_what_numpy_stores_and_of_an_arithmetic() -> None:
    message = "pair is stored as a structure: give it an arithmetic of its own"
    with pytest.raises(ElementError, match=exactly(message)):
        Element("pair", PAIR)
    with pytest.raises(ElementError, match="pair computes by an Arithmetic, got"):
        Element("pair", PAIR, arithmetic=Counted)  # type: ignore[arg-type]  # As a user may.
    with pytest.raises(ElementError, match="is stored as a structure and has no MLIR type"):
        Element("pair", PAIR, arithmetic=Counted(), mlir="f64")
    with pytest.raises(ElementError, match="or as a structure of such fields, got"):
        Element("boxed", [("box", object)], arithmetic=Counted())
    assert i64.arithmetic.functions < f64.arithmetic.functions
