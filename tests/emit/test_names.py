"""Names of arguments and results, the version and the digest, after other tools read the module."""

from __future__ import annotations

import hashlib
import re
from importlib.metadata import version

from tests.runtimes.require import require
from topos import Plan, Tape, runtimes, stablehlo

ODD = 'pa"r, {x}=\u00e9\n[3]'
ARGUMENTS = ["layers/0/weight", ODD]
RESULTS = ["loss", "layers/0/weight"]


def plan() -> Plan:
    """Returns a plan with an argument as a result, an odd name, and what has no name."""
    tape = Tape()
    weight = tape.parameter([1.0, 2.0], name=ARGUMENTS[0])
    odd, nameless = tape.input([3.0, 4.0], name=ODD), tape.input([5.0, 6.0])
    loss = (weight * odd + nameless).named("loss")
    roots = [loss.symbol, weight.symbol, (loss * 2.0).symbol]
    return tape.into_network().entry(roots).lower()


def escaped(name: str) -> str:
    """Returns a name as MLIR writes it in a string."""
    return "".join(
        c
        if c.isascii() and c.isprintable() and c not in '"\\'
        else "".join(f"\\{byte:02X}" for byte in c.encode())
        for c in name
    )


def names(text: str) -> tuple[list[str], list[str]]:
    """Returns the names that the arguments and the results of `main` have in a listing."""
    (head,) = re.findall(r"main\((.*)\) -> \((.*)\)", text)
    arguments, results = (re.findall(r'topos\.name = "([^"]*)"', part) for part in head)
    return arguments, results


def expected() -> tuple[list[str], list[str]]:
    return [*map(escaped, ARGUMENTS)], [*map(escaped, RESULTS)]


def test_names_are_in_the_text_and_in_what_our_own_parser_prints() -> None:
    text = plan().emit_stablehlo()
    assert names(text) == expected()
    assert names(runtimes.printed(text)) == expected()
    assert names(runtimes.printed(text, generic=True)) == expected()


def test_the_module_has_the_version_and_the_digest_of_the_rest() -> None:
    text = plan().emit_stablehlo()
    (written, digest) = re.findall(r'(, topos\.digest = "sha256:([0-9a-f]{64})")', text)[0]
    rest = text.replace(written, "", 1).encode()
    assert hashlib.sha256(rest).hexdigest() == digest
    assert f'topos.version = "{version("topos-compiler")}"' in text.splitlines()[0]
    assert plan().emit_stablehlo() == text


def test_names_version_and_digest_last_through_jaxlib_and_a_portable_artifact() -> None:
    require("xla")
    from jax.extend.mlir import ir
    from jax.interpreters.mlir import make_ir_context

    from topos.bundle.portable import serialized

    text = plan().emit_stablehlo()
    with make_ir_context():
        parsed = str(ir.Module.parse(text))
    for listing in (parsed, stablehlo.text_of(serialized(text, "1.0.0"))):
        assert names(listing) == expected()
        for key in ("topos.version", "topos.digest"):
            (kept,) = re.findall(rf'{key} = "[^"]*"', text)
            assert kept in listing


def test_names_are_in_both_listings_of_xla() -> None:
    require("xla")
    import jax
    from jaxlib import xla_client
    from jaxlib._jax import DeviceList, mlir

    text = plan().emit_stablehlo()
    before = mlir.mlir_module_to_xla_computation(text, False, False).as_hlo_text()
    device = jax.devices("cpu")[0]
    options = xla_client.CompileOptions()
    loaded = device.client.compile_and_load(text, DeviceList((device,)), options)
    after = loaded.hlo_modules()[0].to_string()
    octal = ODD.replace('"', '\\"').replace("\u00e9", "\\303\\251").replace("\n", "\\n")
    listed = f'arg0="{ARGUMENTS[0]}",arg1="{octal}",result0="loss",result1="{RESULTS[1]}"'
    for listing in (before, after):
        assert f"frontend_attributes={{{listed}}}" in listing
    # A parameter has the name without its path, in letters that HLO takes; its metadata has all.
    assert "weight.1 = f32[2]{0} parameter(0)" in before
    for name in (ARGUMENTS[0], octal):
        assert f'metadata={{op_name="{name}"}}' in after


def test_names_are_in_the_listing_and_the_binary_of_iree() -> None:
    require("iree")
    from iree import runtime
    from iree.compiler.tools import compile_str

    text, target = plan().emit_stablehlo(), {"target_backends": ["llvm-cpu"]}
    flags = ["--iree-llvmcpu-target-cpu=generic"]
    listing = compile_str(
        text, input_type="stablehlo", extra_args=[*flags, "--compile-to=input"], **target
    ).decode()
    assert names(listing) == expected()
    binary = compile_str(text, input_type="stablehlo", extra_args=flags, **target)
    instance = runtime.VmInstance()
    module = runtime.VmModule.copy_buffer(instance, binary)
    assert module is not None
    reflection = module.lookup_function("main").reflection["iree.abi.declaration"]
    assert [*names(reflection)] == [*expected()]
