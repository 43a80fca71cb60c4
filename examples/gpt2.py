"""Goes on from a prompt with the weights of a GPT-2: text in, text out, on any engine.

`python examples/gpt2.py --checkpoint FOLDER --prompt "In the beginning"` takes any folder with
config.json, safetensors and tokenizer.json in Hugging Face's layout.
"""

from __future__ import annotations

from typing import Final

from gpt2_model import Gpt2, configuration, named
from language import Kind, main

GPT2: Final = Kind(configuration, Gpt2, named, lambda sizes: int(sizes.positions), turned=False)

if __name__ == "__main__":
    raise SystemExit(main(GPT2, "Go on from a prompt with the weights of a GPT-2.", None))
