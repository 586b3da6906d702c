"""Finds code that normalises queries or keys itself, whose scale means what the formulation's does already."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ._formulation import Formulation

ROWS = 8  # of random rows of 64 dimensions, so many are all within a hundredth of norm 1 once in ten million times

_seen_on_gpu: set[tuple[object, ...]] = set()


def can_be_read(x: Tensor) -> bool:
    """Its numbers can be had: it is no stand-in for a tensor, and nobody records what is done with it."""
    if type(x) not in (Tensor, nn.Parameter) or x.device.type == "meta":
        return False
    if torch._C._are_functorch_transforms_active() or torch.compiler.is_compiling():
        return False
    return not x.is_cuda or not torch.cuda.is_current_stream_capturing()


def has_unit_rows(x: Tensor) -> bool:
    with torch.no_grad():
        rows = x[(0,) * (x.dim() - 2)][:ROWS]
        if rows.shape[0] < 2 or rows.shape[1] < 2:
            return False
        tolerance = max(torch.finfo(x.dtype).eps, 1e-5)
        return bool((rows.float().norm(dim=-1) - 1.0).abs().amax() <= tolerance)


def check_not_unit(formulation: Formulation, query: Tensor, key: Tensor, scale: Tensor | float) -> None:
    """For a call with a scale of its own. On a GPU, where looking waits for the device, the first call of its kind."""
    for name, x, is_normalized in (("query", query, formulation.normalize_q), ("key", key, formulation.normalize_k)):
        if not is_normalized or not can_be_read(x) or x.numel() == 0 or not x.is_floating_point():
            continue
        if x.is_cuda:
            kind = (formulation.name, name, x.shape[-3:-2], x.shape[-1], None if isinstance(scale, Tensor) else scale)
            if kind in _seen_on_gpu:
                continue
            _seen_on_gpu.add(kind)
        if has_unit_rows(x):
            given = "a tensor" if isinstance(scale, Tensor) else f"{scale:g}"
            raise ValueError(
                f"{name} has rows of norm 1 already, and the call gives scale={given}: code that normalises by itself "
                f"and scales to suit. Switched to {formulation.name!r}, its scale would be read as a factor on "
                "1/sqrt(dim) and the result would change; leave this layer as it is, or hand it plain rows and no scale"
            )
