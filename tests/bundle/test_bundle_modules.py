"""A module from anywhere becomes a bundle: named, filled with weights, held to its own oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bundle.bundled_models import attention, mlp
from tests.bundle.bundled_modules import NAMES, WEIGHTS, WIDTHS, doubled, images, logits, widest
from topos.bundle import Bundle, check, export, export_module
from topos.bundle.envelope import FLOOR
from topos.bundle.portable import serialized
from topos.errors import ArgumentError, BundleError, FeedError, ToposError, UnsupportedError


def test_a_function_that_jax_exported_is_named_filled_and_checked(tmp_path: Path) -> None:
    jax, jax_export = pytest.importorskip("jax"), pytest.importorskip("jax.export")
    numpy = pytest.importorskip("safetensors.numpy")

    def model(params: Any, image: Any) -> Any:
        pixels = image.reshape(image.shape[0], -1).astype(np.float32) / np.float32(255)
        return {"logits": pixels @ params["dense"]["w"] + params["dense"]["b"]}

    rows = jax_export.symbolic_shape("rows, 8, 8")
    image = jax.ShapeDtypeStruct(rows, np.uint8)
    exported = jax_export.export(jax.jit(model))({"dense": WEIGHTS}, image)
    numpy.save_file({f"params.dense.{each}": own for each, own in WEIGHTS.items()}, tmp_path / "w")
    bundle = export_module(tmp_path / "b", exported, tmp_path / "w", rows=[1, 3])
    assert [str(port) for port in (*bundle.inputs, *bundle.results)] == [
        *("image: ui8[8, 8]", "logits: f32[3]")
    ]
    assert bundle.weights()["params.dense.w"].tobytes() == WEIGHTS["w"].tobytes()
    (call, _) = bundle.programs[1].sample()
    assert len(np.unique(call.inputs["image"])) > 100
    np.testing.assert_allclose(call.results["logits"], logits(call.inputs["image"]), rtol=1e-4)
    assert check(bundle, ["interpreter", "xla"]).passed


def test_every_integer_comes_back_bit_for_bit(tmp_path: Path) -> None:
    bundle = export_module(tmp_path / "b", doubled(), samples=[widest()])
    (program,) = bundle.programs
    (call,) = program.sample()
    for name, dtype in WIDTHS.items():
        given, result = widest()[f"x {name}"], call.results[f"y {name}"]
        assert call.inputs[f"x {name}"].tobytes() == given.tobytes()
        assert result.dtype == dtype
        assert result.tolist() == (given + given).tolist()
    assert check(bundle, "interpreter").passed


@pytest.mark.parametrize("plan", [mlp(3), attention()], ids=["mlp", "attention"])
def test_a_module_has_the_results_and_about_the_envelopes_of_the_plan(
    tmp_path: Path, plan: Any
) -> None:
    ours = export(tmp_path / "plan", plan)
    (program,) = ours.programs
    names = [each.name for each in program.arguments]
    again = export_module(tmp_path / "module", program.text, ours.weights(), names=names)
    (other,) = again.programs
    assert again.weights().keys() == ours.weights().keys()
    assert [str(port) for port in other.arguments] == [str(port) for port in program.arguments]
    for call, theirs in zip(program.sample(), other.sample(), strict=True):
        for name, result in call.results.items():
            assert theirs.results[name].tobytes() == result.tobytes()
    for port, own in zip(program.results, other.results, strict=True):
        assert port.envelope / 3 < own.envelope < port.envelope * 3


def shifted(number: float, body: str) -> str:
    constant = f"%c = stablehlo.constant dense<{number}> : TYPE"
    return module("tensor<2xf32>", f"{constant}\n{body}\nreturn %r : TYPE")


def test_the_envelope_grows_with_what_arguments_and_operations_round(tmp_path: Path) -> None:
    unit = 2.0**-23
    less = shifted(1.0, "%r = stablehlo.subtract %a, %c : TYPE")
    both = "%b = stablehlo.add %a, %c : TYPE\n%r = stablehlo.subtract %b, %c : TYPE"
    for text, sample, least in (
        # The difference is exact on every runtime: only the argument may be off.
        (less, [1 + 2**-12, 1.0], 2**12 * unit),
        # The sum rounds far more coarsely than the argument is off.
        (shifted(1024.0, both), [1.0, 0.5], 2**10 * unit),
        (module("tensor<2xf32>"), [1.0, 0.5], FLOOR * unit),
    ):
        bundle = export_module(tmp_path / "b", text, samples=[{"arg0": sample}])
        assert least <= bundle.programs[0].results[0].envelope <= 32 * least


NAMED = {
    '%a: tensor<f32> {topos.name = "x"} loc("y")': ("x", "logits"),
    "%a: tensor<f32> loc(\"params['dense'][0].kernel\")": ("params.dense.0.kernel", "logits"),
    "%a: tensor<f32> loc(\"x['a b']+1\")": ("x['a b']+1", "logits"),
    '%a: tensor<f32> {jax.global_constant = "_platform_index"}': ("_platform_index", "logits"),
    "%a: tensor<f32>": ("listed", "logits"),
}


@pytest.mark.parametrize("head", NAMED)
def test_names_are_those_that_the_module_carries(tmp_path: Path, head: str) -> None:
    text = f"""module attributes {{mhlo.frontend_attributes = {{arg0 = "listed"}}}} {{
      func.func @main({head}) -> (tensor<f32> {{jax.result_info = "result['logits']"}}) {{
        return %a : tensor<f32>
      }}
    }}"""
    (program,) = export_module(tmp_path / "b", text).programs
    assert (program.arguments[0].name, program.results[0].name) == NAMED[head]
    new = {"arg0": "in", NAMED[head][1]: "out"}
    (program,) = export_module(tmp_path / "b", text, names=new).programs
    assert (program.arguments[0].name, program.results[0].name) == ("in", "out")


def test_what_no_name_tells_apart_is_numbered(tmp_path: Path) -> None:
    two = 'tensor<f32> loc("same")'
    text = f"""func.func @main(%a: {two}, %b: {two}) -> (tensor<f32>, tensor<f32>) {{
      return %a, %b : tensor<f32>, tensor<f32>
    }}"""
    (program,) = export_module(tmp_path / "b", text).programs
    names = [each.name for each in (*program.arguments, *program.results)]
    assert names == ["arg0", "arg1", "result0", "result1"]


def module(argument: str, body: str = "return %a : TYPE") -> str:
    body = body.replace("TYPE", argument)
    return f"func.func @main(%a: {argument}) -> {argument} {{\n{body}\n}}"


CALL = "%r = stablehlo.custom_call @Mine(%a) : (TYPE) -> TYPE\nreturn %r : TYPE"
TRANSPOSED = {**WEIGHTS, "w": WEIGHTS["w"].T.copy(), "b": WEIGHTS["b"].astype(np.float64)}
REFUSED: dict[str, tuple[type[ToposError], str, dict[str, Any]]] = {
    "needs tensors, got the argument 'arg0' of !stablehlo.token": (
        BundleError, module("!stablehlo.token"), {},
    ),
    "ui8, got the argument 'arg0' of tensor<2xi4>": (BundleError, module("tensor<2xi4>"), {}),
    "ui8, got the argument 'arg0' of tensor<2xf8E5M2>": (
        BundleError, module("tensor<2xf8E5M2>"), {},
    ),
    "leaves arg0: tensor<?xf32> open": (BundleError, module("tensor<?xf32>"), {}),
    "rows are for leading extents that a module leaves open": (
        BundleError, module("tensor<2xf32>"), {"rows": [1, 2]},
    ),
    "a function @main, got @other": (
        BundleError, module("tensor<f32>").replace("main", "other"), {},
    ),
    "custom_call @Mine": (UnsupportedError, module("tensor<f32>", CALL), {}),
    "a sample needs 'arg0' of i32[2] given": (FeedError, module("tensor<2xi32>"), {}),
    "'w' needs f32[64, 3], got f32[3, 64]; 'b' needs f32[3], got f64[3]; the arguments are w": (
        FeedError, images(), {"weights": TRANSPOSED},
    ),
    "the weights do not fit: no argument is called 'c'": (
        FeedError, images(), {"weights": {**WEIGHTS, "c": 0.0}},
    ),
    "no argument is called 'w' (did you mean 'params.w'?); no argument is called 'b';": (
        FeedError, images(), {"weights": WEIGHTS, "names": ["params.w", "c", *NAMES[2:]]},
    ),
    "a shape is given for 'c'": (FeedError, images(), {"shapes": {"c": [1]}}),
    "4 arguments and results have a name each, got 5": (
        FeedError, images(), {"names": [*NAMES, "more"]},
    ),
    "need names of their own, got 'w' twice": (FeedError, images(), {"names": ["w", "w"]}),
    "new names are given for 'arg0' and 'w'": (
        FeedError,
        module("tensor<f32>").replace("%a: tensor<f32>", '%a: tensor<f32> {topos.name = "w"}'),
        {"names": {"arg0": "c", "w": "d"}},
    ),
    "a new name is given for 'c'": (FeedError, images(), {"names": {"c": "d"}}),
    "a range is given for 'w', and the inputs are arg0: i32[2]": (
        FeedError, module("tensor<2xi32>"), {"ranges": {"w": (0, 1)}},
    ),
    "arg0: i16[2] does not hold integers of 0 to 32768": (
        FeedError, module("tensor<2xi16>"), {"ranges": {"arg0": (0, 32769)}},
    ),
    "a range is the least integer": (
        ArgumentError, module("tensor<2xi16>"), {"ranges": {"arg0": (3, 3)}},
    ),
    "@main with a body": (BundleError, "func.func private @main() -> tensor<f32>", {}),
    "a seed needs an integer of 0": (ArgumentError, module("tensor<2xui8>"), {"seed": -1}),
    "shapes map names to tuples": (ArgumentError, images(), {"shapes": {"w": 3}}),
    "names are a sequence": (ArgumentError, images(), {"names": "w"}),
    "a bundle of 2 modules needs batched=True": (
        BundleError, "", {"modules": [images(), images()]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_no_bundle_is_refused_by_name(tmp_path: Path, message: str) -> None:
    kind, text, options = REFUSED[message]
    options = {"names": NAMES} | options if text == images() else dict(options)
    with pytest.raises(kind) as caught:
        export_module(tmp_path / "b", options.pop("modules", text), **options)
    assert message in str(caught.value)
    assert not (tmp_path / "b").exists()


def test_open_extents_get_the_shapes_that_are_given(tmp_path: Path) -> None:
    shape: tuple[Any, ...] = (np.int64(3), 2)
    bundle = export_module(tmp_path / "b", module("tensor<?x2xf32>"), shapes={"arg0": shape})
    assert [str(port) for port in bundle.results] == ["result0: f32[3, 2]"]


def test_several_modules_are_programs_of_their_rows(tmp_path: Path) -> None:
    bundle = export_module(
        tmp_path / "b", [images(4), images(1)], {**WEIGHTS, "more": 1.0}, names=NAMES, batched=True,
        partial=True,
    )  # fmt: skip
    assert [program.rows for program in Bundle.load(bundle.path).programs] == [1, 4]


def test_integers_are_drawn_from_the_range_that_is_given(tmp_path: Path) -> None:
    for batched in (False, True):
        bundle = export_module(
            tmp_path / "b", module("tensor<8xi16>"), ranges={"arg0": (-3, 4)}, batched=batched
        )
        first, second = (call.inputs["arg0"] for call in bundle.programs[0].sample())
        assert {*first, *second} <= {*range(-3, 4)}
        assert len({*first, *second}) > 3
        assert first.tobytes() != second.tobytes()


def test_a_binary_form_keeps_its_names(tmp_path: Path) -> None:
    text = module("tensor<2xf32>").replace("<2xf32>)", '<2xf32> loc("x"))', 1)
    (program,) = export_module(tmp_path / "b", serialized(text, "1.9.0")).programs
    assert program.arguments[0].name == "x"
