"""Factors per head, carried into the projection that makes a layer's queries."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

FEWEST_TOKENS = 4


@dataclass
class QueryProjection:
    """Where the queries of a layer come from: the weight's rows (or columns), and the bias, of each head.

    With one start for all heads they share their weights, as those of a norm.
    """

    weight: nn.Parameter
    bias: nn.Parameter | None
    outputs: int  # the dimension of the weight that the outputs lie along
    starts: list[int]  # of each head
    dim: int

    @property
    def is_shared(self) -> bool:
        return len(self.starts) == 1

    def parameters(self) -> list[nn.Parameter]:
        return [self.weight] if self.bias is None else [self.weight, self.bias]

    def multiply(self, factors: Tensor) -> None:
        """Every query of head h becomes ``factors[h]`` times what it was."""
        all_outputs = torch.ones(self.weight.shape[self.outputs], device=self.weight.device)
        for start, factor in zip(self.starts, factors.to(all_outputs)):
            all_outputs[start : start + self.dim] = factor
        with torch.no_grad():
            along = [-1 if dimension == self.outputs else 1 for dimension in range(self.weight.dim())]
            self.weight.mul_(all_outputs.reshape(along).to(self.weight.dtype))
            if self.bias is not None:
                self.bias.mul_(all_outputs.to(self.bias.dtype))


def outputs_dimension(module: nn.Module) -> int | None:
    """Of the weight of a linear layer, which transformers' Conv1D has transposed, or of a norm."""
    if isinstance(module, nn.Linear):
        return 0
    if type(module).__name__ == "Conv1D":
        return 1
    weight = module._parameters.get("weight")
    return 0 if weight is not None and weight.dim() == 1 else None


def projection_of_multihead(layer: nn.MultiheadAttention) -> QueryProjection:
    dim = layer.head_dim
    weight = layer.q_proj_weight if layer.in_proj_weight is None else layer.in_proj_weight
    starts = [head * dim for head in range(layer.num_heads)]
    return QueryProjection(weight, layer.in_proj_bias, 0, starts, dim)


def heads_of(outputs: Tensor, dim: int) -> Tensor | None:
    """The norms of a projection's outputs, [tokens, heads], where they can be cut into heads of that size."""
    if outputs.shape[-1] % dim != 0:
        return None
    return outputs.detach().float().reshape(-1, outputs.shape[-1] // dim, dim).norm(dim=-1)


def matching_heads(queries: Tensor, outputs: Tensor, tolerance: float) -> list[int] | None:
    """For each head of the queries the head of the outputs whose norm, token by token, is the same but for a constant.

    Rotations leave norms as they are, so rotary embeddings do not matter; a norm between the two does.
    """
    if queries.shape[0] != outputs.shape[0]:
        return None
    is_more_than_padding = (queries > 0).any(1)
    queries, outputs = queries[is_more_than_padding], outputs[is_more_than_padding]
    if queries.shape[0] < FEWEST_TOKENS:
        return None
    found = []
    for head in queries.unbind(1):
        ratios = head.unsqueeze(1) / outputs.clamp(min=1e-12)
        spread = (ratios.amax(0) - ratios.amin(0)) / ratios.mean(0).clamp(min=1e-12)
        spread[found] = float("inf")
        best = int(spread.argmin())
        if not spread[best] <= tolerance:
            return None
        found.append(best)
    return found


def rows_of(norms: Tensor, is_shared: bool) -> list[Tensor]:
    """The queries' norms [B, H, N] as [tokens, heads], or as [tokens times heads, 1], in the orders in use."""
    if is_shared:
        return [norms.permute(order).reshape(-1, 1) for order in ((0, 2, 1), (0, 1, 2), (2, 0, 1))]
    return [norms.permute(order).flatten(0, 1) for order in ((0, 2, 1), (2, 0, 1))]


def find_projection(queries: Tensor, outputs: dict[nn.Module, Tensor], tolerance: float) -> QueryProjection | None:
    """Which of the linear layers and norms, known by their outputs, made the queries [B, H, N, D]."""
    dim = queries.shape[3]
    norms = queries.detach().float().norm(dim=-1)
    for module in sorted(outputs, key=lambda module: module.weight.dim(), reverse=True):  # type: ignore[union-attr]
        made, along = heads_of(outputs[module], dim), outputs_dimension(module)
        if made is None or along is None:
            continue
        for rows in rows_of(norms, made.shape[1] == 1):
            heads = matching_heads(rows, made, tolerance)
            if heads is not None:
                bias = getattr(module, "bias", None)
                return QueryProjection(module.weight, bias, along, [head * dim for head in heads], dim)  # type: ignore[arg-type]
    return None
