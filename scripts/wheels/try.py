"""Installs a wheel beside a torch as a user without a compiler would, and computes one forward and one backward.

The virtual environment is new, PATH holds nothing else, and no library of Highway may enter the process.
Usage: try.py WHEEL TORCH...   (TORCH: what pip takes, as in torch==2.13.0+cpu, and options for pip)
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

STEP = """
import shutil
compilers = [name for name in ("cc", "c++", "g++", "clang++", "nvcc") if shutil.which(name)]
assert not compilers, f"expected no compiler on PATH, found {compilers}"

import torch
import quest_attention

q, k, v = (torch.randn(2, 4, 197, 64, requires_grad=True) for _ in range(3))
out = quest_attention.attention(q, k, v, path="fused")
out.sum().backward()
assert all(x.grad is not None and x.grad.isfinite().all() for x in (q, k, v)), "expected finite gradients"
exact = quest_attention.attention(*(x.detach().double() for x in (q, k, v)), path="reference")
distance = (out - exact).abs().max().item()
assert distance < 1e-5, f"expected an output within 1e-5 of float64, it is {distance:.1e} away"

# An exception of ours passes through torch only if both share one C++ run-time library.
try:
    torch.ops.quest.attention_forward(q, k[:1], v, *[None] * 5, True, True, 1.0, 0, 0.0, 0)
except RuntimeError as error:
    message = str(error).splitlines()[0]
else:
    raise AssertionError("expected an error for keys of another batch and got none")

foreign = [line.split()[-1] for line in open("/proc/self/maps") if "libhwy" in line]
assert not foreign, f"expected Highway inside the wheel, found {foreign[0]}"
print(f"torch {torch.__version__}: output within {distance:.1e} of float64; keys of another batch: {message}")
"""


def main(wheel: str, torch: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        venv.create(folder, with_pip=True)
        python = str(Path(folder, "bin/python"))
        environment = {**os.environ, "PATH": str(Path(folder, "bin"))}
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
        subprocess.run([*pip, *torch, wheel], check=True, env=environment)
        installed = time.monotonic()
        subprocess.run([python, "-W", "ignore", "-c", STEP], check=True, env=environment, cwd=folder)
        done = time.monotonic()
    print(f"{Path(wheel).name}: installed in {installed - start:.0f} s")
    print(f"first forward and backward, with the import of torch: {done - installed:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
