"""The package on an NVIDIA GPU, where it was built with the CUDA library: every kind of call against the formula."""

import pytest
import quest_attention
import torch
import torch.nn.functional as F
from inputs import assert_close, exact, gain_for, qkv
from quest_attention import attention
from quest_attention._library import HAS_CUDA_LIBRARY

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() or not HAS_CUDA_LIBRARY, reason="needs a GPU and the CUDA library"
)


def on_gpu(dtype=torch.bfloat16, **sizes):
    return [x.detach().to("cuda", dtype).requires_grad_() for x in qkv(dim=64, value_dim=64, **sizes)]


@pytest.mark.parametrize("dtype,rounding", [(torch.bfloat16, 2.0**-8), (torch.float16, 2.0**-11)])
@pytest.mark.parametrize("causal", [False, True])
def test_output_and_gradients(dtype, rounding, causal):
    inputs = on_gpu(dtype)
    seen = torch.ones(33, 41, device="cuda").tril().bool() if causal else None
    out = attention(*inputs, is_causal=causal)
    doubles = [x.detach().double().requires_grad_() for x in inputs]
    expected = exact(*doubles, seen=seen)
    assert_close(out, expected, 2 * rounding)
    weights = torch.randn_like(out)
    ours = torch.autograd.grad(out, inputs, weights)
    theirs = torch.autograd.grad(expected, doubles, weights.double())
    for own, other in zip(ours, theirs):
        assert_close(own, other, 4 * rounding)


def sizes_of_errors(function, inputs, grad_out, floor):
    """Relative errors of the output and its gradients, in the root mean square, against the same in float64."""
    results = []
    for dtype in (inputs[0].dtype, torch.float64):
        leaves = [x.detach().to(dtype).requires_grad_() for x in inputs]
        out = function(*leaves)
        results.append([out.detach(), *torch.autograd.grad(out, leaves, grad_out.to(dtype))])

    def rms(x):
        return x.double().square().mean().sqrt().item()

    return [rms(actual - exact) / max(rms(exact), floor) for actual, exact in zip(*results)]


def options_that_need_a_mask(kind, batch, queries, keys, dtype):
    """Those of ours, and the mask that PyTorch's function needs for the same."""
    if kind == "lower_right":
        seen = torch.ones(queries, keys, dtype=torch.bool, device="cuda").tril(keys - queries)
        return dict(is_causal=True, causal_alignment="lower_right"), seen
    if kind == "few_keys":
        lengths = torch.arange(batch, device="cuda") % 5 + 2
        return dict(key_lengths=lengths), (torch.arange(keys, device="cuda") < lengths[:, None])[:, None, None]
    if kind == "bias":
        bias = torch.randn(batch, 1, queries, keys, device="cuda").to(dtype)
        return dict(attn_mask=bias), bias
    seen = torch.rand(batch, 1, queries, keys, device="cuda") < 0.7
    return dict(attn_mask=seen), seen


def as_type_of(mask, q):
    return mask.to(q.dtype) if mask.is_floating_point() else mask


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("dim", [1, 2, 3, 7, 12, 20, 100, 250])
@pytest.mark.parametrize("kind", ["bool", "bias", "few_keys", "lower_right"])
@pytest.mark.parametrize("name", ["quest", "qknorm", "elliptical"])
def test_no_less_exact_where_torch_computes_in_float32(name, kind, dim, dtype):
    """For such head dimensions PyTorch has no 16-bit kernel that takes a mask; it rounds nothing but the result."""
    batch, heads, queries, keys = 13, 8, 197, 230
    torch.manual_seed(dim)
    shapes = ((queries, dim), (keys, dim), (keys, dim))
    inputs = [torch.randn(batch, heads, *shape, device="cuda").to(dtype) for shape in shapes]
    grad_out = torch.randn(batch, heads, queries, dim, device="cuda").to(dtype)
    ours, mask = options_that_need_a_mask(kind, batch, queries, keys, dtype)
    gain = gain_for(name, heads, dim)
    gain = None if gain is None else gain.cuda()
    root = dim**0.5 if name == "qknorm" else None

    def quest(q, k, v):
        options = {**ours, "attn_mask": as_type_of(mask, q)} if "attn_mask" in ours else ours
        path = "reference" if q.dtype == torch.float64 else "fused"
        return attention(q, k, v, formulation=name, gain=gain, scale=root, path=path, **options)

    floor = 0.05 * grad_out.double().square().mean().sqrt().item()
    standard = sizes_of_errors(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=as_type_of(mask, q)), inputs, grad_out, floor
    )
    for what, own, other in zip(("out", "q", "k", "v"), sizes_of_errors(quest, inputs, grad_out, floor), standard):
        assert own <= 1.5 * other, f"{what}: {own / other:.2f} times the error"


def test_autocast():
    inputs = on_gpu(torch.float32)
    with torch.autocast("cuda", dtype=torch.float16):
        out = attention(*inputs)
    assert out.dtype == torch.float16
    assert torch.equal(out, attention(*(x.half() for x in inputs)))
    out.sum().backward()
    assert inputs[0].grad.dtype == torch.float32


def test_dropout_is_that_of_the_cpu():
    inputs = on_gpu(torch.float32)
    gpu = attention(*inputs, dropout_p=0.3, dropout_seed=11)
    assert_close(gpu.cpu(), attention(*(x.cpu() for x in inputs), dropout_p=0.3, dropout_seed=11), 1e-2)


def test_operator_checks_compile_and_double_backward():
    inputs = on_gpu()
    settings = (None, None, None, None, None, None, False, True, 1.0, 0, 0.0)
    torch.library.opcheck(torch.ops.quest.attention, (*inputs, *settings))
    compiled = torch.compile(attention, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*inputs), attention(*inputs))
    gradients = torch.autograd.grad(attention(*inputs).sin().sum(), inputs, create_graph=True)
    torch.autograd.grad(sum(gradient.square().sum() for gradient in gradients), inputs)


def test_same_bits_twice_in_deterministic_mode():
    inputs = on_gpu(queries=300, keys=300)
    torch.use_deterministic_algorithms(True)
    try:
        runs = [torch.autograd.grad(attention(*inputs).square().sum(), inputs) for _ in range(2)]
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(*runs))


def test_switching_and_watching_a_model():
    layer = torch.nn.TransformerEncoderLayer(256, 4, batch_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).cuda().bfloat16()
    x = torch.randn(2, 50, 256, device="cuda", dtype=torch.bfloat16)
    expected = model(x)
    with quest_attention.patch(model, "standard"), quest_attention.monitor(model) as watch:
        assert_close(model(x), expected, 2.0**-6)
    assert [record.layer for record in watch.records] == ["layers.0.self_attn", "layers.1.self_attn"]
    with quest_attention.use("quest"):
        q = torch.randn(2, 4, 50, 64, device="cuda", dtype=torch.bfloat16)
        assert_close(F.scaled_dot_product_attention(q, q, q), exact(q, q, q), 2.0**-7)


def test_wrong_devices():
    q, k, v = on_gpu()
    with pytest.raises(
        ValueError, match=r"k must be on the device of q, cuda:0, got cpu; move it with \.to\('cuda:0'\)"
    ):
        attention(q, k.cpu(), v)
