"""Times the laboratory's kernels beside torch's attention: graph replays over rotating inputs, medians in milliseconds.

bench.py [substring of shape names ...]"""

import json
import os
import statistics
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import lab

SHAPES = {  # batch, heads, length, dim, causal
    "vit-ti": (256, 3, 197, 64, False),
    "vit-b": (256, 12, 197, 64, False),
    "vit-l": (128, 16, 197, 64, False),
    "vit-h14": (64, 16, 257, 80, False),
    "lm-small": (96, 8, 256, 16, True),
    "seg-s": (8, 6, 1024, 64, False),
    "ptv3": (256, 8, 1024, 32, False),
    "ts": (16, 8, 1751, 16, False),
    "gpt2-1k": (16, 12, 1024, 64, True),
    "d128-4k": (4, 16, 4096, 128, False),
    "d128-4k-causal": (4, 16, 4096, 128, True),
    "d64-8k": (2, 16, 8192, 64, False),
    "d128-16k": (1, 16, 16384, 128, True),
}
COPY_BYTES_PER_SECOND = 4.3e12
ROTATION_BYTES = 400e6


def rotations(b, h, n, d):
    return max(1, min(8, int(ROTATION_BYTES / (8 * b * h * n * d * 2))))


def replay_time(step, sets):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            for s in sets:
                step(s)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for s in sets:
            step(s)
    times = []
    for i in range(24):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        if i >= 4:
            times.append(start.elapsed_time(end) / len(sets))
    return statistics.median(times)


def make_set(b, h, n, d):
    q, k, v, grad_out = (torch.randn(b, h, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    leaves = [x.requires_grad_() for x in (q, k, v)]
    buffers = [torch.empty_like(q).detach() for _ in range(4)]
    return {"leaves": leaves, "grad_out": grad_out, "buffers": buffers, "lse": torch.empty(b, h, n, device="cuda")}


def torch_step(backend, unit, scale, causal, with_backward):
    def step(s):
        q, k, v = s["leaves"] if with_backward else [x.detach() for x in s["leaves"]]
        with sdpa_kernel([backend]):
            out = F.scaled_dot_product_attention(q, unit(k), v, is_causal=causal, scale=scale)
        if with_backward:
            torch.autograd.grad(out, s["leaves"], s["grad_out"])

    return step


def short_step(causal, with_forward, with_backward):
    def step(s):
        q, k, v = (x.detach() for x in s["leaves"])
        out, dq, dk, dv = s["buffers"]
        if with_forward:
            lab.short_forward(q, k, v, causal, out, s["lse"])
        if with_backward:
            lab.short_backward(s["grad_out"], q, k, v, out, s["lse"], causal, dq, dk, dv)

    return step


def identity(k):
    return k


def normalize(k):
    return F.normalize(k, dim=-1)


def steps(causal, dim, length, all_columns):
    flash, cudnn = SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION
    table = {}
    if all_columns:
        table["standard flash"] = [torch_step(flash, identity, None, causal, b) for b in (False, True)]
        table["standard cuDNN"] = [torch_step(cudnn, identity, None, causal, b) for b in (False, True)]
        table["normalize+cuDNN"] = [torch_step(cudnn, normalize, 1.0, causal, b) for b in (False, True)]
        table["unit keys+cuDNN"] = [torch_step(cudnn, lab.UnitKeys.apply, 1.0, causal, b) for b in (False, True)]
        table["unit keys+flash"] = [torch_step(flash, lab.UnitKeys.apply, 1.0, causal, b) for b in (False, True)]
    if length <= 288 or (dim <= 32 and not causal):
        table["short"] = [short_step(causal, True, False), short_step(causal, True, True)]
        table["short backward"] = [short_step(causal, False, True)] * 2
    return table


def measure(name, all_columns):
    b, h, n, d, causal = SHAPES[name]
    sets = [make_set(b, h, n, d) for _ in range(rotations(b, h, n, d))]
    row = {}
    for column, (forward, both) in steps(causal, d, n, all_columns).items():
        try:
            row[column] = [replay_time(forward, sets), replay_time(both, sets)]
        except RuntimeError as error:
            print(name, column, "failed:", str(error)[:200])
    tensor_bytes = b * h * n * d * 2
    pairs = n * (n + 1) / 2 if causal else n * n
    floors = {
        "bytes": [1e3 * 4 * tensor_bytes / COPY_BYTES_PER_SECOND, 1e3 * 12 * tensor_bytes / COPY_BYTES_PER_SECOND],
        "gflop": [4e-9 * b * h * pairs * d, 14e-9 * b * h * pairs * d],
    }
    print(f"{name:15s} floor {floors['bytes'][0]:.3f}/{floors['bytes'][1]:.3f} "
          + "  ".join(f"{c}: {t[0]:.4f}/{t[1]:.4f}" for c, t in row.items()), flush=True)
    return {"milliseconds": row, "floors": floors, "rotations": len(sets)}


def measure_unit_keys(rows, d):
    k = [torch.randn(rows, d, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
    sets = [(x, torch.empty_like(x), torch.empty(rows, device="cuda"), torch.randn_like(x)) for x in k]
    copy = replay_time(lambda s: s[1].copy_(s[0]), sets)
    before = replay_time(lambda s: lab.normalize_keys(s[0], s[1], s[2]), sets)
    after = replay_time(lambda s: lab.project_gradient(s[0], s[2], s[3], s[1]), sets)
    size = rows * d * 2
    rate = lambda size, ms: size / ms / 1e9
    print(f"unit keys D={d}: copy {rate(2 * size, copy):.2f} TB/s, normalize {rate(2 * size + 4 * rows, before):.2f}, "
          f"project {rate(3 * size + 4 * rows, after):.2f}", flush=True)


def main():
    quick = os.environ.get("LAB_QUICK") == "1"
    chosen = [n for n in SHAPES if not sys.argv[1:] or any(a in n for a in sys.argv[1:])]
    if not quick:
        for d in (16, 32, 64, 80, 128):
            measure_unit_keys(2**28 // d, d)
    results = {name: measure(name, not quick) for name in chosen}
    if "LAB_JSON" in os.environ:
        with open(os.environ["LAB_JSON"], "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
