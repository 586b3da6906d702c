"""What is written about the package: the examples of the pages run, tables say what the code says, types hold."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from inputs import assert_close
from quest_attention import FORMULATIONS

ROOT = Path(__file__).parents[2]


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def test_the_readme_example_computes_quest():
    (example,) = python_blocks("README.md")
    torch.manual_seed(0)
    names = {}
    exec(compile(example, "README.md", "exec"), names)
    q, k, v = (names[name].detach().double().requires_grad_() for name in "qkv")
    F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v, scale=1.0, is_causal=True).sum().backward()
    for name, exact in zip("qkv", (q, k, v)):
        assert_close(names[name].grad, exact.grad, 1e-5, f"gradient of {name}")


def test_every_example_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks("docs/python.md")
    assert len(blocks) >= 5
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)


def test_the_table_of_formulations():
    rows = re.findall(
        r"^\| `(\w+)` \| (yes|no) \| (yes|no) \| (1/√d|1) \| (\w+)", (ROOT / "docs/formulations.md").read_text(), re.M
    )
    said = {name: (q == "yes", k == "yes", scale == "1/√d", gain == "required") for name, q, k, scale, gain in rows}
    coded = {
        name: (f.normalize_q, f.normalize_k, f.divide_by_sqrt_dim, f.needs_gain) for name, f in FORMULATIONS.items()
    }
    assert said == coded


@pytest.mark.parametrize(
    "tool",
    [
        ("pyright", "-p", str(ROOT), "--pythonpath", sys.executable),
        ("ruff", "check", str(ROOT)),
        ("ruff", "format", "--check", str(ROOT)),
    ],
    ids=["types", "lint", "format"],
)
def test_tools_have_nothing_to_say(tool):
    result = subprocess.run([sys.executable, "-m", *tool], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
