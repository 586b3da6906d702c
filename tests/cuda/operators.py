"""The operators as the tests call them, and the same formula in float64."""

import math

import torch
import torch.nn.functional as F

DEFAULTS = dict(
    gain=None, mask=None, key_lengths=None, cu_seqlens_q=None, cu_seqlens_k=None,
    normalize_q=False, normalize_k=True, scale=1.0, causal=0, dropout_p=0.0, dropout_seed=0,
)  # fmt: skip

STATISTICS = ("max_logit", "entropy", "q_norm", "k_norm", "key_mass")


def forward(q, k, v, **options):
    return torch.ops.quest.attention_forward(q, k, v, **{**DEFAULTS, **options})


def by_query(lse):
    """Of a log-sum-exp in two parts, as beside an additive mask, the first."""
    return lse[0] if lse.dim() == 4 else lse


def backward(grad_out, q, k, v, out, lse, gain_grad=False, mask_grad=False, **options):
    arguments = {**DEFAULTS, **options, "gain_grad": gain_grad, "mask_grad": mask_grad}
    return torch.ops.quest.attention_backward(grad_out, q, k, v, out, lse, **arguments)


def statistics(q, k, lse, **options):
    results = torch.ops.quest.attention_statistics(q, k, lse, **{**DEFAULTS, **options})
    return dict(zip(STATISTICS, results))


def dropout_factors(q, keys, dropout_p, seed):
    return torch.ops.quest.dropout_factors(q, keys, dropout_p, seed)


def moved(options, device):
    return {name: x.to(device) if isinstance(x, torch.Tensor) else x for name, x in options.items()}


def visible_pairs(q, k, mask=None, key_lengths=None, causal=0):
    """[B, 1 or H, Nq, Nk], true where the query may see the key."""
    queries, keys = q.shape[2], k.shape[2]
    lengths = torch.full((q.shape[0],), keys, device=q.device) if key_lengths is None else key_lengths.to(q.device)
    lengths = lengths.view(-1, 1, 1, 1)
    columns = torch.arange(keys, device=q.device)
    seen = (columns < lengths).expand(-1, 1, queries, -1)
    if causal:
        last = torch.arange(queries, device=q.device).view(-1, 1) + (lengths - queries if causal == 2 else 0)
        seen = seen & (columns <= last)
    if mask is not None:
        seen = seen & (mask if mask.dtype == torch.bool else mask != -math.inf)
    return seen


def visible_in_all(q, k, options):
    """The same of all sequences, packed ones too."""
    if options.get("cu_seqlens_q") is None:
        return visible_pairs(q, k, *(options.get(name) for name in ("mask", "key_lengths", "causal")))
    seen = torch.zeros(1, 1, q.shape[2], k.shape[2], dtype=torch.bool, device=q.device)
    at_q, at_k = options["cu_seqlens_q"].tolist(), options["cu_seqlens_k"].tolist()
    for s in range(len(at_q) - 1):
        rows, keys = slice(at_q[s], at_q[s + 1]), slice(at_k[s], at_k[s + 1])
        seen[:, :, rows, keys] = visible_pairs(q[:, :, rows], k[:, :, keys], causal=options.get("causal", 0))
    return seen


def unit_rows(x):
    largest = x.abs().amax(-1, keepdim=True)
    x = x / torch.where(largest > 0, largest, 1.0)
    norm = x.norm(dim=-1, keepdim=True)
    return x / torch.where(norm > 0, norm, 1.0)


def exact(q, k, v, gain=None, mask=None, key_lengths=None, normalize_q=False, normalize_k=True, scale=1.0, causal=0,
          dropout_p=0.0, dropout_seed=0, factors=None):  # fmt: skip
    """Plain formula in the type of q; returns output, log-sum-exp and weights."""
    seen = visible_pairs(q, k, mask, key_lengths, causal)
    group = q.shape[1] // k.shape[1]
    keys = (unit_rows(k) if normalize_k else k).repeat_interleave(group, 1)
    queries = unit_rows(q) if normalize_q else q
    queries = queries * scale if gain is None else queries * gain.unsqueeze(1) * scale
    logits = queries @ keys.transpose(-1, -2)
    if mask is not None and mask.dtype != torch.bool:
        logits = logits + mask
    logits = torch.where(seen, logits, -math.inf)
    rows = seen.any(-1, keepdim=True)
    weights = torch.where(seen, torch.where(rows, logits, 0.0).softmax(-1), 0.0)
    if dropout_p > 0 and factors is None:
        factors = dropout_factors(q.detach().float().cpu(), k.shape[2], dropout_p, dropout_seed).to(q)
    applied = weights if factors is None else weights * factors
    return applied @ v.repeat_interleave(group, 1), logits.logsumexp(-1), weights, logits


def exact_packed(q, k, v, cu_seqlens_q, cu_seqlens_k, dropout_p=0.0, dropout_seed=0, **options):
    """exact() of every sequence, put together; weights are left out."""
    at_q, at_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    factors = None
    if dropout_p > 0:
        rows = torch.empty(len(at_q) - 1, q.shape[1], q.shape[2], 0)
        factors = dropout_factors(rows, k.shape[2], dropout_p, dropout_seed).to(q)
    outs, sums = [], []
    for s in range(len(at_q) - 1):
        rows, seen = slice(at_q[s], at_q[s + 1]), slice(at_k[s], at_k[s + 1])
        own = None
        if factors is not None:
            own = factors[s : s + 1, :, : rows.stop - rows.start, : seen.stop - seen.start]
        out, lse, _, _ = exact(q[:, :, rows], k[:, :, seen], v[:, :, seen], factors=own, **options)
        outs.append(out)
        sums.append(lse)
    return torch.cat(outs, 2), torch.cat(sums, 2), None, None


def exact_for(q, k, v, **options):
    return exact_packed(q, k, v, **options) if options.get("cu_seqlens_q") is not None else exact(q, k, v, **options)


def standard(q, k, v, seen=None, causal=False):
    """PyTorch's own attention, the yardstick of rounding errors; seen is None where every key is visible.

    Rows are padded to those for which it has 16-bit kernels, whatever the options: it would convert others to float32,
    and so does quest_attention before it calls the operators (tests/python/test_gpu.py).
    """
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    dim, value_dim = q.shape[3], v.shape[3]
    q, k, v = (F.pad(x, (0, -x.shape[3] % 8)) for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=causal, scale=1 / math.sqrt(dim))
    return out[..., :value_dim]
