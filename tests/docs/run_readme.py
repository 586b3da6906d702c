"""Runs the Python example of the README as it stands there, then checks what it computed against torch.

Usage: run_readme.py README.md path/to/libquest_ops.so
"""

import re
import sys

import torch
import torch.nn.functional as F

readme, library = sys.argv[1:]
with open(readme, encoding="utf-8") as file:
    (example,) = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)
assert example.count("build/lib/libquest_ops.so") == 1, "the example was expected to load build/lib/libquest_ops.so once"

torch.manual_seed(0)
names = {}
exec(compile(example.replace("build/lib/libquest_ops.so", library), readme, "exec"), names)

ours = [names[name] for name in "qkv"]
theirs = [tensor.detach().double().requires_grad_() for tensor in ours]
q, k, v = theirs
F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v, scale=1.0).sum().backward()
for name, own, other in zip("qkv", ours, theirs):
    error = (own.grad.double() - other.grad).abs().max().item()
    assert error <= 1e-5 * other.grad.abs().max().item(), f"gradient of {name} differs from torch's by {error}"
print("the README's Python example runs and agrees with torch")
