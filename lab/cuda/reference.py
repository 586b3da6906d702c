"""Float64 attention, its gradients, and relative errors against it."""

import torch


def attend(q, k, v, causal, unit_keys):
    if unit_keys:
        norm = k.norm(dim=-1, keepdim=True)
        k = k / torch.where(norm > 0, norm, torch.ones_like(norm))
    scores = q @ k.transpose(-1, -2) * (1.0 if unit_keys else q.shape[-1] ** -0.5)
    if causal:
        n = q.shape[-2]
        scores = scores.masked_fill(~torch.ones(n, n, dtype=torch.bool, device=q.device).tril(), float("-inf"))
    return scores.softmax(-1) @ v


def gradients(inputs, grad_out, causal, unit_keys):
    """(out, grad_q, grad_k, grad_v) in float64 of the given (already rounded) inputs."""
    leaves = [x.detach().double().requires_grad_() for x in inputs]
    out = attend(*leaves, causal, unit_keys)
    return [out.detach(), *torch.autograd.grad(out, leaves, grad_out.double())]


def relative_error(actual, expected):
    return ((actual.double() - expected).norm() / expected.norm()).item()
