"""A sharded checkpoint of 500 MB in Hugging Face's layout of a Llama: time and peak memory of load.

Each way to load it runs in a process of its own, one after another in several rounds, over files
that the system has in memory: `safetensors.numpy.load_file` over the shards, `checkpoint.load` of
the folder, and the same with the `adapt` that turns PyTorch's weights. A way's time is its best of
the rounds, of the load alone; its peak is that of the whole process, beside the bytes of the
weights. The command fails where a load takes more than 1.3 times as long as safetensors alone, or
has a peak above 1.15 of the weights.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np
from safetensors.numpy import load_file, save_file

from topos import Tape, Tensor, checkpoint

WIDTH: Final = 1024
HIDDEN: Final = 2816
WORDS: Final = 16000
LAYERS: Final = 8
SHARDS: Final = 4
ROUNDS: Final = 5
SLOWEST: Final = 1.3
MOST: Final = 1.15
ALONE: Final = "safetensors alone"
WAYS: Final = (ALONE, "as it lies", "turned by adapt")


def shapes() -> dict[str, tuple[int, ...]]:
    """Returns the shape of each tensor of the file: weights are `[outputs, inputs]`."""
    square, up, down = (WIDTH, WIDTH), (HIDDEN, WIDTH), (WIDTH, HIDDEN)
    matrices = {f"self_attn.{each}_proj": square for each in "qkvo"}
    matrices |= {"mlp.gate_proj": up, "mlp.up_proj": up, "mlp.down_proj": down}
    layer: dict[str, tuple[int, ...]] = {f"{name}.weight": own for name, own in matrices.items()}
    layer |= {f"{at}_layernorm.weight": (WIDTH,) for at in ("input", "post_attention")}
    outer = {"model.embed_tokens.weight": (WORDS, WIDTH), "lm_head.weight": (WORDS, WIDTH)}
    return outer | {
        f"model.layers.{at}.{name}": own for at in range(LAYERS) for name, own in layer.items()
    }


def write(folder: Path) -> int:
    """Writes the shards and their index, and returns the bytes of the weights."""
    generator = np.random.default_rng(0)
    placed: dict[str, str] = {}
    names, size = list(shapes()), 0
    for part in range(SHARDS):
        shard = f"model-{part + 1:05}-of-{SHARDS:05}.safetensors"
        tensors = {
            name: generator.standard_normal(shapes()[name], np.float32)
            for name in names[part::SHARDS]
        }
        save_file(tensors, folder / shard, {"format": "pt"})
        size += sum(each.nbytes for each in tensors.values())
        placed |= dict.fromkeys(tensors, shard)
    content = {"metadata": {"total_size": size}, "weight_map": placed}
    (folder / "model.safetensors.index.json").write_text(json.dumps(content))
    return size


def is_turned(name: str) -> bool:
    """Returns whether a tensor is a linear layer's, which `adapt` turns."""
    return name.endswith(("_proj.weight", "head.weight"))


def load(folder: Path, way: str) -> float:
    """Loads the checkpoint in one way, and returns the seconds that it took."""
    if way == ALONE:
        start = time.perf_counter()
        held = [load_file(shard) for shard in sorted(folder.glob("*.safetensors"))]
        assert sum(map(len, held)) == len(shapes())
        return time.perf_counter() - start
    tape, turns = Tape(), way != "as it lies"
    for name, shape in shapes().items():
        own = shape[::-1] if turns and is_turned(name) else shape
        tape.parameter(shape=own, name=name)
    network = tape.into_network()

    def adapt(name: str, tensor: Tensor) -> Tensor:
        return tensor.transpose() if is_turned(name) else tensor

    start = time.perf_counter()
    read = checkpoint.load(folder, network, network, adapt=adapt if turns else None)
    seconds = time.perf_counter() - start
    assert len(read.report.loaded) == len(shapes())
    return seconds


def measured(folder: Path, way: str) -> tuple[float, int]:
    """Returns the seconds and the peak memory of a way, in a process of its own."""
    command = [sys.executable, __file__, str(folder), way]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, peak = done.stdout.split()
    return float(seconds), int(peak)


def main() -> int:
    """Prints what each way takes; returns 1 where one is above its bounds."""
    if len(sys.argv) > 1:
        seconds = load(Path(sys.argv[1]), sys.argv[2])
        kilobytes = 1 if sys.platform == "darwin" else 1024
        print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * kilobytes)
        return 0
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        size = write(Path(folder))
        rounds = [[measured(Path(folder), way) for way in WAYS] for _ in range(ROUNDS)]
    print(f"{size / 1e6:.0f} MB in {SHARDS} shards; at most {SLOWEST}x the time, {MOST}x the bytes")
    best = [min(each[place][0] for each in rounds) for place in range(len(WAYS))]
    for place, way in enumerate(WAYS):
        ratio, peak = best[place] / best[0], max(each[place][1] for each in rounds) / size
        taken = f"{best[place] * 1e3:6.0f} ms  {ratio:5.2f}x"
        print(f"  {way:<20} {taken}  peak {peak:.2f} of the weights")
        faults += way != ALONE and (ratio > SLOWEST or peak > MOST)
    return int(faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())
