"""explain(): what will run, and why not the fused kernels."""

import pytest
import quest_attention
import torch
from test_proof import MHSA, Block, Dispatched
from torch import nn


def test_explain_a_call():
    q, k, v = (torch.randn(2, 4, 9, 8) for _ in range(3))
    assert str(quest_attention.explain(q, k, v)) == "attention: softmax(q · k/|k|) by the fused kernels for cpu"
    double = quest_attention.explain(q.double(), k.double(), v.double(), formulation="standard", is_causal=True)
    assert "softmax(0.3536 · q · k) by the plain formula" in str(double) and "float64" in str(double)
    assert "path='reference' asks for it" in str(quest_attention.explain(q, k, v, path="reference"))
    huge = torch.empty(1, 1, 10**9, 64, device="meta")
    assert "fused kernels for meta" in str(quest_attention.explain(huge, huge, huge))
    with pytest.raises(RuntimeError, match="v must have the same number of keys"):
        quest_attention.explain(q, k, v[:, :, :5])


def test_explain_a_model():
    x = torch.randn(2, 7, 32)
    model = nn.Sequential(Block(True), MHSA(), Dispatched(True))
    before = quest_attention.explain(model).layers
    assert before == {
        "0": "Block computes standard by torch's attention function; patch or use switches it",
        "1": "MHSA computes standard or its own: " + quest_attention.patch(model).unchanged["1"],
    }
    after = quest_attention.explain(model, x).layers
    assert after["0"].startswith("Block computes 'quest' by patch, seen to compute it: softmax(q · k/|k|) by the")
    assert after["2"] == "Dispatched computes standard by torch"
