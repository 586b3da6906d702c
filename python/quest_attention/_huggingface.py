"""The formulations as attention implementations of Hugging Face transformers."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor, nn

from ._formulation import FORMULATIONS, Formulation
from ._gains import gain_of
from ._switch import attend

UNSUPPORTED = {
    "softcap": "caps its logits",
    "s_aux": "adds a learned sink to the softmax",
}


def mask_with_bias(mask: Tensor | None, bias: Tensor, is_causal: bool) -> Tensor:
    if mask is None and is_causal:
        mask = torch.ones(bias.shape[-2:], dtype=torch.bool, device=bias.device).tril()
    if mask is None:
        return bias
    return torch.where(mask, bias, float("-inf")) if mask.dtype == torch.bool else bias + mask


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
    **options: Any,
) -> tuple[Tensor, None]:
    for name, what in UNSUPPORTED.items():
        if options.get(name) is not None:
            raise ValueError(
                f"{type(module).__name__} {what} ({name}), which attn_implementation={formulation.name!r} does not "
                "compute; use attn_implementation='eager' for this model"
            )
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    causal = bool(causal) and attention_mask is None and query.shape[2] > 1
    if position_bias is not None:
        attention_mask, causal = mask_with_bias(attention_mask, position_bias, causal), False
    out = attend(
        formulation,
        gain_of(module),
        query,
        key,
        value,
        attention_mask,
        dropout,
        causal,
        scaling,
        enable_gqa=key.shape[1] != query.shape[1],
    )
    return out.transpose(1, 2).contiguous(), None


def register_formulation(formulation: Formulation) -> None:
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
        from transformers.masking_utils import sdpa_mask
    except ImportError as error:
        raise ImportError(
            "register_hf needs Hugging Face transformers 5 or later; install it with: pip install 'transformers>=5'"
        ) from error
    AttentionInterface.register(formulation.name, functools.partial(hf_attention, formulation))
    AttentionMaskInterface.register(formulation.name, sdpa_mask)


def register_hf() -> None:
    """Make every formulation an ``attn_implementation`` of transformers, by name.

    ``AutoModel.from_config(config, attn_implementation="quest")``, or ``model.set_attn_implementation("quest")`` and
    back again with ``"sdpa"``. Formulations with learned gains need them in the model: ``patch(model, "qknorm")``.
    """
    for formulation in FORMULATIONS.values():
        register_formulation(formulation)
