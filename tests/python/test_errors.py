"""What a user reads after a mistake."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import quest_attention
import torch
from inputs import qkv
from quest_attention import attention
from quest_attention._library import check_torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode


@pytest.mark.parametrize(
    "call", [quest_attention.use, lambda name: quest_attention.patch(nn.MultiheadAttention(8, 2), name)]
)
def test_unknown_formulation(call):
    with pytest.raises(
        ValueError, match=r"formulation must be one of standard, quest, .* got 'qest'; did you mean 'quest'\?"
    ):
        call("qest")


def test_attention_names_the_argument_and_the_remedy():
    q, k, v = qkv(grad=False)
    cases = [
        (ValueError, r"formulation must be one of .* got 'softmax'", lambda: attention(q, k, v, formulation="softmax")),
        (RuntimeError, r"mask must broadcast to .*\[2, 4, 33, 41\], got shape \[33, 40\] whose keys dimension",
         lambda: attention(q, k, v, attn_mask=torch.ones(33, 40))),
        (RuntimeError, r"is_causal cannot be combined with a mask",
         lambda: attention(q, k, v, attn_mask=torch.ones(33, 41), is_causal=True)),
        (ValueError, r"k must be on the device of q, cpu, got meta; move it with \.to\('cpu'\)",
         lambda: attention(q, k.to("meta"), v)),
        (ValueError, r"attn_mask must be on the device of q",
         lambda: attention(q, k, v, attn_mask=torch.ones(33, 41, device="meta"))),
        (RuntimeError, r"k must have the type of q, float32, got bfloat16", lambda: attention(q, k.bfloat16(), v)),
        (RuntimeError, r"v must have the same number of keys as k, 41", lambda: attention(q, k, v[:, :, :7])),
        (RuntimeError, r"dropout_p must lie in \[0, 1\), got 1.5", lambda: attention(q, k, v, dropout_p=1.5)),
        (ValueError, r"q must have dimensions \[batch, heads, rows, dim\], \[batch, rows, dim\] or \[rows, dim\]",
         lambda: attention(q[0, 0, 0], k[0, 0], v[0, 0])),
        (ValueError, r"q must have dimensions \[batch, heads, rows, dim\], got \[33, 24\]",
         lambda: attention(q[0, 0], k[0, 0], v[0, 0], enable_gqa=True)),
        (TypeError, r"q must be a torch\.Tensor, got numpy\.ndarray; convert it with torch\.as_tensor\(q\)",
         lambda: attention(q.numpy(), k.numpy(), v.numpy())),
        (TypeError, r"v must be a torch\.Tensor, got numpy\.ndarray", lambda: attention(q, k, v.numpy())),
        (TypeError, r"attn_mask must be a torch\.Tensor, got numpy\.ndarray",
         lambda: attention(q, k, v, attn_mask=torch.ones(33, 41).numpy())),
        (TypeError, r"key_lengths must be a torch\.Tensor, got builtins\.list; .*torch\.tensor\(key_lengths\)",
         lambda: attention(q, k, v, key_lengths=[41, 7])),
        (TypeError, r"cu_seqlens_k must be a torch\.Tensor, got builtins\.list",
         lambda: attention(q, k, v, cu_seqlens_q=torch.tensor([0, 33]), cu_seqlens_k=[0, 41])),
        (TypeError, r"gain must be a torch\.Tensor, got builtins\.list", lambda: attention(q, k, v, gain=[1.0])),
        (ValueError, r"scale must be a number or a tensor of one element, got shape \[4, 1, 1\]; factors by head",
         lambda: attention(q, k, v, scale=torch.ones(4, 1, 1))),
        (ValueError, r"gain is required by the formulation 'qknorm', got none",
         lambda: attention(q, k, v, formulation="qknorm")),
        (ValueError, r"gain must be a scalar or have shape \[4\] \(heads\), \[24\] \(dim\), .* got \[3, 24\]",
         lambda: attention(q, k, v, gain=torch.ones(3, 24))),
        (TypeError, r"gain must hold floating-point numbers, got torch.int64",
         lambda: attention(q, k, v, gain=torch.ones(4, 1).long())),
        (ValueError, r"causal_alignment must be 'top_left' or 'lower_right', got 'right'",
         lambda: attention(q, k, v, causal_alignment="right")),
        (ValueError, r"path must be 'automatic', 'fused' or 'reference', got 'fast'",
         lambda: attention(q, k, v, path="fast")),
        (ValueError, r"path='fused' was asked for, but float64 is computed by the plain formula",
         lambda: attention(q.double(), k.double(), v.double(), path="fused")),
        (ValueError, r"q must be a plain tensor, got a nested one; give packed rows with cu_seqlens_q",
         lambda: attention(*[torch.nested.nested_tensor([x[0], x[1]], layout=torch.jagged) for x in (q, k, v)])),
    ]  # fmt: skip
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()


def test_a_model_where_a_formulation_belongs_and_the_other_way():
    model = nn.MultiheadAttention(8, 2)
    with pytest.raises(TypeError, match=r"a Formulation, got MultiheadAttention; .*patch\(model, formulation\)"):
        quest_attention.use(model)
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got 'quest'; .*use\('quest'\)"):
        quest_attention.patch("quest")


def test_the_formula_checks_as_the_kernels_do():
    q, k, v = qkv(grad=False, dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"mask must broadcast to .* got shape \[33, 40\]"):
        attention(q, k, v, attn_mask=torch.ones(33, 40))


def test_gain_of_equal_heads_and_dimensions():
    q, k, v = qkv(heads=4, dim=4)
    with pytest.raises(
        ValueError, match=r"could belong to the heads or to the dimensions, both are 4; give \[4, 1\] or \[1, 4\]"
    ):
        attention(q, k, v, gain=torch.ones(4))
    attention(q, k, v, gain=torch.ones(4), formulation="qknorm_hs")


def test_gpu_tensors_are_never_slow_unnoticed():
    with FakeTensorMode():
        q = torch.empty(2, 4, 33, 24, dtype=torch.float64, device="cuda")
        with pytest.raises(TypeError, match=r"float64 on cuda:0, and the GPU kernels take float32.*\.float\(\)"):
            attention(q, q, q)
        if not quest_attention._library.HAS_CUDA_LIBRARY:
            with pytest.raises(RuntimeError, match=r"has no CUDA library; reinstall .*QUEST_CUDA=ON"):
                attention(q.float(), q.float(), q.float())
        assert attention(q, q, q, path="reference").device.type == "cuda"


def test_models_with_nothing_to_switch():
    with pytest.raises(ValueError, match=r"Linear has no attention layer that patch can switch"):
        quest_attention.patch(nn.Linear(3, 3))

    class MyAttention(nn.Linear):
        def forward(self, x):
            return (x @ x.transpose(-1, -2)).softmax(-1) @ x

    with pytest.raises(ValueError, match=r"has no attention layer.*\n  0: MyAttention computes its softmax itself"):
        quest_attention.patch(nn.Sequential(MyAttention(3, 3)))


def test_patching_twice_and_gains_that_have_no_place():
    model = nn.MultiheadAttention(8, 2)
    with quest_attention.patch(model):
        with pytest.raises(ValueError, match=r"the model is patched already; undo\(\) that patch first"):
            quest_attention.patch(model, "standard")
    with pytest.raises(ValueError, match=r"use\('qknorm'\) needs a gain .* quest_attention\.patch\(model, 'qknorm'\)"):
        quest_attention.use("qknorm")
    with pytest.raises(ValueError, match=r"patch cannot estimate the gain that 'elliptical' takes"):
        quest_attention.patch(model, "elliptical")

    class Nameless(nn.Module):
        def forward(self, x):
            return nn.functional.scaled_dot_product_attention(x, x, x)

    layer = Nameless()
    with pytest.raises(ValueError, match=r"Nameless\) has no num_heads and head_dim by which to size its gain"):
        quest_attention.patch(layer, "qknorm")
    assert type(layer) is Nameless


def test_an_old_torch():
    with pytest.raises(ImportError, match=r"needs torch 2.10 or later, found 2.9.1\+cpu; .*pip install 'torch>=2.10'"):
        check_torch("2.9.1+cpu")


@pytest.mark.parametrize(
    "library,message", [(None, "found no .*libquest_ops.so; build and install"), ("junk", "could not load")]
)
def test_a_missing_or_broken_library(tmp_path, library, message):
    package = tmp_path / "quest_attention"
    shutil.copytree(Path(quest_attention.__file__).parent, package, ignore=shutil.ignore_patterns("lib"))
    if library is not None:
        (package / "lib").mkdir()
        (package / "lib" / "libquest_ops.so").write_text(library)
    run = subprocess.run([sys.executable, "-c", "import quest_attention"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode != 0
    with pytest.raises(ImportError, match=message):
        raise ImportError(run.stderr.strip().splitlines()[-1])
