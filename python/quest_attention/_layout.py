"""Tensors as callers have them become [batch, heads, rows, dim] as the operators take them, by the rules of torch's
``scaled_dot_product_attention``: what stands before rows and dim broadcasts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

OTHER_ORDER = "if these tensors lie as [batch, rows, heads, dim], as flash-attn's do, pass x.transpose(1, 2) of each"


class Layout(NamedTuple):
    q: Tensor  # [B, H, Nq, D]
    k: Tensor  # [B, Hk, Nk, D]
    v: Tensor  # [B, Hk, Nk, Dv]
    leading: tuple[int, ...]  # what stands before rows and dim in the caller's result
    key_leading: tuple[int, ...]  # and before the keys in the statistics


def check_is_tensor(name: str, x: Any, wrap: str = "torch.as_tensor") -> None:
    if not isinstance(x, Tensor):
        kind = type(x)
        raise TypeError(
            f"{name} must be a torch.Tensor, got {kind.__module__}.{kind.__qualname__}; convert it with {wrap}({name})"
        )


def check_tensors(q: Tensor, **others: Tensor | None) -> None:
    check_is_tensor("q", q)
    for name, tensor in others.items():
        if tensor is None:
            continue
        check_is_tensor(name, tensor)
        if tensor.device != q.device:
            raise ValueError(
                f"{name} must be on the device of q, {q.device}, got {tensor.device}; "
                f"move it with .to({str(q.device)!r})"
            )


def check_lengths(q: Tensor, **lengths: Tensor | None) -> None:
    for name, tensor in lengths.items():
        if tensor is not None:
            check_is_tensor(name, tensor, "torch.tensor")
            if name != "key_lengths" and q.dim() == 3 and q.shape[0] != 1:
                raise ValueError(
                    f"{name} needs packed rows of shape [1, heads, rows, dim], got q of shape {list(q.shape)}; if it "
                    "lies as [rows, heads, dim], as flash-attn's packed rows do, pass x.transpose(0, 1).unsqueeze(0)"
                )


def check_rows(name: str, x: Tensor, least: int) -> None:
    if x.is_nested:
        raise ValueError(
            f"{name} must be a plain tensor, got a nested one; give packed rows with cu_seqlens_q and cu_seqlens_k, "
            "or a padded batch with key_lengths"
        )
    if x.dim() < least:
        shorter = "" if least == 3 else ", [batch, rows, dim] or [rows, dim]"
        raise ValueError(f"{name} must have dimensions [batch, heads, rows, dim]{shorter}, got {list(x.shape)}")


def common_shape(what: str, q: Tensor, k: Tensor, v: Tensor, last: int) -> tuple[int, ...]:
    """The shape that all three have, or broadcast to, before their last dimensions."""
    shape = tuple(q.shape[:-last])
    for name, x in (("k", k), ("v", v)):
        try:
            shape = tuple(torch.broadcast_shapes(shape, x.shape[:-last]))
        except RuntimeError:
            raise ValueError(
                f"{name} must have the {what} of q, or 1 in its place, got shape {list(x.shape)} with q "
                f"{list(q.shape)}; {OTHER_ORDER}"
            ) from None
    return shape


def check_heads(q: Tensor, k: Tensor, v: Tensor, enable_gqa: bool) -> None:
    heads = q.shape[-3]
    for name, x in (("k", k), ("v", v)):
        given = x.shape[-3] if x.dim() > 2 else 1
        if enable_gqa and (given < 1 or heads % given != 0):
            raise ValueError(
                f"{name} must have a number of heads that divides the {heads} of q, got {given}; {OTHER_ORDER}"
            )
        if not enable_gqa and given != heads and 1 not in (given, heads):
            raise ValueError(
                f"{name} must have the {heads} heads of q, got {given}; set enable_gqa=True to share key heads between "
                f"query heads, or {OTHER_ORDER}"
            )


def grouped(q: Tensor, k: Tensor, v: Tensor) -> Layout:
    """Each key head serves several query heads."""
    batch = common_shape("batch", q, k, v, 3)
    heads = q.shape[-3]
    if k.shape[-3] != v.shape[-3]:
        k, v = (x.repeat_interleave(heads // x.shape[-3], -3) for x in (k, v))
    leading, key_leading = (*batch, heads), (*batch, k.shape[-3])
    q, k, v = (x.expand(*(batch or (1,)), *x.shape[-3:]).flatten(0, -4) for x in (q, k, v))
    return Layout(q, k, v, leading, key_leading)


def broadcast(q: Tensor, k: Tensor, v: Tensor) -> Layout:
    leading = common_shape("batch and heads", q, k, v, 2)
    if len(leading) < 2:
        q, k, v = (x.expand(*(leading or (1,)), *x.shape[-2:]).unsqueeze(1) for x in (q, k, v))
        return Layout(q, k, v, leading, leading)
    # Heads that share their keys stay one head: the kernels read its rows for each of them.
    shared = all(x.dim() < 3 or x.shape[-3] == 1 for x in (k, v))
    key_leading = (*leading[:-1], 1) if shared else leading
    q = q.expand(*leading, *q.shape[-2:]).flatten(0, -4)
    k, v = (x.expand(*key_leading, *x.shape[-2:]).flatten(0, -4) for x in (k, v))
    return Layout(q, k, v, leading, key_leading)


def four_dimensions(q: Tensor, k: Tensor, v: Tensor, enable_gqa: bool) -> Layout:
    for name, x in (("q", q), ("k", k), ("v", v)):
        check_rows(name, x, 3 if enable_gqa else 2)
    if q.shape[-1] == 0 and k.shape[-1] == 0:  # every logit is an empty sum
        q, k = F.pad(q, (0, 1)), F.pad(k, (0, 1))
    leading = q.shape[:-2]
    if len(leading) == 2 and leading == k.shape[:-2] and leading == v.shape[:-2]:
        return Layout(q, k, v, leading, leading)
    if q.dim() > 3 or enable_gqa:
        check_heads(q, k, v, enable_gqa)
    return grouped(q, k, v) if enable_gqa else broadcast(q, k, v)


def mask_with_four_dimensions(mask: Tensor, layout: Layout) -> Tensor:
    q, k = layout.q, layout.k
    rows = (q.shape[2], k.shape[2])
    fits = all(size in (1, full) for size, full in zip(reversed(mask.shape), reversed(rows)))
    if not fits and tuple(mask.shape[-2:]) == (q.shape[1], k.shape[1]):
        raise ValueError(
            f"attn_mask must broadcast to the logits, [..., {q.shape[2]} queries, {k.shape[2]} keys], got "
            f"{list(mask.shape)}, the numbers of heads; {OTHER_ORDER}"
        )
    leading = layout.leading
    if len(leading) == 1 and q.shape[1] == 1:
        return mask.unsqueeze(-3) if mask.dim() == 3 else mask
    if len(leading) > 2 and mask.dim() > 3:
        return mask.expand(*leading[:-1], *mask.shape[-3:]).flatten(0, -4)
    return mask
