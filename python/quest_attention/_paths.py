"""Which implementation serves a call: the fused kernels, or the plain formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ._call import CAUSAL_LOWER_RIGHT, Call
from ._formula import attention_formula, statistics_formula
from ._library import HAS_CUDA_LIBRARY, serves
from ._rules import RULES

LARGEST_CUDA_DIM: int = RULES["limits"]["largest_cuda_dim"]
DIMS_PER_WORD: int = RULES["limits"]["dims_per_word"]
#: What the fused kernels cannot do, by name, in the order in which it is looked for.
OBSTACLES: dict[str, str] = {rule["name"]: rule["text"] for rule in RULES["obstacles"]}

Path = Literal["automatic", "fused", "reference"]


class AttentionStats(NamedTuple):
    """What a layer's attention looked like: detached, float32 (float64 for float64 inputs)."""

    lse: Tensor  #: [B, H, Nq] log-sum-exp of the logits; -inf for a query that sees no key
    max_logit: Tensor  #: [B, H, Nq] largest logit; -inf for a query that sees no key
    entropy: Tensor  #: [B, H, Nq] of the weights, in nats, before dropout
    q_norm: Tensor  #: [B, H, Nq] as given
    k_norm: Tensor  #: [B, Hk, Nk] as given
    key_mass: Tensor  #: [B, H, Nk] attention a key receives from all queries: its sink score


def check_by_library(call: Call) -> None:
    """The rules of the shared library, for a call that does not reach its kernels."""

    def shape_of(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")

    shapes = Call(*map(shape_of, call[:8]), None, *call[9:])  # type: ignore[arg-type]
    torch.ops.quest.attention_forward(*shapes[:3], *shapes.common())


def has_forward_gradient(call: Call) -> bool:
    if forward_ad._current_level < 0:
        return False
    inputs = (x for x in call[:5] if x is not None)
    return any(forward_ad.unpack_dual(x).tangent is not None for x in inputs)


STANDS_BEFORE: dict[str, Callable[[Call], bool]] = {
    "transform": lambda call: torch._C._are_functorch_transforms_active(),
    "device": lambda call: call.q.device.type not in ("cpu", "cuda", "meta"),
    "cuda_operators": lambda call: call.q.is_cuda and not HAS_CUDA_LIBRARY,
    "float64": lambda call: call.q.dtype == torch.float64,
    "wide_heads": lambda call: call.q.is_cuda and max(call.q.shape[3], call.v.shape[3]) > LARGEST_CUDA_DIM,
    "forward_gradient": has_forward_gradient,
}


def obstacle_to_fusing(call: Call) -> str | None:
    """Why the fused kernels cannot serve a call, or None."""
    for name, text in OBSTACLES.items():
        if STANDS_BEFORE[name](call):
            return text
    return None


def check_cuda(call: Call) -> None:
    """On a GPU a call never falls back to the slow formula unnoticed because of its type or of the installation."""
    if call.q.device.type != "cuda":
        return
    if call.q.dtype == torch.float64:
        raise TypeError(
            f"q, k and v are float64 on {call.q.device}, and the GPU kernels take float32, bfloat16 and float16; "
            "convert them with .float(), or ask for the plain formula with path='reference'"
        )
    if not serves(call.q.device):
        raise RuntimeError(
            f"q is on {call.q.device} and this installation of quest_attention has no CUDA library; reinstall it where "
            "nvcc is on PATH with: pip install . --config-settings=cmake.define.QUEST_CUDA=ON (in a clone of the "
            "project), or ask for the plain formula with path='reference'"
        )


def takes_formula(call: Call, path: Path) -> bool:
    if path not in ("automatic", "fused", "reference"):
        raise ValueError(f"path must be 'automatic', 'fused' or 'reference', got {path!r}")
    if path == "reference":
        return True
    check_cuda(call)
    obstacle = obstacle_to_fusing(call)
    if path == "fused" and obstacle is not None:
        raise ValueError(f"path='fused' was asked for, but {obstacle}; use path='automatic'")
    return obstacle is not None


def takes_float32(call: Call) -> bool:
    """A call with 16-bit rows that is to be computed from rows of float32, its output then rounded.

    Spelled out here, where torch.compile can follow it.
    """
    dim, value_dim = call.q.shape[3], call.v.shape[3]
    aligned_to_last = (
        call.causal == CAUSAL_LOWER_RIGHT and call.cu_seqlens_q is None and call.q.shape[2] != call.k.shape[2]
    )
    masked = call.mask is not None or call.key_lengths is not None or aligned_to_last
    whole_words = dim % DIMS_PER_WORD == 0 and value_dim % DIMS_PER_WORD == 0
    narrow = call.q.dtype in (torch.bfloat16, torch.float16)
    return call.q.is_cuda and narrow and not whole_words and (masked or dim != value_dim)


def in_float32(call: Call) -> Call:
    mask = call.mask.float() if call.mask is not None and call.mask.is_floating_point() else call.mask
    return call._replace(q=call.q.float(), k=call.k.float(), v=call.v.float(), mask=mask)


def detached(call: Call) -> Call:
    return Call(*(x.detach() if isinstance(x, Tensor) else x for x in call))  # type: ignore[arg-type]


def statistics_of(call: Call, lse: Tensor | None) -> AttentionStats:
    """From the log-sum-exp of the fused kernels, in one part or two, where they served the call."""
    plain = detached(call)
    with torch.no_grad():
        if lse is None:
            return AttentionStats(*statistics_formula(plain))
        lse = lse.detach()
        rows = lse[0] if lse.dim() == 4 else lse
        return AttentionStats(rows, *torch.ops.quest.attention_statistics(plain.q, plain.k, lse, *plain.common()))


def run(call: Call, path: Path) -> tuple[Tensor, Tensor | None]:
    """The output, and the log-sum-exp where the fused kernels served the call."""
    if takes_formula(call, path):
        if not torch._C._are_functorch_transforms_active() and not torch.compiler.is_compiling():
            check_by_library(call)
        return attention_formula(call), None
    if takes_float32(call):
        out, lse = torch.ops.quest.attention(*in_float32(call))
        return out.to(call.q.dtype), lse
    return torch.ops.quest.attention(*call)
