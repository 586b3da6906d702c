"""Attention as its formula, in differentiable torch operations. It serves what the fused kernels cannot: float64,
devices without kernels, forward-mode and functorch derivatives, and derivatives of derivatives.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ._call import CAUSAL_LOWER_RIGHT, CAUSAL_NONE, Call
from ._library import serves

MINUS_INFINITY = float("-inf")


def largest_magnitude(x: Tensor) -> Tensor:
    return x.detach().abs().amax(-1, keepdim=True)


def unit_rows(x: Tensor) -> Tensor:
    # x/|x| does not change when x is scaled, so the scale that keeps the squares in range is a constant to autograd.
    largest = largest_magnitude(x)
    is_zero = largest == 0
    scaled = x / largest.masked_fill(is_zero, 1.0)
    norm = scaled.square().sum(-1, keepdim=True).masked_fill(is_zero, 1.0).sqrt()
    return (scaled / norm).masked_fill(is_zero, 0.0)


def row_norms(x: Tensor) -> Tensor:
    largest = largest_magnitude(x)
    scaled = x / largest.masked_fill(largest == 0, 1.0)
    return (largest * scaled.square().sum(-1, keepdim=True).sqrt()).squeeze(-1)


def visible_pairs(call: Call) -> Tensor | None:
    """Bool, broadcastable to [B, H, Nq, Nk]; None when every query sees every key."""
    queries, keys = call.q.shape[2], call.k.shape[2]
    key_positions = torch.arange(keys, device=call.q.device)
    counts = None if call.key_lengths is None else call.key_lengths.to(call.q.device, torch.long).view(-1, 1, 1, 1)
    seen = []
    if counts is not None:
        seen.append(key_positions < counts)
    if call.causal != CAUSAL_NONE:
        last = torch.arange(queries, device=call.q.device).unsqueeze(-1)
        if call.causal == CAUSAL_LOWER_RIGHT:
            last = last + ((keys if counts is None else counts) - queries)
        seen.append(key_positions <= last)
    if call.mask is not None:
        seen.append(call.mask if call.mask.dtype == torch.bool else call.mask.detach() != MINUS_INFINITY)
    if not seen:
        return None
    pairs = seen[0] if len(seen) == 1 else seen[0] & seen[1]
    return pairs.reshape((1,) * max(0, 2 - pairs.dim()) + pairs.shape)


def compute_type(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def repeat_heads(x: Tensor, heads: int) -> Tensor:
    return x if x.shape[1] == heads else x.repeat_interleave(heads // x.shape[1], 1)


def keep_seen(rows: Tensor, seen: Tensor | None) -> Tensor:
    """0 in rows that are not seen at all, so that what lies in padding reaches nothing."""
    return rows if seen is None else torch.where(seen, rows, 0.0)


def logits_and_weights(call: Call) -> tuple[Tensor, Tensor]:
    heads, dtype = call.q.shape[1], compute_type(call.q)
    pairs = visible_pairs(call)
    queries_seeing = None if pairs is None else pairs.any(-1, keepdim=True)
    keys_seen = None if pairs is None else pairs.any(-2, keepdim=True).transpose(-1, -2)
    q = keep_seen(call.q.to(dtype), queries_seeing)
    k = keep_seen(repeat_heads(call.k, heads).to(dtype), keys_seen)
    q = unit_rows(q) if call.normalize_q else q
    k = unit_rows(k) if call.normalize_k else k
    q = q if call.gain is None else q * call.gain.unsqueeze(1)
    logits = (q * call.scale) @ k.transpose(-1, -2)
    if call.mask is not None and call.mask.dtype != torch.bool:
        logits = logits + call.mask.to(dtype)
    if pairs is None:
        return logits, logits.softmax(-1)
    logits = torch.where(pairs, logits, MINUS_INFINITY)
    # Rows that see nothing go through softmax as zeros, which keeps NaN out of every derivative.
    return logits, torch.where(pairs, keep_seen(logits, queries_seeing).softmax(-1), 0.0)


def dropout_factors(call: Call, batch: int, queries: int, keys: int) -> Tensor | None:
    if call.dropout_seed is None:
        return None
    device = call.q.device if serves(call.q.device) else torch.device("cpu")
    rows = torch.empty(batch, call.q.shape[1], queries, 0, device=device)
    factors = torch.ops.quest.dropout(rows, keys, call.dropout_p, call.dropout_seed)
    return factors.to(call.q.device, compute_type(call.q))


def dense_attention(call: Call, factors: Tensor | None) -> Tensor:
    _, weights = logits_and_weights(call)
    weights = weights if factors is None else weights * factors
    pairs = visible_pairs(call)
    v = repeat_heads(call.v, call.q.shape[1]).to(weights.dtype)
    v = keep_seen(v, None if pairs is None else pairs.any(-2, keepdim=True).transpose(-1, -2))
    return (weights @ v).to(call.q.dtype)


def split_packed(call: Call) -> list[Call]:
    assert call.cu_seqlens_q is not None and call.cu_seqlens_k is not None
    at_q, at_k = call.cu_seqlens_q.tolist(), call.cu_seqlens_k.tolist()
    return [
        call._replace(
            q=call.q[:, :, at_q[s] : at_q[s + 1]],
            k=call.k[:, :, at_k[s] : at_k[s + 1]],
            v=call.v[:, :, at_k[s] : at_k[s + 1]],
            cu_seqlens_q=None,
            cu_seqlens_k=None,
        )
        for s in range(len(at_q) - 1)
    ]


def attention_formula(call: Call) -> Tensor:
    if call.cu_seqlens_q is None:
        return dense_attention(call, dropout_factors(call, call.q.shape[0], call.q.shape[2], call.k.shape[2]))
    sequences = split_packed(call)
    if not sequences:
        return dense_attention(call._replace(dropout_seed=None), None)
    most_queries = max(sequence.q.shape[2] for sequence in sequences)
    most_keys = max(sequence.k.shape[2] for sequence in sequences)
    factors = dropout_factors(call, len(sequences), most_queries, most_keys)
    outputs = []
    for s, sequence in enumerate(sequences):
        own = None if factors is None else factors[s : s + 1, :, : sequence.q.shape[2], : sequence.k.shape[2]]
        outputs.append(dense_attention(sequence, own))
    return torch.cat(outputs, 2)


def statistics_formula(call: Call) -> tuple[Tensor, ...]:
    """lse, max_logit, entropy, q_norm, k_norm, key_mass."""
    if call.cu_seqlens_q is not None:
        parts = [statistics_formula(sequence) for sequence in split_packed(call)]
        return tuple(torch.cat(rows, 2) for rows in zip(*parts))
    logits, weights = logits_and_weights(call)
    no_keys = call.k.shape[2] == 0
    k_norm = row_norms(call.k.to(weights.dtype))
    if call.key_lengths is not None:
        positions = torch.arange(call.k.shape[2], device=call.k.device)
        k_norm = torch.where(positions < call.key_lengths.to(call.k.device).view(-1, 1, 1), k_norm, 0.0)
    return (
        logits.logsumexp(-1),
        logits.new_full(logits.shape[:-1], MINUS_INFINITY) if no_keys else logits.amax(-1),
        -torch.xlogy(weights, weights).sum(-1),
        row_norms(call.q.to(weights.dtype)),
        k_norm,
        weights.sum(-2),
    )
