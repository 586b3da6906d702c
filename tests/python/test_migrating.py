"""The programs of the page for readers who come from other libraries: the same result before and after."""

import importlib.util
import re
import sys
import types
from pathlib import Path

import pytest
import quest_attention
import torch
from inputs import assert_close
from test_switch import TimmAttention
from torch import nn

PAGE = (Path(__file__).parents[2] / "docs" / "migrating.md").read_text()
TOLERANCE = 1e-5


def programs(section):
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL).group(1)
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


class SmallViT(nn.Module):
    """Stands in for timm's where timm is not installed."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(3, 32, 56, 56)
        self.blocks = nn.Sequential(TimmAttention(), nn.LayerNorm(32), TimmAttention())

    def forward_features(self, images):
        return self.blocks(self.embed(images).flatten(2).transpose(1, 2))


def flash_attn_func(q, k, v, causal=False):
    """By its documentation, as the plain formula."""
    q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    logits = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        queries, keys = logits.shape[-2:]
        logits = logits.masked_fill(~torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries), float("-inf"))
    return (logits.softmax(-1) @ v).transpose(1, 2).float()


STAND_INS = {
    "timm": {"create_model": lambda name, num_classes: SmallViT()},
    "flash_attn": {"flash_attn_func": flash_attn_func},
}


def stand_in(library, monkeypatch):
    # flash-attn runs on GPUs alone, so its stand-in is used even where it is installed.
    if library == "flash_attn" or importlib.util.find_spec(library) is None:
        module = types.ModuleType(library)
        vars(module).update(STAND_INS[library])
        monkeypatch.setitem(sys.modules, library, module)


def run(program):
    torch.manual_seed(0)
    names = {}
    with torch.no_grad():
        exec(compile(program, "docs/migrating.md", "exec"), names)
    return names


@pytest.mark.parametrize("section,layers", [("timm", None), ("flash-attn", 1), ("transformers", 2)])
def test_before_and_after(section, layers, monkeypatch):
    if section != "transformers":
        stand_in(section.replace("-", "_"), monkeypatch)
    before, after = programs(section)
    expected = run(before)["out"]
    assert_close(run(after.replace('"quest"', '"standard"'))["out"], expected, TOLERANCE)
    calls = []
    counted = [*quest_attention._attention.observers, lambda call, lse: calls.append(call)]
    monkeypatch.setattr("quest_attention._attention.observers", counted)
    out = run(after)["out"]
    assert len(calls) == (layers or len(calls)) > 0 and all(call.normalize_k for call in calls)
    assert (out - expected).abs().max() > 100 * TOLERANCE * expected.abs().max()


def test_a_trained_model(capsys):
    names = run(programs("transformers")[1])
    (program,) = programs("A model that is trained already")
    exec(compile(program, "docs/migrating.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "2 attention layers converted to 'quest'" in printed and "loss on the example" in printed
    names["model"](input_ids=names["ids"], labels=names["ids"]).loss.backward()
    names["optimizer"].step()
    assert isinstance(names["conversion"], quest_attention.Conversion)
