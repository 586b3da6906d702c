"""Trains a GPT-2 decoder with standard attention on the bytes of a text file, switches it to QUEST as it is and with
quest_attention.convert, and trains on: how much a switch costs, and how many steps make up for it.

Any file will do: python examples/gpt2_convert.py --text book.txt
"""

from __future__ import annotations

import argparse
import copy
import statistics
from collections.abc import Callable
from pathlib import Path

import quest_attention
import torch
from gpt2_text import read_bytes, windows
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, GPT2Config

Loss = Callable[[nn.Module], float]


def new_model(options: argparse.Namespace) -> nn.Module:
    config = GPT2Config(
        vocab_size=256, n_positions=options.length, n_embd=options.width, n_layer=options.layers, n_head=options.heads,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")


def train(model: nn.Module, data: Tensor, steps: int, rate: float, options: argparse.Namespace, loss_of: Loss) -> dict:
    """The held-out loss by step, step 0 and every tenth."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.1)
    warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 20))
    curve = {0: loss_of(model)}
    for step in range(1, steps + 1):
        batch = windows(data, options.batch, options.length)
        loss = model.train()(input_ids=batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warm.step()
        if step % 10 == 0:
            curve[step] = loss_of(model)
    return curve


def steps_to(target: float, curve: dict[int, float]) -> int | None:
    return next((step for step, loss in curve.items() if loss <= target), None)


def one_seed(seed: int, training: Tensor, held_out: Tensor, options: argparse.Namespace) -> dict[str, dict[int, float]]:
    torch.manual_seed(seed)
    batch = windows(held_out, 32, options.length)

    def loss_of(model: nn.Module) -> float:
        with torch.no_grad():
            return model.eval()(input_ids=batch, labels=batch).loss.item()

    trained = new_model(options)
    train(trained, training, options.steps, 1e-3, options, lambda model: 0.0)
    curves = {}
    for way in ("standard", "switched", "converted"):
        model = copy.deepcopy(trained)
        torch.manual_seed(seed + 1000)
        example = windows(training, 16, options.length)
        if way == "switched":
            quest_attention.patch(model, "quest")
        if way == "converted":
            quest_attention.convert(model, {"input_ids": example, "labels": example})
        curves[way] = train(model, training, options.more_steps, 3e-4, options, loss_of)
    return curves


def print_seed(seed: int, curves: dict[str, dict[int, float]]) -> None:
    before = curves["standard"][0]
    print(f"seed {seed}: held-out loss, nats per byte")
    print("  step" + "".join(f"{name:>12}" for name in curves))
    steps = list(curves["standard"])
    for step in steps[:: max(1, len(steps) // 10)]:
        print(f"{step:6d}" + "".join(f"{curve[step]:12.4f}" for curve in curves.values()))
    for name in ("switched", "converted"):
        found = steps_to(before, curves[name])
        took = f"more than {max(curves[name])}" if found is None else str(found)
        print(f"{name}: {curves[name][0] - before:+.4f} at the switch, {took} steps back to {before:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1000, help="of training before the switch")
    parser.add_argument("--more-steps", type=int, default=400, help="of training after it")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=64, help="bytes per window")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    data = read_bytes(options.text, options.length)
    training, held_out = data[: -len(data) // 10], data[-len(data) // 10 :]
    rises: dict[str, list[float]] = {"switched": [], "converted": []}
    for seed in range(options.seeds):
        curves = one_seed(seed, training, held_out, options)
        print_seed(seed, curves)
        for name, values in rises.items():
            values.append(curves[name][0] - curves["standard"][0])
    for name, values in rises.items():
        print(f"{name}: loss rises by {statistics.mean(values):.4f} at the switch, mean over {len(values)} seeds")


if __name__ == "__main__":
    main()
