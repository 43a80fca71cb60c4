"""Calls through jax's own dispatch: whatever jax is set to, and without its unpublished parts."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.runtimes.texts import ELEMENTS, SUM
from topos.errors import ArgumentError, ExecutionError, UnavailableError
from topos.runtimes import Executable, load
from topos.runtimes._signature import ModuleSignature
from topos.runtimes.xla import dispatch

jax: Any = pytest.importorskip("jax")

Array = npt.NDArray[Any]

XLA = load("xla")
ONES = np.ones(4, np.float32)
WIDE = SUM.replace("f32", "i64")
LARGE = np.full(4, 2**40 + 1)


@pytest.fixture(params=["in C++", "plain"])
def executable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Executable:
    if request.param == "plain":
        # A version of jax that has moved a part which it never published.
        monkeypatch.setitem(sys.modules, "jax._src.interpreters.pxla", None)
    return XLA.compile(SUM)


class Own(np.ndarray[Any, Any]):
    """A class of arrays as others make them."""


@pytest.mark.parametrize(
    "argument",
    [
        [1.0, 1.0, 1.0, 1.0],
        np.ones(8)[::2],
        np.ones(4, ">f4"),
        np.ones(4, np.float64),
        np.ones(4, np.int32),
        np.ones((2, 2), np.float32),
        np.ones((), np.float32),
        1.0,
        "ones",
        None,
    ],
    ids=repr,
)
def test_only_the_modules_own_types_get_in(executable: Executable, argument: Any) -> None:
    for _ in range(2):
        # The dispatch meets the right types before and after.
        assert executable(ONES, ONES)[0].tolist() == [2.0] * 4
        with pytest.raises(ArgumentError, match=r"^argument 1 must be float32\[4\], got "):
            executable(ONES, argument)
    with pytest.raises(ArgumentError, match=r"^the module takes 2 arguments, got 3$"):
        executable(ONES, ONES, ONES)


@pytest.mark.parametrize(
    "argument",
    [
        np.ones(8, np.float32)[::2],
        ONES.view(Own),
        np.ma.masked_array(ONES),
        [np.float32(1)] * 4,
        jax.numpy.ones(4),
    ],
    ids=lambda argument: type(argument).__name__,
)
def test_arrays_of_every_kind_get_in(executable: Executable, argument: Any) -> None:
    for _ in range(2):
        (result,) = executable(argument, ONES)
        assert type(result) is np.ndarray
        assert result.tolist() == [2.0] * 4


def test_a_python_list_of_the_right_element_is_an_argument() -> None:
    text = SUM.replace("f32", "f64")
    assert XLA.compile(text)([1.0] * 4, [1.0] * 4)[0].tolist() == [2.0] * 4


def test_settings_of_jax_change_no_result() -> None:
    narrow, wide = XLA.compile(SUM), XLA.compile(WIDE)

    def results() -> list[Any]:
        return [narrow(ONES, ONES)[0].tolist(), wide(LARGE, LARGE)[0].tolist()]

    expected = [[2.0] * 4, [2**41 + 2] * 4]
    assert results() == expected
    for context in (jax.enable_x64(True), jax.disable_jit(), jax.debug_nans(True)):
        with context:
            assert results() == expected
    jax.clear_caches()
    assert results() == expected


def test_an_argument_that_jax_traces_is_refused() -> None:
    executable = XLA.compile(SUM)
    with pytest.raises(ArgumentError, match=r"^argument 0 must be float32\[4\], got .*Tracer"):
        jax.jit(lambda a: executable(a, a))(ONES)


def test_without_the_parts_of_jax_elements_keep_their_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fast = XLA.compile(ELEMENTS)
    monkeypatch.setitem(sys.modules, "jax._src.interpreters.pxla", None)
    slow = XLA.compile(ELEMENTS)
    arguments = [np.ones(*each) for each in fast.signature.arguments]
    for _ in range(2):
        for ours, theirs in zip(slow(*arguments), fast(*arguments), strict=True):
            assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes())


def test_code_whose_results_are_others_is_told() -> None:
    loaded = XLA.compile(SUM)._loaded  # type: ignore[attr-defined]
    wrong = ModuleSignature(loaded.signature.arguments, loaded.signature.results * 2)
    run = dispatch.dispatched(loaded.executable, wrong, loaded.device)
    with pytest.raises(ExecutionError, match=r"^the module has results .*, and others came"):
        run(ONES, ONES)


@pytest.mark.parametrize("name", ["cpu", "CPU", "cpu:0", None])
def test_a_device_is_chosen_by_its_name(name: str | None) -> None:
    executable = XLA.compile(SUM, options={"device": name})
    bound = executable.bind({0: XLA.place(ONES, options={"device": name})})
    assert bound(ONES)[0].tolist() == [2.0] * 4
    again = XLA.deserialize(executable.serialize(), options={"device": name})
    assert again(ONES, ONES)[0].tolist() == [2.0] * 4


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "tpu", "cpu:99", "abacus"])
def test_a_device_that_is_not_here_is_told_with_those_that_are(name: str) -> None:
    if name.partition(":")[0] in {each.platform for each in jax.devices()} - {"cpu"}:
        pytest.skip(f"this machine has {name}")
    options = {"device": name}
    for use in (
        lambda: XLA.compile(SUM, options=options),
        lambda: XLA.place(ONES, options=options),
        lambda: XLA.deserialize(b"", options=options),
    ):
        message = f"^xla has no device '{name}' here; there are .*cpu:0"
        with pytest.raises(UnavailableError, match=message):
            use()


@pytest.mark.parametrize("name", ["", "cpu:", "cpu:-1", "cpu 0", "cpu:0:0", 0, ["cpu"]])
def test_a_device_needs_a_name(name: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^device needs a name such as 'cpu' or 'cuda:1', got"):
        XLA.compile(SUM, options={"device": name})
