"""Times QUEST with options on a GPU beside ``normalize`` + PyTorch's attention, as a table for a notebook in lab/.

Usage: bench_gpu_options.py [--dtype TYPE] [--rounds N] [NAME...]
  --dtype    bfloat16 (as by default), float16 or float32
  --rounds   samples of each contestant, which take turns; medians are printed (15)
  NAME       only the options whose names contain one of these

Needs quest_attention with its CUDA library. A time is that of replayed CUDA graphs: milliseconds forward / forward and
backward. PyTorch runs twice: with the backend it chooses, and without cuDNN's, which is made for Hopper. Ratios are of
both passes: PyTorch's time over ours.
"""

import argparse
import contextlib
import statistics

import torch
import torch.nn.functional as F
from quest_attention import attention
from torch.nn.attention import SDPBackend, sdpa_kernel

ROWS = 16384
HEADS = 8
SAMPLE_MS = 2.0
FOR_OTHER_GPUS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]

# name, head dimension, keys
CASES = [
    *(("none", d, n) for d, n in ((16, 1024), (32, 1024), (64, 197), (64, 1024), (80, 1024), (96, 1024), (128, 197))),
    *(("none", d, n) for d, n in ((128, 1024), (160, 512), (192, 197), (192, 512), (256, 197), (256, 512))),
    *(("boolean mask", d, n) for d, n in ((16, 197), (64, 197), (128, 197), (16, 1024), (64, 1024), (96, 1024))),
    *(("boolean mask", d, n) for d, n in ((128, 1024), (192, 512), (256, 512))),
    *(("boolean mask, lower triangle", d, 1024) for d in (64, 128)),
    ("boolean mask, window of 79", 64, 4096),
    *(("boolean mask of keys alone", d, 1024) for d in (64, 128)),
    *(("key lengths", d, 1024) for d in (64, 128)),
    *(("additive mask", d, n) for d, n in ((16, 197), (64, 197), (128, 197), (16, 1024), (32, 1024), (64, 1024))),
    *(("additive mask", d, n) for d, n in ((80, 1024), (96, 1024), (128, 1024), (192, 512), (256, 197), (256, 512))),
    ("additive mask of each head", 64, 1024),
    ("additive mask, float32", 64, 1024),
    *(("dropout 0.1", d, n) for d, n in ((16, 197), (64, 197), (128, 197), (16, 1024), (64, 1024), (80, 1024))),
    *(("dropout 0.1", d, n) for d, n in ((128, 1024), (192, 512), (256, 512))),
    *(("causal", d, 1024) for d in (64, 128)),
    *(("odd rows", d, n) for d, n in ((20, 1024), (60, 1024), (100, 197), (100, 1024), (150, 512), (250, 512))),
    *(("odd rows, boolean mask", d, n) for d, n in ((20, 1024), (60, 1024), (100, 197), (100, 1024), (150, 512))),
    ("odd rows, boolean mask", 250, 512),
    *(("odd rows, additive mask", d, n) for d, n in ((20, 1024), (100, 1024), (150, 512), (250, 512))),
    *(("odd rows, key lengths", d, n) for d, n in ((20, 1024), (100, 1024))),
]


def options_of(name, batch, length, dtype):
    """Ours, and those of PyTorch's function that mean the same."""
    if "dropout" in name:
        return dict(dropout_p=0.1), dict(dropout_p=0.1)
    if "causal" in name:
        return dict(is_causal=True), dict(is_causal=True)
    if "lengths" in name:
        lengths = torch.randint(length // 2, length + 1, (batch,), device="cuda")
        seen = torch.arange(length, device="cuda") < lengths[:, None]
        return dict(key_lengths=lengths), dict(attn_mask=seen[:, None, None])
    if "additive" in name:
        heads = HEADS if "each head" in name else 1
        mask = torch.randn(1 if heads > 1 else batch, heads, length, length, device="cuda")
        return dict(attn_mask=mask if "float32" in name else mask.to(dtype)), dict(attn_mask=mask.to(dtype))
    if "mask" in name:
        at = torch.arange(length, device="cuda")
        distance = at.view(-1, 1) - at
        mask = {
            "lower triangle": lambda: distance >= 0,
            "window of 79": lambda: distance.abs() < 40,
            "keys alone": lambda: torch.rand(batch, 1, 1, length, device="cuda") < 0.9,
        }
        kind = next((kind for kind in mask if kind in name), None)
        seen = mask[kind]() if kind else torch.rand(batch, 1, length, length, device="cuda") < 0.7
        return dict(attn_mask=seen), dict(attn_mask=seen)
    return {}, {}


def captured(function):
    """A graph of what the function queues, after a few runs of it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph


def passes(function, q, k, v, grad_out, backends):
    """Forward, and forward with backward, as graphs."""

    def forward():
        with torch.no_grad():
            function(q, k, v)

    def both():
        torch.autograd.grad(function(q, k, v), (q, k, v), grad_out)

    with sdpa_kernel(backends) if backends else contextlib.nullcontext():
        return captured(forward), captured(both)


def time_of(graph, repetitions):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repetitions):
        graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / repetitions


def medians(graphs, rounds):
    """Of each graph; they take turns."""
    repetitions = [max(1, round(SAMPLE_MS / time_of(graph, 2))) for graph in graphs]
    samples = [[time_of(graph, n) for graph, n in zip(graphs, repetitions)] for _ in range(rounds)]
    return [statistics.median(of_graph) for of_graph in zip(*samples)]


def row(name, dim, length, dtype, rounds):
    batch = max(1, round(ROWS / length))
    q, k, v, grad_out = (torch.randn(batch, HEADS, length, dim, device="cuda").to(dtype) for _ in range(4))
    leaves = [x.requires_grad_() for x in (q, k, v)]
    ours, theirs = options_of(name, batch, length, dtype)

    def quest(q, k, v):
        return attention(q, k, v, **ours)

    def normalized(q, k, v):
        return F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v, scale=1.0, **theirs)

    graphs = [
        graph
        for function, backends in ((quest, None), (normalized, None), (normalized, FOR_OTHER_GPUS))
        for graph in passes(function, *leaves, grad_out, backends)
    ]
    times = medians(graphs, rounds)
    pairs = [f"{forward:.3f} / {both:.3g}" for forward, both in zip(times[::2], times[1::2])]
    return (
        f"| {name} | {dim} | {length} | {pairs[0]} | {pairs[1]} | {times[3] / times[1]:.2f} | {pairs[2]} "
        f"| {times[5] / times[1]:.2f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float16", "float32"))
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device: this benchmark needs one")
    torch.manual_seed(0)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {arguments.dtype}\n")
    print("| option | D | N | ours | what torch chooses | ÷ ours | without cuDNN | ÷ ours |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, dim, length in CASES:
        if not arguments.names or any(part in name for part in arguments.names):
            print(row(name, dim, length, getattr(torch, arguments.dtype), arguments.rounds), flush=True)


if __name__ == "__main__":
    main()
