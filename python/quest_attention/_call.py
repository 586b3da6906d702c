"""One call of attention with every option resolved, in the order of the operators' arguments."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

CAUSAL_NONE, CAUSAL_TOP_LEFT, CAUSAL_LOWER_RIGHT = 0, 1, 2


class Call(NamedTuple):
    q: Tensor  # [B, H, Nq, D]
    k: Tensor  # [B, Hk, Nk, D]
    v: Tensor  # [B, Hk, Nk, Dv]
    gain: Tensor | None  # [1 or H, 1 or D], float32 (float64 for float64 inputs)
    mask: Tensor | None  # broadcastable to [B, H, Nq, Nk]
    key_lengths: Tensor | None
    cu_seqlens_q: Tensor | None
    cu_seqlens_k: Tensor | None
    dropout_seed: Tensor | None  # one int64 on the CPU: a tensor, so that a compiled graph draws it anew
    normalize_q: bool
    normalize_k: bool
    scale: float
    causal: int
    dropout_p: float

    def every_nth_sequence(self, n: int) -> Call:
        mask = self.mask
        if mask is not None and mask.dim() == 4 and mask.shape[0] > 1:
            mask = mask[::n]
        lengths = None if self.key_lengths is None else self.key_lengths[::n]
        return self._replace(q=self.q[::n], k=self.k[::n], v=self.v[::n], mask=mask, key_lengths=lengths)

    def common(self) -> tuple[object, ...]:
        """The arguments that follow the leading tensors in the operators of the shared library."""
        seed = 0 if self.dropout_seed is None else int(self.dropout_seed)
        return (*self[3:8], *self[9:], seed)
