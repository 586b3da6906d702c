"""QUEST as torch's normalize and attention under torch.compile, on a GPU: what `quest bench attention` measures beside.

Reads its settings as JSON from the only argument. A line of standard input with 2 i asks for the forward pass of shape i,
with 2 i + 1 for forward and backward; the answer is the seconds of one call, the median of replays of a captured graph.
"""

import json
import statistics
import sys

import torch
import torch.nn.functional as F

ROTATION_BYTES = 400e6  # together larger than any GPU's cache
SAMPLES = 15


def quest(q, k, v, causal):
    gqa = q.shape[1] != k.shape[1]
    return F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v, is_causal=causal, scale=1.0, enable_gqa=gqa)


def input_sets(shape, dtype):
    def leaves():
        return [torch.randn(shape[name], device="cuda", dtype=dtype, requires_grad=True) for name in "qkv"]

    sets = [leaves()]
    size = 4 * sum(tensor.nbytes for tensor in sets[0])
    return sets + [leaves() for _ in range(min(7, int(ROTATION_BYTES / size)))]


def seconds(shape, backward, dtype):
    torch._dynamo.reset()
    compiled = torch.compile(quest, fullgraph=True, dynamic=False)
    sets = input_sets(shape, dtype)
    gradient = torch.randn(*shape["q"][:3], shape["v"][3], device="cuda", dtype=dtype)

    def run():
        for q, k, v in sets:
            with torch.set_grad_enabled(backward):
                output = compiled(q, k, v, shape["causal"])
            if backward:
                torch.autograd.grad(output, (q, k, v), gradient)

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run()
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    times = []
    for _ in range(SAMPLES):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times) / len(sets) / 1e3


def main():
    settings = json.loads(sys.argv[1])
    dtype = getattr(torch, settings["dtype"])
    for line in sys.stdin:
        shape, backward = divmod(int(line), 2)
        print(seconds(settings["shapes"][shape], bool(backward), dtype), flush=True)


main()
