"""A check tells a bundle that answers like the oracle from one that does not."""

from __future__ import annotations

import json
import math
import shutil
from functools import partial
from pathlib import Path

import msgspec
import pytest
from safetensors.numpy import load_file, save_file

from tests.bundle.bundled_models import altered, mlp, rewritten
from tests.runtimes.require import require
from topos import Tape, f64, runtimes
from topos.bundle import Bundle, Check, check, export
from topos.bundle.manifest import Manifest
from topos.bundle.report import State, is_slow
from topos.errors import BundleError, UnavailableError
from topos.runtimes import Status

HERE = "interpreter"


def states(found: Check, judge: str) -> list[State]:
    return [each.state for each in found.verdicts if each.judge == judge]


def test_every_ready_runtime_is_inside(exported: Path) -> None:
    found = check(exported)
    ready = [name for name, status in runtimes.status().items() if status.ready]
    assert found.passed, str(found)
    assert found.summary() == f"holds on {', '.join(ready)}"
    for name in ready:
        assert {*states(found, name)} <= {State.BITS, State.INSIDE}
        assert len(states(found, name)) == 2
    assert states(found, "topos") == states(found, "artifact") == [State.HOLDS] * 2


def test_exact_numerics_have_the_oracles_bits_where_they_are_kept(exported: Path) -> None:
    assert states(check(exported, [HERE], numerics="exact"), HERE) == [State.BITS] * 2


def test_a_module_of_other_numbers_is_outside_though_every_digest_fits(folder: Path) -> None:
    altered(folder, "rows4.mlir", "stablehlo.maximum", "stablehlo.minimum")
    found = check(folder, [HERE])
    assert not found.passed
    assert states(found, HERE) == [State.INSIDE, State.OUTSIDE]
    # The artifact still holds what the text was.
    assert states(found, "artifact") == [State.HOLDS, State.FAILED]
    assert "the artifact holds another module than the text" in str(found)
    assert found.summary() == f"2 of {len(found.verdicts)} do not hold"


def test_weights_of_another_model_are_outside(folder: Path, tmp_path: Path) -> None:
    export(tmp_path / "other", mlp(1, seed=5), batched=True)
    shutil.copy(tmp_path / "other" / "weights.safetensors", folder)
    with pytest.raises(BundleError, match="digest is another"):
        check(folder)
    rewritten(folder)
    assert states(check(folder, [HERE]), HERE) == [State.OUTSIDE] * 2


def test_the_furthest_call_decides(folder: Path) -> None:
    path = folder / "rows1.sample.safetensors"
    sample = load_file(path)
    sample["1/results/scores"] = sample["1/results/scores"] + 1
    save_file(sample, path)
    rewritten(folder)
    assert states(check(folder, [HERE]), HERE) == [State.OUTSIDE, State.INSIDE]


def test_a_signature_that_is_not_the_manifests_fails(folder: Path) -> None:
    text = (folder / "rows4.mlir").read_text()
    (folder / "rows1.mlir").write_text(text)
    rewritten(folder)
    found = check(folder, [HERE])
    assert states(found, "topos") == [State.FAILED, State.HOLDS]
    assert states(found, HERE) == [State.BLOCKED, State.INSIDE]
    assert "not run: refused by the verifier" in str(found)
    wrong, every = sum(not each.state.passes for each in found.verdicts), len(found.verdicts)
    assert found.summary() == f"{wrong} of {every} do not hold, and 1 was not run for that"
    assert "@main has float32[5, 8], float32[8], float32[8, 3], float32[3], float32[4, 5]" in str(
        found
    )


def test_a_text_that_no_verifier_accepts_fails_with_the_place(folder: Path) -> None:
    altered(folder, "rows1.mlir", "stablehlo.maximum", "stablehlo.maximal")
    found = check(folder, [HERE])
    assert states(found, "topos") == states(found, "jaxlib") == [State.FAILED, State.HOLDS]
    assert "stablehlo.maximal" in str(found)


def test_an_artifact_that_cannot_be_read_fails(folder: Path) -> None:
    (folder / "rows1.mlirbc").write_bytes(b"ML\xefR nothing")
    rewritten(folder)
    assert states(check(folder, [HERE]), "artifact") == [State.FAILED, State.HOLDS]


