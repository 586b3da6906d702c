"""``F.multi_head_attention_forward``, which ``nn.MultiheadAttention`` calls, around any attention function.

A function mode that has intercepted torch's own function cannot also intercept the attention inside it, so projections
and masks are repeated here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Attend = Callable[..., Tensor]


def projections(
    inputs: list[Tensor], packed: Tensor | None, separate: tuple[Any, Any, Any], bias: Tensor | None
) -> list[Tensor]:
    if packed is not None and inputs[0] is inputs[1] is inputs[2]:
        return list(F.linear(inputs[0], packed, bias).chunk(3, -1))
    weights = separate if packed is None else packed.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [F.linear(x, w, b) for x, w, b in zip(inputs, weights, biases)]


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """In torch's multi-head functions, true in a boolean mask means: may not attend."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, float("-inf"))


def joint_mask(
    attn_mask: Tensor | None, padding: Tensor | None, batch: int, dtype: torch.dtype, more_keys: int
) -> Tensor | None:
    """One additive mask for [batch, heads, queries, keys]; keys that the module itself appends are always seen."""
    parts = []
    if attn_mask is not None:
        mask = additive(attn_mask, dtype)
        parts.append(mask if mask.dim() == 2 else mask.unflatten(0, (batch, -1)))
    if padding is not None:
        parts.append(additive(padding, dtype)[:, None, None])
    padded = [F.pad(part, (0, more_keys)) for part in parts]
    return None if not padded else padded[0] if len(padded) == 1 else padded[0] + padded[1]


def attend_with_weights(attend: Attend, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    """The weights are the attention over one-hot values."""
    one_hot = torch.eye(k.shape[2], dtype=v.dtype, device=v.device).expand(*k.shape[:3], -1)
    weights = attend(q, k, one_hot, *rest)
    return weights @ v, weights


def multi_head_attention(
    attend: Attend,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Arguments, layouts and results are those of ``F.multi_head_attention_forward``, ``attend`` its attention."""
    if query.shape[-1] != embed_dim_to_check:
        raise ValueError(
            f"query must have the {embed_dim_to_check} features of the layer, got shape {list(query.shape)}"
        )
    if is_causal and attn_mask is None:
        raise ValueError("is_causal is a hint about attn_mask, got the hint without a mask; pass the causal mask too")
    batched = query.dim() == 3
    inputs = [query, key, value]
    if not batched:
        query = query.unsqueeze(1)
        inputs = [query if x is inputs[0] else x.unsqueeze(1) for x in inputs]
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    batch = query.shape[1]
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = projections(inputs, None if use_separate_proj_weight else in_proj_weight, separate, in_proj_bias)
    if bias_k is not None and bias_v is not None:
        k, v = torch.cat([k, bias_k.expand(1, batch, -1)]), torch.cat([v, bias_v.expand(1, batch, -1)])
    q, k, v = (x.unflatten(-1, (num_heads, -1)).permute(1, 2, 0, 3) for x in (q, k, v))
    k = k if static_k is None else static_k.unflatten(0, (batch, num_heads))
    v = v if static_v is None else static_v.unflatten(0, (batch, num_heads))
    if add_zero_attn:
        k, v = F.pad(k, (0, 0, 0, 1)), F.pad(v, (0, 0, 0, 1))
    more_keys = int(bias_k is not None) + int(add_zero_attn)
    causal = is_causal and key_padding_mask is None and more_keys == 0
    mask = None if causal else joint_mask(attn_mask, key_padding_mask, batch, q.dtype, more_keys)
    rest = (mask, dropout_p if training else 0.0, causal)
    out, weights = attend_with_weights(attend, q, k, v, *rest) if need_weights else (attend(q, k, v, *rest), None)
    out = F.linear(out.permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
    if weights is not None:
        weights = weights.mean(1) if average_attn_weights else weights
        weights = weights if batched else weights.squeeze(0)
    return out if batched else out.squeeze(1), weights
