"""Calls of torch's attention functions, answered in another formulation."""

from __future__ import annotations

import math
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.bias import CausalBias, CausalVariant
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from ._attention import attention
from ._formulation import Formulation, find_formulation
from ._multihead import multi_head_attention

SDPA = F.scaled_dot_product_attention
MULTI_HEAD = F.multi_head_attention_forward


def scale_for(formulation: Formulation, scale: float | None, dim: int) -> float | None:
    """A caller's scale is a factor on the customary 1/sqrt(dim): the factor stays, the rest is the formulation's."""
    if scale is None:
        return None
    factor = scale * math.sqrt(dim)
    return None if math.isclose(factor, 1.0, rel_tol=1e-6) else factor * formulation.default_scale(dim)


def attend(
    formulation: Formulation,
    gain: Tensor | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``F.scaled_dot_product_attention``, argument for argument, in another formulation."""
    lower_right = False
    if isinstance(attn_mask, CausalBias):
        lower_right = attn_mask.variant == CausalVariant.LOWER_RIGHT
        attn_mask, is_causal = None, True
    return attention(
        query,
        key,
        value,
        formulation=formulation,
        attn_mask=attn_mask,
        is_causal=is_causal,
        dropout_p=dropout_p,
        scale=scale_for(formulation, scale, query.shape[-1]),
        enable_gqa=enable_gqa,
        gain=gain,
        causal_alignment="lower_right" if lower_right else "top_left",
    )


class Switch(TorchFunctionMode):
    """While active, torch's attention functions compute the formulation."""

    def __init__(self, formulation: Formulation, gain: Tensor | None = None) -> None:
        super().__init__()
        self.formulation = formulation
        self.gain = gain

    def attend(self, *args: Any, **options: Any) -> Tensor:
        return attend(self.formulation, self.gain, *args, **options)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is SDPA:
            return self.attend(*args, **kwargs)
        if func is MULTI_HEAD:
            return multi_head_attention(self.attend, *args, **kwargs)
        return func(*args, **kwargs)


def switch_is_active() -> bool:
    return any(isinstance(mode, Switch) for mode in _get_current_function_mode_stack())


def use(formulation: str | Formulation = "quest", *, gain: Tensor | None = None) -> Switch:
    """Within ``with use("quest"):`` code that calls ``F.scaled_dot_product_attention`` computes that formulation.

    ``nn.MultiheadAttention`` and the ``nn.Transformer`` layers are included. A ``scale`` given to the function is read
    as a factor on 1/sqrt(D). Nothing is patched: torch is as before when the block ends, and other threads do not
    notice. Layers under ``torch.utils.checkpoint`` are computed again by the backward, which function modes do not
    reach: switch such a model with ``patch``.
    A formulation with learned gains takes the same ``gain`` for every call here; ``patch`` gives each layer its own.
    """
    chosen = find_formulation(formulation)
    if chosen.needs_gain and gain is None:
        raise ValueError(
            f"use({chosen.name!r}) needs a gain for its calls, got none; pass gain=, or give each layer of a model its "
            f"own learned gain with quest_attention.patch(model, {chosen.name!r})"
        )
    return Switch(chosen, gain)