def test_an_envelope_of_nothing_admits_bits_alone(folder: Path) -> None:
    def of(envelope: float, manifest: Manifest) -> Manifest:
        programs = tuple(
            msgspec.structs.replace(
                program,
                results=tuple(
                    msgspec.structs.replace(result, envelope=envelope) for result in program.results
                ),
            )
            for program in manifest.programs
        )
        return msgspec.structs.replace(manifest, programs=programs)

    rewritten(folder, partial(of, 0.0))
    assert check(folder, [HERE], numerics="exact").passed
    found = check(folder, [HERE], numerics="fast")
    assert not found.passed
    # One that is as wide as the deviation holds it.
    furthest = max(each.deviation or 0.0 for each in found.verdicts)
    rewritten(folder, partial(of, furthest))
    assert check(folder, [HERE], numerics="fast").passed


def test_a_runtime_that_is_not_here_is_an_error_only_where_it_is_named(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnavailableError, match="no runtime is called 'tpu'"):
        check(exported, ["tpu"])
    for name in ("xla", "iree", "reference"):
        away = Status(False, f"the {name} runtime is away")
        monkeypatch.setattr(type(runtimes.load(name)), "status", lambda self, away=away: away)
    with pytest.raises(UnavailableError, match="the xla runtime is away"):
        check(exported, ["xla"])
    assert check(exported).summary() == "holds on interpreter"


def test_what_a_runtime_lacks_fails_only_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("iree")
    monkeypatch.setattr(runtimes, "names", lambda: (HERE, "iree"))
    tape = Tape(element=f64)
    tape.input(shape=[2], name="x").sin().named("y")
    bundle = tape.into_network().entry(["y"]).lower().export(tmp_path / "b")
    found = check(bundle)
    assert states(found, "iree") == [State.LACKING]
    assert found.passed
    assert states(check(bundle, ["iree"]), "iree") == [State.FAILED]


def product(rows: int) -> str:
    kinds = f"tensor<{rows}x500xf32>, tensor<500x500xf32>"
    return f"""\
func.func @main(%x: tensor<{rows}x500xf32>, %w: tensor<500x500xf32>) -> tensor<{rows}x500xf32> {{
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] :
    ({kinds}) -> tensor<{rows}x500xf32>
  return %0 : tensor<{rows}x500xf32>
}}
"""


def test_the_slow_reference_is_passed_over_unless_it_is_named(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = product(31), product(30)
    reference, other = runtimes.load("reference"), runtimes.load(HERE)
    assert [is_slow(reference, text) for text in (slow, quick)] == [True, False]
    assert not is_slow(other, slow)
    # What nobody can count is not known to be slow.
    assert not is_slow(reference, 'func.func @main() {\n  "foo.bar"() : () -> ()\n  return\n}\n')
    monkeypatch.setattr("topos.bundle.report.PATIENCE", 0)
    monkeypatch.setattr(runtimes, "names", lambda: (HERE, "reference"))
    require("reference")
    found = check(exported)
    assert states(found, "reference") == [State.SKIPPED] * 2
    assert "name reference to run it" in str(found)
    assert found.passed
    assert {*states(check(exported, "reference"), "reference")} <= {State.BITS, State.INSIDE}


def test_a_check_where_nothing_ran_does_not_pass(exported: Path) -> None:
    found = check(exported, [])
    assert not found.passed
    assert found.summary() == "nobody ran the sample"


def test_a_document_is_json_even_of_what_is_infinitely_wrong(folder: Path) -> None:
    altered(folder, "rows1.mlir", "stablehlo.maximum", "stablehlo.divide")
    found = check(folder, [HERE])
    (outside, _) = [each for each in found.verdicts if each.judge == HERE]
    assert outside.deviation == math.inf
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    assert document["passed"] is False
    assert document["version"] == Bundle.load(folder).version
    told = [each for each in document["verdicts"] if each["judge"] == HERE]
    assert (told[0]["state"], told[0]["deviation"]) == ("outside", None)


def test_what_lies_beside_a_bundle_is_listed_and_no_fault(folder: Path) -> None:
    assert Bundle.load(folder).unlisted() == ()
    assert "folder" not in str(check(folder, [HERE]))
    (folder / "__MACOSX").mkdir()
    for name in (".gitattributes", "weights.safetensors~"):
        (folder / name).write_text("")
    found = check(folder, [HERE])
    assert found.passed
    (verdict,) = [each for each in found.verdicts if each.judge == "folder"]
    assert verdict.state is State.UNLISTED
    assert verdict.reason.startswith("'.gitattributes', '__MACOSX', 'weights.safetensors~': not in")
    for name in ("a", "b"):
        (folder / name).write_text("")
    assert "'__MACOSX', 'a', 'b', ...: not in manifest.json" in str(check(folder, [HERE]))
    shutil.rmtree(folder)
    with pytest.raises(BundleError, match="cannot be listed: No such file"):
        found.bundle.unlisted()
