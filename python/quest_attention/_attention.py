"""The attention function: options become a resolved call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypedDict, overload

import torch
from torch import Tensor

from ._call import CAUSAL_LOWER_RIGHT, CAUSAL_NONE, CAUSAL_TOP_LEFT, Call
from ._formulation import Formulation, find_formulation
from ._layout import check_lengths, check_tensors, four_dimensions, mask_with_four_dimensions
from ._paths import AttentionStats, Path, run, statistics_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Called with every call of attention in this process, and with its log-sum-exp where the fused kernels served it.
observers: list[Callable[[Call, Tensor | None], None]] = []


def gain_matrix(gain: Tensor, q: Tensor, formulation: Formulation) -> Tensor:
    heads, dim = q.shape[1], q.shape[3]
    if not gain.is_floating_point():
        raise TypeError(f"gain must hold floating-point numbers, got {gain.dtype}")
    shape = tuple(gain.shape)
    if len(shape) < 2 and gain.numel() == 1:
        shape = (1, 1)
    elif len(shape) == 1 and heads == dim and shape[0] == heads:
        if not formulation.needs_gain:
            raise ValueError(
                f"gain of shape [{heads}] could belong to the heads or to the dimensions, both are {heads}; "
                f"give [{heads}, 1] or [1, {dim}]"
            )
        shape = (heads, 1) if formulation.gain_axes == "head" else (1, dim)
    elif len(shape) == 1:
        shape = (heads, 1) if shape[0] == heads else (1, shape[0])
    if len(shape) != 2 or shape[0] not in (1, heads) or shape[1] not in (1, dim):
        raise ValueError(
            f"gain must be a scalar or have shape [{heads}] (heads), [{dim}] (dim), [{heads}, {dim}], [{heads}, 1] or "
            f"[1, {dim}], got {list(gain.shape)}"
        )
    matrix = gain.reshape(shape).to(factor_type(q))
    return matrix.detach() if formulation.needs_gain and not formulation.gain_is_learned else matrix


def factor_type(q: Tensor) -> torch.dtype:
    return torch.float64 if q.dtype == torch.float64 else torch.float32


def resolve_gain(gain: Tensor | float | None, q: Tensor, formulation: Formulation) -> Tensor | None:
    if isinstance(gain, (int, float)):
        return q.new_full((1, 1), gain, dtype=factor_type(q))
    if gain is not None:
        check_tensors(q, gain=gain)
        return gain_matrix(gain, q, formulation)
    if formulation.needs_gain:
        raise ValueError(
            f"gain is required by the formulation {formulation.name!r}, got none; pass gain=, or let "
            f"quest_attention.patch(model, {formulation.name!r}) add a learned one to each layer of a model"
            if formulation.gain_is_learned
            else f"gain is required by the formulation {formulation.name!r}, got none; pass the estimate as gain="
        )
    return None


def resolve_scale(
    scale: Tensor | float | None, gain: Tensor | None, q: Tensor, formulation: Formulation
) -> tuple[float, Tensor | None]:
    """The scale as a number, and the gain, which a scale given as a tensor joins: gradients reach it there."""
    if scale is None:
        return formulation.default_scale(q.shape[3]), gain
    if not isinstance(scale, Tensor):
        return float(scale), gain
    if scale.numel() != 1:
        raise ValueError(
            f"scale must be a number or a tensor of one element, got shape {list(scale.shape)}; factors by head or "
            "dimension go into gain="
        )
    factor = scale.reshape(1, 1).to(q.device, factor_type(q))
    return 1.0, factor if gain is None else gain * factor


def dropout_seed_tensor(dropout_p: float, seed: int | None) -> Tensor | None:
    if dropout_p == 0.0:
        return None
    if seed is None:
        return torch.randint(0, 2**63 - 1, (), dtype=torch.int64, device="cpu")
    return torch.tensor(seed, dtype=torch.int64, device="cpu")


def causal_kind(is_causal: bool, alignment: str) -> int:
    kinds = {"top_left": CAUSAL_TOP_LEFT, "lower_right": CAUSAL_LOWER_RIGHT}
    if alignment not in kinds:
        raise ValueError(f"causal_alignment must be 'top_left' or 'lower_right', got {alignment!r}")
    return kinds[alignment] if is_causal else CAUSAL_NONE


def autocast(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    device = q.device.type
    if device == "meta" or not torch.is_autocast_enabled(device):
        return q, k, v
    dtype = torch.get_autocast_dtype(device)

    def cast(x: Tensor) -> Tensor:
        return x.to(dtype) if x.is_floating_point() and x.dtype != torch.float64 else x

    return cast(q), cast(k), cast(v)


class Options(TypedDict, total=False):
    formulation: str | Formulation
    attn_mask: Tensor | None
    is_causal: bool
    dropout_p: float
    scale: Tensor | float | None
    enable_gqa: bool
    gain: Tensor | float | None
    causal_alignment: Literal["top_left", "lower_right"]
    key_lengths: Tensor | None
    cu_seqlens_q: Tensor | None
    cu_seqlens_k: Tensor | None
    dropout_seed: int | None
    path: Path


@overload
def attention(
    q: Tensor, k: Tensor, v: Tensor, *, return_stats: Literal[True], **options: Unpack[Options]
) -> tuple[Tensor, AttentionStats]: ...
@overload
def attention(
    q: Tensor, k: Tensor, v: Tensor, *, return_stats: Literal[False] = False, **options: Unpack[Options]
) -> Tensor: ...
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    formulation: str | Formulation = "quest",
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    dropout_p: float = 0.0,
    scale: Tensor | float | None = None,
    enable_gqa: bool = False,
    gain: Tensor | float | None = None,
    return_stats: bool = False,
    causal_alignment: Literal["top_left", "lower_right"] = "top_left",
    key_lengths: Tensor | None = None,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k: Tensor | None = None,
    dropout_seed: int | None = None,
    path: Path = "automatic",
) -> Tensor | tuple[Tensor, AttentionStats]:
    """Attention in any of the formulations; arguments mean what they mean in ``F.scaled_dot_product_attention``.

    Args:
        q: ``[B, H, Nq, D]``; also ``[Nq, D]``, ``[B, Nq, D]`` for one head, and more leading dimensions, which join the
            batch. Not ``[B, Nq, H, D]``, flash-attn's order, which attends between the heads: ``q.transpose(1, 2)``.
        k: ``[B, Hk, Nk, D]``; the dimensions before rows and dim broadcast with those of q and v.
        v: ``[B, Hk, Nk, Dv]``.
        formulation: a name of ``quest_attention.FORMULATIONS``, or a ``Formulation`` of your own.
        attn_mask: broadcastable to ``[B, H, Nq, Nk]``; bool: true = may attend; otherwise added to the logits.
        is_causal: hide later keys. Not together with ``attn_mask``.
        dropout_p: probability of dropping a weight, in [0, 1).
        scale: replaces the formulation's own scale (1/sqrt(D) for ``standard``, 1 for ``quest``). A tensor of one
            element, a learned temperature say, receives its gradient.
        enable_gqa: k and v may have fewer heads, each serving H/Hk consecutive query heads.
        gain: factor on the query side: a number, or a tensor: a scalar, ``[H]``, ``[D]``, ``[H, D]``, ``[H, 1]`` or
            ``[1, D]``.
        return_stats: also return the :class:`AttentionStats` of this call.
        causal_alignment: ``top_left``: query i sees keys 0..i. ``lower_right``: the last query sees every key.
        key_lengths: ``[B]`` integers; keys at and after the length do not exist.
        cu_seqlens_q: ``[S + 1]`` integers; S sequences packed along N of a batch of one.
        cu_seqlens_k: likewise for the keys; both or neither.
        dropout_seed: the seed of the dropout pattern; drawn from torch's CPU generator when absent.
        path: ``fused`` refuses what the kernels cannot serve, ``reference`` takes the plain formula.

    Returns:
        ``[B, H, Nq, Dv]`` in the type of q, with the statistics if asked for. Queries that see no key give 0.
    """
    chosen = find_formulation(formulation)
    check_tensors(q, k=k, v=v, attn_mask=attn_mask)
    check_lengths(q, key_lengths=key_lengths, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    layout = four_dimensions(*autocast(q, k, v), enable_gqa)
    q, k, v, leading, key_leading = layout
    rows, keys = (*leading, q.shape[2]), (*key_leading, k.shape[2])
    if attn_mask is not None:
        attn_mask = mask_with_four_dimensions(attn_mask, layout)
        if attn_mask.is_floating_point() and attn_mask.dtype not in (torch.float32, q.dtype):
            attn_mask = attn_mask.to(q.dtype)
    number, factors = resolve_scale(scale, resolve_gain(gain, q, chosen), q, chosen)
    call = Call(
        q,
        k,
        v,
        gain=factors,
        mask=attn_mask,
        key_lengths=key_lengths,
        cu_seqlens_q=cu_seqlens_q,
        cu_seqlens_k=cu_seqlens_k,
        dropout_seed=dropout_seed_tensor(dropout_p, dropout_seed),
        normalize_q=chosen.normalize_q,
        normalize_k=chosen.normalize_k,
        scale=number,
        causal=causal_kind(is_causal, causal_alignment),
        dropout_p=dropout_p,
    )
    out, lse = run(call, path)
    for observe in observers:
        observe(call, lse)
    out = out.reshape(*rows, v.shape[-1])
    if not return_stats:
        return out
    stats = statistics_of(call, lse)
    per_row = {name: getattr(stats, name).reshape(rows) for name in ("lse", "max_logit", "entropy", "q_norm")}
    return out, AttentionStats(
        **per_row, k_norm=stats.k_norm.reshape(keys), key_mass=stats.key_mass.reshape(*rows[:-1], keys[-1])
    )
