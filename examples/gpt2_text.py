"""Trains a GPT-2 decoder from random weights on the bytes of a text file, with standard attention and with QUEST.

Any file will do: python examples/gpt2_text.py --text book.txt
"""

from __future__ import annotations

import argparse
from pathlib import Path

import quest_attention
import torch
from curves import print_curves
from torch import Tensor
from transformers import AutoModelForCausalLM, GPT2Config


def windows(data: Tensor, count: int, length: int) -> Tensor:
    starts = torch.randint(len(data) - length, (count, 1))
    return data[starts + torch.arange(length)]


def train(attention: str, data: Tensor, options: argparse.Namespace) -> tuple[list[float], float]:
    torch.manual_seed(options.seed)
    config = GPT2Config(
        vocab_size=256, n_positions=options.length, n_embd=options.width, n_layer=options.layers, n_head=options.heads,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    training, held_out = data[: -len(data) // 10], data[-len(data) // 10 :]
    losses = []
    for _ in range(options.steps):
        batch = windows(training, options.batch, options.length)
        loss = model(input_ids=batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    torch.manual_seed(options.seed)
    batch = windows(held_out, 32, options.length)
    with torch.no_grad():
        return losses, model.eval()(input_ids=batch, labels=batch).loss.item()


def read_bytes(path: Path, length: int) -> Tensor:
    if not path.is_file():
        raise SystemExit(f"{path} does not exist; name a text file with --text")
    content = path.read_bytes()
    if len(content) < 20 * length:
        raise SystemExit(f"{path} must hold at least {20 * length} bytes, got {len(content)}; choose a longer text")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8).long()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=64, help="bytes per window")
    parser.add_argument("--width", type=int, default=64, help="768 is GPT-2's own")
    parser.add_argument("--layers", type=int, default=3, help="12 is GPT-2's own")
    parser.add_argument("--heads", type=int, default=4, help="12 is GPT-2's own")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    data = read_bytes(options.text, options.length)
    quest_attention.register_hf()
    results = {name: train(name, data, options) for name in ("standard", "quest")}
    print_curves("training loss (nats per byte)", {name: losses for name, (losses, _) in results.items()})
    for name, (_, loss) in results.items():
        print(f"{name}: {loss:.3f} nats per byte on held-out text")


if __name__ == "__main__":
    main()
