"""Turns the weights in a file of torch.save, of any age, into safetensors. Nothing in the file is executed.

Usage: python3 scripts/convert_weights.py weights.pth weights.safetensors     (needs torch and safetensors from pip)
"""

import argparse

import torch
from safetensors.torch import save_file


def state_dict_of(content: object) -> dict[str, torch.Tensor]:
    while isinstance(content, dict):
        tensors = {name: value for name, value in content.items() if isinstance(value, torch.Tensor)}
        if tensors:
            return tensors
        content = content.get("model", content.get("state_dict"))
    raise SystemExit('expected a dict of tensors, or one under "model" or "state_dict"; found none')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("target")
    options = parser.parse_args()
    with torch.serialization.safe_globals([argparse.Namespace]):
        content = torch.load(options.source, map_location="cpu", weights_only=True)
    # Tensors that share memory are written one by one.
    tensors = {name: tensor.detach().clone().contiguous() for name, tensor in state_dict_of(content).items()}
    save_file(tensors, options.target, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
