"""Operations over samples: all at once they are what they are one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from topos import runtimes
from topos.judge import Ensemble, Freedom
from topos.judge.samples.batched import RULES
from topos.runtimes._inputs import random_array
from topos.stablehlo import parse
from topos.stablehlo.dialect import find

GALLERY = sorted((Path(__file__).parents[1] / "gallery").glob("*.mlir"))


def test_an_operation_over_all_samples_is_that_over_each() -> None:
    covered = set()
    for path in GALLERY:
        module = parse(path.read_text()).verify()
        kinds = {kind for kind in map(find, {each.name for each in module.walk()}) if kind in RULES}
        if not kinds:
            continue
        covered |= kinds
        generator = np.random.default_rng(1)
        run = runtimes.load("interpreter").compile(module, numerics="fast")
        arguments = [
            [random_array(generator, type) for type in run.signature.arguments] for _ in range(3)
        ]
        ensemble = Ensemble(module.specialize(arguments[0]))
        # Without amplitude the noise is none, and every argument may differ from sample to sample.
        ensemble._sampling.start(3, 0, 0.0, Freedom.NONE)
        found = ensemble._plain.run(*map(np.stack, zip(*arguments, strict=True)))
        alone = zip(*[run(*each) for each in arguments], strict=True)
        for ours, theirs in zip(found, map(np.stack, alone), strict=True):
            ours = np.broadcast_to(ours, theirs.shape)
            np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5, err_msg=path.stem)
    assert covered == {*RULES}
