"""Times training steps of a Hugging Face ViT with torch's standard attention and with QUEST, in turns.

Each figure is the median of a step's CPU time over that of the standard step of the same round; with one thread, CPU
time is what the step costs even where other programs run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import quest_attention
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from transformers import AutoModelForImageClassification, ViTConfig


class NormalizedKeys(TorchFunctionMode):
    """QUEST by torch's own means."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            query, key, *rest = args
            return func(query, F.normalize(key, dim=-1), *rest, **{**kwargs, "scale": 1.0})
        return func(*args, **kwargs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=192, help="64 per head")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(1)
    config = ViTConfig(
        hidden_size=options.width,
        num_hidden_layers=options.layers,
        num_attention_heads=options.width // 64,
        intermediate_size=4 * options.width,
    )
    model = AutoModelForImageClassification.from_config(config, attn_implementation="sdpa").train()
    optimizer = torch.optim.AdamW(model.parameters())
    images, labels = torch.randn(options.batch, 3, 224, 224), torch.zeros(options.batch, dtype=torch.long)

    @contextmanager
    def watched() -> Iterator[None]:
        with quest_attention.patch(model), quest_attention.monitor(model):
            yield

    def step() -> float:
        begin = time.process_time()
        optimizer.zero_grad()
        F.cross_entropy(model(pixel_values=images).logits, labels).backward()
        optimizer.step()
        return time.process_time() - begin

    ways: dict[str, Callable[[], AbstractContextManager[Any]]] = {
        "standard": nullcontext,
        "patch": lambda: quest_attention.patch(model),
        "use": quest_attention.use,
        "normalize + torch": NormalizedKeys,
        "patch + monitor": watched,
    }
    ratios: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds + 1):
        times = {}
        for name, way in ways.items():
            with way():
                times[name] = step()
        for name, seconds in times.items():
            ratios[name].append(seconds / times["standard"])
    for name, values in ratios.items():
        print(f"{name:20}{statistics.median(values[1:]):6.3f}")


if __name__ == "__main__":
    main()
