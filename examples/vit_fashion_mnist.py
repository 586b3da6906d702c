"""Trains a small Hugging Face ViT on Fashion-MNIST, once with standard attention and once with QUEST.

The data: Debian's package dataset-fashion-mnist, or the four files of the data set in any folder (--data).
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy
import quest_attention
import torch
import torch.nn.functional as F
from curves import print_curves
from torch import Tensor
from transformers import AutoModelForImageClassification, ViTConfig


def read_idx(path: Path) -> Tensor:
    """The format of the MNIST family: two zero bytes, type, rank, the sizes as big-endian integers, the values."""
    if not path.is_file():
        raise SystemExit(
            f"{path} does not exist; install Debian's dataset-fashion-mnist, or name the folder with --data"
        )
    content = gzip.decompress(path.read_bytes())
    sizes = numpy.frombuffer(content, ">u4", content[3], 4).astype(int)
    values = numpy.frombuffer(content, "u1", offset=4 + 4 * len(sizes))
    return torch.from_numpy(values.reshape(sizes).copy())


def images_and_labels(folder: Path, part: str) -> tuple[Tensor, Tensor]:
    images = read_idx(folder / f"{part}-images-idx3-ubyte.gz").unsqueeze(1).float() / 255
    return (images - 0.286) / 0.353, read_idx(folder / f"{part}-labels-idx1-ubyte.gz").long()


def train(attention: str, options: argparse.Namespace) -> tuple[list[float], float]:
    torch.manual_seed(options.seed)
    config = ViTConfig(
        hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128,
        image_size=28, patch_size=7, num_channels=1,
    )  # fmt: skip
    config.num_labels = 10
    model = AutoModelForImageClassification.from_config(config, attn_implementation=attention)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    images, labels = images_and_labels(options.data, "train")
    losses = []
    for _ in range(options.steps):
        chosen = torch.randint(len(images), (options.batch,))
        loss = F.cross_entropy(model(pixel_values=images[chosen]).logits, labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    test_images, test_labels = (x[:2000] for x in images_and_labels(options.data, "t10k"))
    with torch.no_grad():
        answers = model.eval()(pixel_values=test_images).logits.argmax(-1)
    return losses, (answers == test_labels).float().mean().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    quest_attention.register_hf()
    results = {name: train(name, options) for name in ("standard", "quest")}
    print_curves("training loss", {name: losses for name, (losses, _) in results.items()})
    for name, (_, accuracy) in results.items():
        print(f"{name}: {100 * accuracy:.1f} % of 2000 test images")


if __name__ == "__main__":
    main()
