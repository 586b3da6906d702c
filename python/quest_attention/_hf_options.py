"""Attention as transformers' attention interface asks for it: every option is honoured or refused."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ._formulation import Formulation
from ._gains import gain_of
from ._multihead import attend_with_weights
from ._switch import attend

REFUSED = {
    "softcap": "caps its logits",
    "s_aux": "adds a learned sink to the softmax",
    "sinks": "adds a learned sink to the softmax",
    "block_indices": "attends to blocks of keys that it has chosen",
    "cache": "keeps its keys in pages (continuous batching)",
}
#: Say nothing about this attention: inputs and bookkeeping of the model that come along, or what a mask, the packed
#: rows or the kernels' own determinism has taken care of.
WITHOUT_EFFECT = {
    "cache_position", "deterministic", "grid_thw", "image_grid_thw", "input_ids", "inputs_embeds", "labels",
    "logits_to_keep", "max_length_k", "max_length_q", "num_items_in_batch", "output_attentions",
    "output_hidden_states", "output_router_logits", "past_key_values", "position_ids", "return_dict", "use_cache",
}  # fmt: skip

#: Kinds of configs whose models support "eager" and not "sdpa": their masks have its form, and a layer without a mask
#: sees everything, whatever its is_causal says.
EAGER_ONLY: set[type] = set()


def name_of(module: nn.Module) -> str:
    model = getattr(getattr(module, "config", None), "model_type", None)
    return f"{type(module).__name__} of {model}" if model else type(module).__name__


def refuse(formulation: Formulation, module: nn.Module, name: str, what: str) -> None:
    raise ValueError(
        f"{name_of(module)} {what} ({name}), which attn_implementation={formulation.name!r} does not compute; "
        "use attn_implementation='eager' for this model"
    )


def check_options(formulation: Formulation, module: nn.Module, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value is None or value is False or name in WITHOUT_EFFECT:
            continue
        refuse(formulation, module, name, REFUSED.get(name, "passes an option that quest_attention does not know"))


def restricted(mask: Tensor | None, seen: Tensor, is_causal: bool) -> Tensor:
    """The mask, with nothing visible where ``seen`` is false."""
    if mask is None:
        return seen & torch.ones(seen.shape[-2:], dtype=torch.bool, device=seen.device).tril() if is_causal else seen
    return mask & seen if mask.dtype == torch.bool else mask.masked_fill(~seen, float("-inf"))


def chosen_keys(indices: Tensor, keys: int) -> Tensor:
    """[B, 1, queries, keys] from the indices [B, queries, k] of the keys that a sparse attention looks at."""
    seen = torch.zeros(*indices.shape[:-1], keys, dtype=torch.bool, device=indices.device)
    return seen.scatter(-1, indices.long(), True).unsqueeze(1)


def within_window(queries: int, keys: int, window: int, is_causal: bool, device: torch.device) -> Tensor:
    row = torch.arange(keys - queries, keys, device=device).unsqueeze(-1)
    distance = row - torch.arange(keys, device=device)
    return (distance < window) if is_causal else (distance.abs() <= window)


def mask_with_bias(mask: Tensor | None, bias: Tensor, is_causal: bool) -> Tensor:
    if mask is None and is_causal:
        mask = torch.ones(bias.shape[-2:], dtype=torch.bool, device=bias.device).tril()
    if mask is None:
        return bias
    return torch.where(mask, bias, float("-inf")) if mask.dtype == torch.bool else bias + mask


def wants_weights(module: nn.Module, options: dict[str, Any]) -> bool:
    if options.get("output_attentions"):
        return True
    try:
        from transformers.utils.output_capturing import _active_collector
    except ImportError:
        return False
    wanted = _active_collector.get()
    return wanted is not None and any("attentions" in key for key in wanted)


def hf_attention(
    formulation: Formulation,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    position_bias: Tensor | None = None,
    indices: Tensor | None = None,
    sliding_window: int | None = None,
    cu_seq_lens_q: Tensor | None = None,
    cu_seq_lens_k: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """The output in [B, N, H, Dv], and the weights where ``output_attentions`` asks for them."""
    check_options(formulation, module, options)
    queries, keys = query.shape[2], key.shape[2]
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    by_mask_alone = type(getattr(module, "config", None)) in EAGER_ONLY
    causal = bool(causal) and attention_mask is None and queries > 1 and not by_mask_alone
    if cu_seq_lens_q is not None and cu_seq_lens_k is not None:
        sequence = [torch.bucketize(torch.arange(n, device=query.device), ends[1:].to(query.device), right=True)
                    for n, ends in ((queries, cu_seq_lens_q), (keys, cu_seq_lens_k))]  # fmt: skip
        attention_mask = restricted(attention_mask, sequence[0][:, None] == sequence[1], causal)
        causal = False
    cut_by_cache = not causal and 1 < queries < keys  # which keeps no more of an encoder's keys than the window holds
    if sliding_window is not None and attention_mask is None and keys > sliding_window and not cut_by_cache:
        seen = within_window(queries, keys, sliding_window, causal or queries == 1, query.device)
        attention_mask, causal = restricted(None, seen, causal), False
    if indices is not None:
        attention_mask, causal = restricted(attention_mask, chosen_keys(indices, keys), causal), False
    if position_bias is not None:
        attention_mask, causal = mask_with_bias(attention_mask, position_bias, causal), False
    shared = key.shape[1] != query.shape[1]
    rest = (attention_mask, dropout, causal, scaling, shared)

    def call(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> Tensor:
        return attend(formulation, gain_of(module), q, k, v, *rest)

    if wants_weights(module, options):
        heads = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(heads, 1), value.repeat_interleave(heads, 1)
        out, weights = attend_with_weights(call, query, key, value, *rest)
        return out.transpose(1, 2).contiguous(), weights
    return call(query, key, value, *rest).transpose(1, 2).contiguous(), None
