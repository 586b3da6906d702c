"""The statistics of one call of attention, reduced to a few figures per head."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ._call import Call
from ._paths import AttentionStats

FIELDS = ("max_logit", "q_norm", "k_norm", "entropy", "sink")


def row_of_largest(max_logit: Tensor) -> tuple[Tensor, Tensor]:
    """Per head, the batch entry and the query of the largest logit."""
    flat = max_logit.transpose(0, 1).flatten(1).argmax(1)
    return flat // max_logit.shape[2], flat % max_logit.shape[2]


def key_of_largest(call: Call, stats: AttentionStats, batch: Tensor, query: Tensor, largest: Tensor) -> Tensor:
    """Per head, the key behind the largest logit of that row: the one whose logit, computed again, is that number.

    Hidden keys need no thought: their logits are others.
    """
    heads = torch.arange(call.q.shape[1], device=call.q.device)
    key_heads = heads * call.k.shape[1] // call.q.shape[1]
    q = call.q[batch, heads, query].float() * call.scale
    q = q if call.gain is None else q * call.gain.float()
    q = q / stats.q_norm[batch, heads, query].float().unsqueeze(-1) if call.normalize_q else q
    logits = (call.k[batch, key_heads].float() @ q.unsqueeze(-1)).squeeze(-1)
    if call.normalize_k:
        norms = stats.k_norm[batch, key_heads].float()
        logits = logits / norms.masked_fill(norms == 0, 1.0)
    if call.mask is not None and call.mask.dtype != torch.bool:
        logits = logits + call.mask.expand(*call.q.shape[:3], call.k.shape[2])[batch, heads, query]
    return (logits - largest.unsqueeze(-1)).abs().argmin(-1)


def summarize(call: Call, stats: AttentionStats) -> Tensor:
    """[heads, fields]: the largest logit, the norms of the pair behind it, the mean entropy of the queries, and the
    largest share of a sequence's attention that one of its keys receives, averaged over the batch.
    """
    heads = torch.arange(call.q.shape[1], device=call.q.device)
    batch, query = row_of_largest(stats.max_logit)
    largest = stats.max_logit[batch, heads, query]
    key = key_of_largest(call, stats, batch, query, largest)
    queries = (stats.max_logit > -math.inf).sum(-1)
    columns = [
        largest,
        stats.q_norm[batch, heads, query],
        stats.k_norm[batch, heads * call.k.shape[1] // call.q.shape[1], key],
        stats.entropy.sum((0, 2)) / queries.sum(0).clamp(min=1),
        (stats.key_mass.amax(-1) / queries.clamp(min=1)).mean(0),
    ]
    return torch.stack([column.float() for column in columns], 1)
