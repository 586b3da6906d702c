"""One launch of each short kernel for a shape of bench.py, to run under ncu."""

import sys

import torch

import bench
import lab

b, h, n, d, causal = bench.SHAPES[sys.argv[1]]
s = bench.make_set(b, h, n, d)
bench.short_step(causal, True, True)(s)
torch.cuda.synchronize()
