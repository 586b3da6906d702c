"""Two processes started by torchrun end with the weights of one.   Usage: test_torchrun.py WORKER"""

import array
import subprocess
import sys
import tempfile
from pathlib import Path


def weights(folder, name, launcher):
    output = Path(folder) / name
    subprocess.run([*launcher, sys.argv[1], str(output), "5", "1"], check=True, timeout=120)
    values = array.array("f")
    values.frombytes(output.read_bytes())
    return values


with tempfile.TemporaryDirectory() as folder:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--no-python", "--nproc-per-node=2"]
    one = weights(folder, "one", [])
    two = weights(folder, "two", torchrun)
    assert len(one) == len(two) > 0, (len(one), len(two))
    worst = max(abs(a - b) for a, b in zip(one, two))
    assert worst <= 1e-6, worst
    print(f"largest difference {worst:.1e}")
