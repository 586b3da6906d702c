"""Random inputs, the formula in float64, and comparisons, for all tests."""

from __future__ import annotations

import math

import torch
from quest_attention import FORMULATIONS
from torch import Tensor


def qkv(
    batch=2, heads=4, key_heads=None, queries=33, keys=41, dim=24, value_dim=40, dtype=torch.float32, grad=True, seed=0
):
    generator = torch.Generator().manual_seed(seed)
    key_heads = key_heads or heads
    shapes = [(batch, heads, queries, dim), (batch, key_heads, keys, dim), (batch, key_heads, keys, value_dim)]
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad) for shape in shapes
    ]


def gain_for(name: str, heads: int, dim: int) -> Tensor | None:
    shape = {"none": None, "head": (heads, 1), "dim": (1, dim), "head_and_dim": (heads, dim)}[
        FORMULATIONS[name].gain_axes
    ]
    return None if shape is None else 0.5 + torch.rand(shape, generator=torch.Generator().manual_seed(7))


def exact(q, k, v, name="quest", gain=None, seen=None, bias=None):
    """The formula, written out in float64 without anything of the package but the switches."""
    formulation = FORMULATIONS[name]
    q, k, v = q.double(), k.double(), v.double()
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    q = q / q.norm(dim=-1, keepdim=True) if formulation.normalize_q else q
    k = k / k.norm(dim=-1, keepdim=True) if formulation.normalize_k else k
    q = q if gain is None else q * gain.double().unsqueeze(-2)
    logits = q @ k.transpose(-1, -2)
    logits = logits / math.sqrt(q.shape[-1]) if formulation.divide_by_sqrt_dim else logits
    logits = logits if bias is None else logits + bias.double()
    logits = logits if seen is None else logits.masked_fill(~seen, -math.inf)
    return logits.softmax(-1) @ v


def assert_close(actual: Tensor, expected: Tensor, tolerance: float, what: str = "result") -> None:
    assert actual.shape == expected.shape, f"{what}: shape {tuple(actual.shape)}, expected {tuple(expected.shape)}"
    difference = (actual.double() - expected.double()).abs().max().item()
    largest = expected.abs().max().item()
    assert difference <= tolerance * max(largest, 1e-30), f"{what}: off by {difference:.3g} of {largest:.3g}"


def assert_same_gradients(actual: Tensor, expected: Tensor, inputs: list[Tensor], tolerance: float) -> None:
    weights = torch.randn(actual.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    ours = torch.autograd.grad(actual, inputs, weights.to(actual.dtype), retain_graph=True)
    theirs = torch.autograd.grad(expected, inputs, weights.to(expected.dtype), retain_graph=True)
    for index, (own, other) in enumerate(zip(ours, theirs)):
        assert_close(own, other, tolerance, f"gradient {index}")
