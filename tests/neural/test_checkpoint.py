"""Checkpoints: bits and names kept, every misfit listed, foreign names mapped, state along."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.exact import exactly, holds, same
from tests.neural.training import WEIGHTS, batches, changed, regression, same_fields, trained
from topos import Element, Network, Tape, Tensor, bf16, bool_, f16, f32, f64, i32, i64
from topos.errors import ArgumentError, FeedError, SymbolError
from topos.neural import Linear, Mlp, Sequential, init, named_parameters
from topos.neural.checkpoint import load, named, save
from topos.neural.rules import Adam, Sgd
from topos.neural.step import record_step
from topos.neural.tensor_file import write_tensors

pytest.importorskip("safetensors")


def test_a_file_gives_back_every_bit_and_the_text(tmp_path: Path) -> None:
    tape = Tape()
    nan = np.array([0x7FC1, 0x8001, 0xFF80], np.uint16).view(bf16.dtype)
    tape.parameter(nan, name="bf16", element=bf16)
    for element in (f64, f32, f16, i64, i32):
        tape.parameter(
            np.arange(6, dtype=element.dtype).reshape(2, 3), name=element.name, element=element
        )
    tape.parameter(np.array([True, False]), name="mask")
    tape.parameter(np.zeros((0, 4), np.float32), name="empty")
    tape.parameter(np.ones((), np.float32), name="scalar")
    tape.parameter(Tensor(2.0).broadcast((3, 2)), name="spread")
    tape.parameter(
        Tensor(np.arange(6.0).reshape(2, 3), f64).transpose(), name="transposed", element=f64
    )
    network = tape.into_network()
    path, text = tmp_path / "all.safetensors", {"epoch": "3", "über": "naïve"}
    save(path, network.parameters(), network, metadata=text)
    blank = network.parameters().map(lambda own: own if own.element is bool_ else own - own)
    read = load(path, blank, network)
    assert same_fields(read.parameters, network.parameters())
    assert (read.metadata, read.state) == (text, None)
    assert read.report.loaded == tuple(name for name, _ in named(network))
    assert (read.report.missing, read.report.unexpected, read.report.left_out) == ((), (), ())


def test_a_module_is_saved_by_its_paths(tmp_path: Path) -> None:
    tape = Tape()
    weights = init.xavier(1)
    model = Sequential(Mlp(tape, [4, 8, 8], weights=weights), Linear(tape, 8, 2, weights=weights))
    network, path = tape.into_network(), tmp_path / "m.safetensors"
    save(path, network.parameters(), model)
    read = load(path, changed(network.parameters()), model)
    assert same_fields(read.parameters, network.parameters())
    assert read.report.loaded == tuple(str(at) for at, _ in named_parameters(model))


def test_a_shared_parameter_is_there_once_and_read_by_any_name(tmp_path: Path) -> None:
    tape = Tape()
    tape.parameter([1.0, 2.0], name="own")
    network, path = tape.into_network(), tmp_path / "tied.safetensors"
    parameters, symbol = network.parameters(), network.symbol("own")
    tied = [("embedding", symbol), ("head", symbol)]
    save(path, parameters, tied)
    read = load(path, changed(parameters), tied)
    assert read.report.loaded == ("embedding",)
    assert same_fields(read.parameters, parameters)
    write_tensors(path, {"head": Tensor([1.0, 2.0])}, {})
    assert same_fields(load(path, changed(parameters), tied).parameters, parameters)
    write_tensors(path, {"head": Tensor([1.0, 2.0]), "embedding": Tensor([1.0, 3.0])}, {})
    message = f"{path} does not fit: head differs from another name of the same parameter"
    with pytest.raises(FeedError, match=exactly(message)):
        load(path, parameters, tied)


def test_optimizer_state_goes_along(tmp_path: Path) -> None:
    network, optimizer, path = regression(), Adam(1e-2), tmp_path / "run.safetensors"
    feeds = batches(6)
    parameters, state, _ = trained(network, optimizer, feeds[:3])
    save(path, parameters, network, state=state)
    whole, _, _ = trained(network, optimizer, feeds)
    initial = network.parameters()
    read = load(path, initial, network, state=optimizer.start(initial))
    assert read.state is not None
    assert holds(read.state.count, 3, i32)
    later, after = read.parameters, read.state
    for batch in feeds[3:]:
        gradients = network.forward(later, batch).backward("loss")
        later, after = optimizer.step(later, gradients, after)
    assert same_fields(later, whole)
    # Where nobody asks for the state, it is left out by name; another optimizer's does not fit.
    alone = load(path, initial, network)
    assert same_fields(alone.parameters, parameters)
    assert len(alone.report.left_out) == 1 + 2 * len(WEIGHTS)
    with pytest.raises(FeedError, match="missing optimizer/velocity/first"):
        load(path, initial, network, state=Sgd(0.1, momentum=0.5).start(initial))


def test_a_recorded_step_reads_what_the_host_loop_wrote(tmp_path: Path) -> None:
    base, optimizer, path = regression(), Adam(1e-2), tmp_path / "run.safetensors"
    parameters, state, _ = trained(base, optimizer, batches(3))
    save(path, parameters, base, state=state)
    tape = base.into_tape()
    step = record_step(tape, "loss", WEIGHTS, optimizer)
    network = tape.into_network()
    read = load(path, network.parameters(), network)
    assert same_fields(read.parameters, step.with_state(parameters.carried(network), state))
    by_path = [("encoder.weights", base.symbol("first"))]
    save(path, read.parameters, step.named(by_path))
    held = load(path, network.parameters(), step.named(by_path)).report.loaded
    slots = ("first_moment", "second_moment")
    expected = [f"optimizer/{slot}/encoder.weights" for slot in slots]
    assert held == ("encoder.weights", "optimizer/count", *expected)


def test_a_state_of_another_recording_is_refused(tmp_path: Path) -> None:
    network, path = regression(), tmp_path / "run.safetensors"
    parameters, foreign = network.parameters(), Adam().start(regression().parameters())
    message = "the state's slot 'first_moment' belongs to another recording"
    with pytest.raises(SymbolError, match=exactly(message)):
        save(path, parameters, network, state=foreign)
    assert not path.exists()
    save(path, parameters, network, state=Adam().start(parameters))
    with pytest.raises(SymbolError, match=exactly(message)):
        load(path, parameters, network, state=foreign)


def test_everything_that_does_not_fit_is_listed_at_once(tmp_path: Path) -> None:
    network, path = regression(), tmp_path / "w.safetensors"
    entries = {
        "first": Tensor(np.zeros((8, 4), np.float32)),
        "bias": Tensor(np.zeros(8, np.float64)),
        "extra": Tensor(0.0),
        "more": Tensor(0.0),
    }
    write_tensors(path, entries, {})
    parameters = network.parameters()
    wrong = "first needs f32[4, 8], got f32[8, 4] (transposed: adapt can turn it); "
    wrong += "bias needs f32[8], got f64[8]"
    message = f"{path} does not fit: missing second; unexpected extra, more; {wrong}"
    with pytest.raises(FeedError, match=exactly(message)):
        load(path, parameters, network)
    # A payload that cannot be used is loud, whatever may be missing.
    with pytest.raises(FeedError, match=exactly(f"{path} does not fit: {wrong}")):
        load(path, parameters, network, partial=True)


def test_a_partial_load_reports_what_it_did(tmp_path: Path) -> None:
    network, path = regression(), tmp_path / "w.safetensors"
    parameters = network.parameters()
    write_tensors(path, {"bias": Tensor(np.ones(8, np.float32)), "extra": Tensor(0.0)}, {})
    read = load(path, parameters, network, partial=True)
    assert holds(read.parameters.of("bias"), np.ones(8), f32)
    assert same(read.parameters.of("first"), parameters.of("first"))
    report = read.report
    assert (report.loaded, report.missing) == (("bias",), ("first", "second"))
    assert (report.unexpected, report.left_out) == (("extra",), ())


def test_foreign_names_and_layouts_are_mapped(tmp_path: Path) -> None:
    network, path = regression(), tmp_path / "foreign.safetensors"
    parameters = network.parameters()
    foreign = {
        "model.0.weight": parameters.of("first").transpose(),
        "model.0.bias": parameters.of("bias").convert(f64),
        "model.2.weight": parameters.of("second").transpose(),
        "model.steps": Tensor(5, i64),
    }
    write_tensors(path, foreign, {"format": "pt"})
    ours = {"model.0.weight": "first", "model.0.bias": "bias", "model.2.weight": "second"}

    def adapt(name: str, own: Tensor) -> Tensor:
        return own.convert(f32) if name == "bias" else own.transpose()

    read = load(path, changed(parameters), network, rename=ours.get, adapt=adapt)
    assert same_fields(read.parameters, parameters)
    assert read.report.left_out == ("model.steps",)
    with pytest.raises(FeedError, match=r"second needs f32\[8, 1\], got f32\[1, 8\]"):
        load(path, parameters, network, rename=ours.get)
    message = f"{path} does not fit: model.0.bias and model.0.weight are both first"
    with pytest.raises(FeedError, match=f"^{message}; "):
        load(path, parameters, network, rename=lambda name: "first")


def test_an_element_that_is_none_of_ours_is_named(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    tape = Tape()
    tape.parameter([1.0, 2.0], name="w")
    network, path = tape.into_network(), tmp_path / "w.safetensors"
    numpy.save_file({"w": np.zeros(2, np.uint8)}, path)
    message = f"{path} does not fit: w needs f32[2], got ui8[2]"
    for adapt in (None, lambda _name, own: own):
        with pytest.raises(FeedError, match=exactly(message)):
            load(path, network.parameters(), network, adapt=adapt)


def test_a_name_is_only_a_name(tmp_path: Path) -> None:
    tape, folder = Tape(), tmp_path / "inner"
    folder.mkdir()
    names = ["../outside", "/absolute", "a\nb", "", "optimizer/count", "C:\\x", "%s{0}"]
    held = [tape.parameter(float(place)) for place, _ in enumerate(names)]
    pairs = [(name, own.symbol) for name, own in zip(names, held, strict=True)]
    network = tape.into_network()
    save(folder / "w.safetensors", network.parameters(), pairs)
    read = load(folder / "w.safetensors", changed(network.parameters()), pairs)
    assert same_fields(read.parameters, network.parameters())
    assert [each.name for each in tmp_path.iterdir()] == ["inner"]
    assert [each.name for each in folder.iterdir()] == ["w.safetensors"]


@pytest.fixture(scope="module")
def network() -> Network:
    return regression()


def test_names_and_text_that_cannot_be_saved_are_told(network: Network, tmp_path: Path) -> None:
    path, parameters = tmp_path / "w.safetensors", network.parameters()
    symbol, other = network.symbol("first"), network.symbol("bias")
    state = Adam().start(parameters)
    tape = Tape()
    tape.parameter(1.0, name="w")
    tape.parameter(2.0)
    nameless = tape.into_network()
    attempts: list[tuple[str, Callable[[], None]]] = [
        (
            "a checkpoint needs one parameter a name, got two for 'w'",
            lambda: save(path, parameters, [("w", symbol), ("w", other)]),
        ),
        (
            "a checkpoint needs named parameters, got %1",
            lambda: save(path, nameless.parameters(), nameless),
        ),
        (
            "metadata needs names and values of text, got {'epoch': 3}",
            lambda: save(path, parameters, network, metadata={"epoch": 3}),  # type: ignore[dict-item]
        ),
        (
            "a checkpoint needs 'optimizer/count' for the state, got a parameter of it",
            lambda: save(path, parameters, {"optimizer/count": symbol}, state=state),
        ),
    ]
    for message, attempt in attempts:
        with pytest.raises(ArgumentError, match=exactly(message)):
            attempt()
    reserved = "a checkpoint keeps its text under '__metadata__', got a tensor of that name"
    with pytest.raises(FeedError, match=exactly(reserved)):
        save(path, parameters, {"__metadata__": symbol})
    with pytest.raises(FeedError, match=r"\Aa checkpoint needs names and text of UTF-8, got "):
        save(path, parameters, {"half \ud800": symbol})
    odd = Element("odd", ml_dtypes.float8_e4m3b11fnuz, compute=np.float32)
    own = Tensor(np.zeros(2, odd.dtype), odd)
    foreign = "a checkpoint needs an element of the format, got odd 'w'"
    with pytest.raises(FeedError, match=exactly(foreign)):
        write_tensors(path, {"w": own}, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("element", [f64, bf16, f16], ids=str)
def test_other_elements_train_save_and_resume(element: Element, tmp_path: Path) -> None:
    network, optimizer, path = regression(element), Adam(1e-2), tmp_path / "w.safetensors"
    parameters, state, _ = trained(network, optimizer, batches(2, element))
    save(path, parameters, network, state=state)
    initial = network.parameters()
    read = load(path, initial, network, state=optimizer.start(initial))
    assert same_fields(read.parameters, parameters)
    assert read.state is not None
    for slot, table in state.slots.items():
        assert same_fields(read.state.slots[slot], table)


def test_what_adapt_returns_has_to_be_a_tensor(network: Network, tmp_path: Path) -> None:
    save(tmp_path / "w.safetensors", network.parameters(), network)
    message = "adapt needs to return a Tensor, got ndarray for 'first'"
    with pytest.raises(ArgumentError, match=exactly(message)):
        load(
            tmp_path,
            network.parameters(),
            network,
            adapt=lambda _, own: own.numpy(),  # type: ignore[arg-type, return-value]
        )


WIDE, SIDE = 6, 512


def wide(rows: int) -> Network:
    """Returns a recording of several matrices, each with no more than its shape."""
    tape = Tape()
    for place in range(WIDE):
        tape.parameter(shape=(rows, SIDE), name=f"w{place}")
    return tape.into_network()


def drawn(place: int) -> Tensor:
    return Tensor(np.random.default_rng(place).standard_normal((SIDE, SIDE), np.float32))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "w.safetensors"
    write_tensors(path, {f"w{place}": drawn(place) for place in range(WIDE)}, {})
    return path


@pytest.mark.parametrize(
    ("adapt", "extra"),
    [
        (None, 0.0),
        (lambda _, own: own.transpose(), 1.0),
        (lambda _, own: own.convert(f64).transpose().convert(f32), 3.5),
        # A part of what was read keeps nothing of the rest alive.
        (lambda _, own: own.narrow(0, 0, SIDE // 8), 1.0),
    ],
    ids=["as it lies", "turned", "converted", "cut"],
)
def test_a_payload_is_read_into_its_place_and_nothing_is_held_beside_it(
    large: Path, adapt: Callable[[str, Tensor], Tensor] | None, extra: float
) -> None:
    shape = drawn(0).shape if adapt is None else adapt("", drawn(0)).shape
    network, size = wide(shape[0]), SIDE * SIDE * 4
    load(large, network, network, adapt=adapt)
    tracemalloc.start()
    try:
        held = load(large, network, network, adapt=adapt).parameters
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= (WIDE * shape[0] / SIDE + extra + 0.4) * size
    for place, (_, own) in enumerate(held.items()):
        read = own.numpy()
        wanted = drawn(place) if adapt is None else adapt("", drawn(place))
        assert same(own, wanted)
        assert read.flags.c_contiguous
        assert not read.flags.writeable
        assert read.ctypes.data % 64 == 0
        assert own.settled() is own
