"""Calls of torch's attention functions, answered in another formulation."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from ._attention import attention
from ._formulation import Formulation, find_formulation
from ._multihead import multi_head_attention
from ._unit_rows import check_not_unit
from ._watch import OwnSoftmax

SDPA = F.scaled_dot_product_attention
MULTI_HEAD = F.multi_head_attention_forward
ALIGNMENTS: dict[str, Literal["top_left", "lower_right"]] = {"UPPER_LEFT": "top_left", "LOWER_RIGHT": "lower_right"}


def own_scale(formulation: Formulation, scale: Tensor | float, query: Tensor, key: Tensor) -> Tensor | float | None:
    """A caller's scale is a factor on the customary 1/sqrt(dim): the factor stays, the rest is the formulation's."""
    dim = query.shape[-1]
    if not isinstance(scale, Tensor) and math.isclose(scale * math.sqrt(dim), 1.0, rel_tol=1e-6):
        return None
    check_not_unit(formulation, query, key, scale)
    return scale * (math.sqrt(dim) * formulation.default_scale(dim))


def causal_variant(mask: Any) -> Any:
    """Of a mask that is one of torch's causal biases."""
    if mask is None or type(mask) is Tensor:
        return None
    from torch.nn.attention.bias import CausalBias  # brings torch._dynamo along, so only where it may be at work

    return mask.variant if isinstance(mask, CausalBias) else None


def attend(
    formulation: Formulation,
    gain: Tensor | float | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Tensor | float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``F.scaled_dot_product_attention``, argument for argument, in another formulation."""
    alignment: Literal["top_left", "lower_right"] = "top_left"
    if (variant := causal_variant(attn_mask)) is not None:
        alignment, attn_mask, is_causal = ALIGNMENTS[variant.name], None, True
    if scale is not None:
        scale = own_scale(formulation, scale, query, key)
    drops_all = dropout_p == 1.0  # which torch takes
    out = attention(
        query,
        key,
        value,
        formulation=formulation,
        attn_mask=attn_mask,
        is_causal=is_causal,
        dropout_p=0.0 if drops_all else dropout_p,
        scale=scale,
        enable_gqa=enable_gqa,
        gain=gain,
        causal_alignment=alignment,
    )
    return F.dropout(out, 1.0) if drops_all else out


class Switch(TorchFunctionMode):
    """While active, torch's attention functions compute the formulation."""

    def __init__(self, formulation: Formulation, gain: Tensor | float | None = None) -> None:
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


class Use(Switch):
    """A switch that says at its end what it did not reach."""

    was_used = False
    missed = False  # attention that code computed by itself

    def __enter__(self) -> Use:
        self.was_used = self.missed = False
        self._own = OwnSoftmax()
        super().__enter__()
        return self

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is SDPA or func is MULTI_HEAD:
            self.was_used = True
        out = super().__torch_function__(func, types, args, kwargs)
        if not self.missed and not torch.compiler.is_compiling():
            self.missed = self._own.is_attention(func, args)
            self._own.follow(func, args, out)
        return out

    def __exit__(self, kind: Any, *rest: Any) -> None:
        super().__exit__(kind, *rest)
        name = self.formulation.name
        if kind is None and (self.missed or not self.was_used):
            missed = "code in the block computed attention by itself"
            unused = "nothing in the block called torch's attention functions"
            warnings.warn(
                f"use({name!r}) did not reach all: {missed if self.missed else unused}, so that is as it was (Hugging "
                "Face models in 'eager' mode, unfused layers, scripted code, another library's kernels); set their "
                f"option for F.scaled_dot_product_attention, or see what quest_attention.patch(model, {name!r}) says",
                stacklevel=2,
            )


def switch_is_active() -> bool:
    return any(isinstance(mode, Switch) for mode in _get_current_function_mode_stack())


def use(formulation: str | Formulation = "quest", *, gain: Tensor | float | None = None) -> Use:
    """Within ``with use("quest"):`` code that calls ``F.scaled_dot_product_attention`` computes that formulation.

    ``nn.MultiheadAttention`` and the ``nn.Transformer`` layers are included. A ``scale`` given to the function is read
    as a factor on 1/sqrt(D), so this is for code written for standard attention: code that normalises keys itself and
    passes a scale to suit is an error in eager mode, and computes something else within ``torch.compile``. Nothing is
    patched: torch is as before when the block ends, and other threads do not notice. Layers under
    ``torch.utils.checkpoint`` are computed again by the backward, which function modes do not reach: switch such a
    model with ``patch``. When the block ends, a warning tells of attention that it did not reach.
    A formulation with learned gains takes the same ``gain`` for every call here; ``patch`` gives each layer its own.
    """
    chosen = find_formulation(formulation)
    if chosen.needs_gain and gain is None:
        raise ValueError(
            f"use({chosen.name!r}) needs a gain for its calls, got none; pass gain=, or give each layer of a model its "
            f"own learned gain with quest_attention.patch(model, {chosen.name!r})"
        )
    return Use(chosen, gain)
