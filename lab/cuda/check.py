"""Checks the kernels against float64, beside torch's own bfloat16 errors. check.py [small]"""

import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import lab
import reference

CASES = [  # batch, heads, length, dim, causal, scale of q
    (64, 12, 197, 64, False, 1),
    (16, 3, 197, 64, False, 6),
    (16, 3, 197, 64, False, 40),
    (2, 2, 5, 64, False, 1),
    (3, 1, 16, 64, False, 1),
    (2, 2, 33, 64, False, 1),
    (2, 2, 224, 64, False, 1),
    (2, 2, 250, 64, True, 1),
    (96, 8, 256, 16, True, 1),
    (4, 2, 256, 16, True, 60),
    (2, 3, 1, 16, True, 1),
    (2, 3, 77, 16, True, 1),
    (64, 16, 257, 80, False, 1),
    (2, 2, 100, 80, False, 1),
    (2, 8, 1751, 16, False, 1),
    (2, 8, 100, 16, False, 60),
    (8, 8, 1024, 32, False, 1),
    (2, 8, 700, 32, False, 20),
]
NAMES = ("out", "dq", "dk", "dv")


def draw(b, h, n, d, q_scale, adversarial):
    q, k, v, grad_out = (torch.randn(b, h, n, d, device="cuda") for _ in range(4))
    if adversarial:
        k = k * 10.0 ** torch.randint(-30, 31, (b, h, n, 1), device="cuda")
        k[..., n // 2, :] = 0
    return [x.bfloat16() for x in (q * q_scale, k, v, grad_out)]


def short(q, k, v, grad_out, causal):
    out, dq, dk, dv = (torch.full_like(q, float("nan")) for _ in range(4))
    lse = torch.full(q.shape[:-1], float("nan"), device="cuda")
    lab.short_forward(q, k, v, causal, out, lse)
    lab.short_backward(grad_out, q, k, v, out, lse, causal, dq, dk, dv)
    return out, dq, dk, dv


def torch_attention(q, k, v, grad_out, causal, unit, scale):
    leaves = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
        out = F.scaled_dot_product_attention(leaves[0], unit(leaves[1]), leaves[2], is_causal=causal, scale=scale)
    return [out.detach(), *torch.autograd.grad(out, leaves, grad_out)]


def subset(tensors, count=8):
    flat = [t.flatten(0, 1) for t in tensors]
    heads = torch.randperm(flat[0].shape[0], device="cuda")[:count]
    heads[0] = flat[0].shape[0] - 1
    return [t[heads].unsqueeze(0) for t in flat]


def errors(actual, inputs, causal, unit_keys):
    parts = subset([*actual, *inputs])
    expected = reference.gradients(parts[4:7], parts[7], causal, unit_keys)
    return [reference.relative_error(a, e) if e.norm() > 0 else a.double().norm().item() for a, e in zip(parts, expected)]


def check_short(b, h, n, d, causal, q_scale, adversarial):
    inputs = draw(b, h, n, d, q_scale, adversarial)
    ours = short(*inputs, causal)
    written = all(torch.isfinite(x).all().item() for x in ours)
    repeats = all(torch.equal(x, y) for _ in range(5) for x, y in zip(ours, short(*inputs, causal)))
    mine = errors(ours, inputs, causal, True)
    with_normalize = errors(torch_attention(*inputs, causal, lambda k: F.normalize(k, dim=-1), 1.0), inputs, causal, True)
    standard = errors(torch_attention(*inputs, causal, lambda k: k, None), inputs, causal, False)
    good = written and repeats and all(e < max(1.5e-2, 4e-3 * q_scale) for e in mine)
    show = lambda e: " ".join(f"{x:.1e}" for x in e)
    print(f"{'ok  ' if good else 'FAIL'} {(b, h, n, d)} causal={causal:d} q*{q_scale} adv={adversarial:d} "
          f"written={written:d} repeats={repeats:d} | ours {show(mine)} | norm+flash {show(with_normalize)} "
          f"| standard {show(standard)}")
    return good


def check_repeats(b, h, n, d, causal, times=1000):
    inputs = draw(b, h, n, d, 1, False)
    first = short(*inputs, causal)
    good = all(torch.equal(x, y) for _ in range(times) for x, y in zip(first, short(*inputs, causal)))
    print(f"{'ok  ' if good else 'FAIL'} {times} repetitions of {(b, h, n, d)} give the same bits: {good}")
    return good


def check_unit_keys(b, h, n, d):
    inputs = draw(b, h, n, d, 1, False)
    actual = torch_attention(*inputs, False, lab.UnitKeys.apply, 1.0)
    found = errors(actual, inputs, False, True)
    good = all(e < 1.5e-2 for e in found)
    print(f"{'ok  ' if good else 'FAIL'} unit keys {(b, h, n, d)} " + " ".join(f"{x:.1e}" for x in found))
    return good


def main():
    print("errors in the order", NAMES)
    small = "small" in sys.argv[1:]  # for slow tools such as compute-sanitizer
    cases = [c for c in CASES if c[0] * c[1] <= 16] if small else CASES
    good = [check_short(*case, adversarial) for case in cases for adversarial in (False, True)]
    if not small:
        good += [check_repeats(64, 3, 197, 64, False), check_repeats(96, 8, 256, 16, True)]
    good += [check_unit_keys(2, 3, n, d) for d in (16, 32, 64, 80, 128) for n in (7, 300)]
    print(f"{sum(good)} of {len(good)} cases right")
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
