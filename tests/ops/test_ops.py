"""The operator library as Python sees it: torch.ops.load_library, then the same numbers as normalize + SDPA.

Usage: test_ops.py path/to/libquest_ops.so
"""

import math
import sys
import traceback

import torch
import torch.nn.functional as F

DEFAULTS = dict(
    gain=None, mask=None, key_lengths=None, cu_seqlens_q=None, cu_seqlens_k=None,
    normalize_q=False, normalize_k=True, scale=1.0, causal=0, dropout_p=0.0, dropout_seed=0,
)  # fmt: skip


def forward(q, k, v, **options):
    return torch.ops.quest.attention_forward(q, k, v, **{**DEFAULTS, **options})


def backward(grad_out, q, k, v, out, lse, gain_grad=False, mask_grad=False, **options):
    arguments = {**DEFAULTS, **options}
    return torch.ops.quest.attention_backward(
        grad_out, q, k, v, out, lse, **arguments, gain_grad=gain_grad, mask_grad=mask_grad
    )


def tensors(queries=33, keys=41, heads=4, kv_heads=4, dim=24, value_dim=40, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(2, heads, queries, dim), (2, kv_heads, keys, dim), (2, kv_heads, keys, value_dim)]
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def torch_quest(q, k, v, **options):
    return F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v, scale=1.0, **options)


def assert_close(actual, expected, tolerance, what):
    expected = expected.to(torch.float64)
    error = (actual.to(torch.float64) - expected).abs().max().item()
    largest = expected.abs().max().item()
    assert error <= tolerance * largest, f"{what}: error {error:.3g} of {largest:.3g}, allowed {tolerance * largest:.3g}"


def assert_raises(parts, function):
    try:
        function()
    except RuntimeError as error:
        for part in parts:
            assert part in str(error), f"'{part}' is missing in: {error}"
        return
    raise AssertionError("nothing was raised")


def check_forward_and_backward(sdpa_options, quest_options, **sizes):
    inputs = [x.requires_grad_() for x in tensors(**sizes)]
    expected = torch_quest(*inputs, **sdpa_options)
    grad_out = torch.randn_like(expected)
    expected_grads = torch.autograd.grad(expected, inputs, grad_out)
    plain = [x.detach() for x in inputs]
    out, lse = forward(*plain, **quest_options)
    assert_close(out, expected.detach(), 1e-5, "output")
    grads = backward(grad_out, *plain, out, lse, **quest_options)
    for name, actual, wanted in zip("qkv", grads, expected_grads):
        assert_close(actual, wanted, 1e-5, f"gradient of {name}")


def test_equals_normalize_and_sdpa():
    check_forward_and_backward({}, {})


def test_causal():
    check_forward_and_backward({"is_causal": True}, {"causal": 1}, queries=65, keys=65)


def test_grouped_heads():
    check_forward_and_backward({"enable_gqa": True}, {}, kv_heads=2)


def test_boolean_mask():
    mask = torch.rand(2, 1, 33, 41) < 0.7
    mask[..., 0] = True
    check_forward_and_backward({"attn_mask": mask}, {"mask": mask})


def test_additive_mask_and_its_gradient():
    q, k, v = tensors()
    mask = torch.randn(4, 33, 41, requires_grad=True)
    expected = torch_quest(q, k, v, attn_mask=mask)
    grad_out = torch.randn_like(expected)
    (wanted,) = torch.autograd.grad(expected, mask, grad_out)
    out, lse = forward(q, k, v, mask=mask.detach())
    assert_close(out, expected.detach(), 1e-5, "output")
    grad_mask = backward(grad_out, q, k, v, out, lse, mask=mask.detach(), mask_grad=True)[4]
    assert_close(grad_mask.reshape(mask.shape), wanted, 1e-5, "gradient of the mask")


def test_rows_masked_by_finite_numbers():
    """Beside such numbers nothing is left of a score: forward and backward both give every key the same weight."""
    q, k, v = tensors()
    for number in (-1e9, 1e9, torch.finfo(torch.float32).min):
        mask = torch.full((33, 1), number).expand(33, 41)
        out, lse = forward(q, k, v, mask=mask)
        grad_out = torch.randn_like(out)
        assert lse.shape == (2, 2, 4, 33)
        assert_close(out, v.mean(2, keepdim=True).expand_as(out), 1e-5, f"output under {number:g}")
        *grads, _, grad_mask = backward(grad_out, q, k, v, out, lse, mask=mask, mask_grad=True)
        grad_v = grad_out.sum(2, keepdim=True) / 41
        assert_close(grads[2], grad_v.expand_as(v), 1e-5, f"gradient of v under {number:g}")
        assert grad_mask.sum(-1).abs().max() < 1e-4, f"the gradient of weights that sum to one under {number:g}"
        _, entropy, *_, mass = torch.ops.quest.attention_statistics(q, k, lse, **{**DEFAULTS, "mask": mask})
        assert_close(entropy, torch.full_like(entropy, math.log(41)), 1e-5, f"entropy under {number:g}")
        assert_close(mass, torch.full_like(mass, 33 / 41), 1e-5, f"key mass under {number:g}")


def test_gain_and_its_gradient():
    q, k, v = tensors()
    gain = torch.rand(4, 24).add(0.5).requires_grad_()
    expected = torch_quest(F.normalize(q, dim=-1) * gain.unsqueeze(1), k, v)
    grad_out = torch.randn_like(expected)
    (wanted,) = torch.autograd.grad(expected, gain, grad_out)
    options = dict(gain=gain.detach(), normalize_q=True)
    out, lse = forward(q, k, v, **options)
    assert_close(out, expected.detach(), 1e-5, "output")
    grad_gain = backward(grad_out, q, k, v, out, lse, gain_grad=True, **options)[3]
    assert_close(grad_gain, wanted, 1e-5, "gradient of the gain")


def test_gradients_not_asked_for_are_empty():
    q, k, v = tensors()
    out, lse = forward(q, k, v)
    grads = backward(torch.ones_like(out), q, k, v, out, lse)
    assert [g.numel() for g in grads[3:]] == [0, 0]


def test_narrow_types():
    for dtype, rounding in ((torch.bfloat16, 2.0**-8), (torch.float16, 2.0**-11)):
        q, k, v = tensors(dtype=dtype)
        out, lse = forward(q, k, v)
        assert out.dtype == dtype and lse.dtype == torch.float32
        exact = torch_quest(q.double(), k.double(), v.double())
        assert_close(out, exact, rounding * 1.01, f"{dtype} output")
        for grad, like in zip(backward(torch.ones_like(out), q, k, v, out, lse), (q, k, v)):
            assert grad.dtype == dtype and grad.shape == like.shape


def test_log_sum_exp_and_statistics():
    q, k, v = tensors()
    _, lse = forward(q, k, v)
    logits = q @ F.normalize(k, dim=-1).transpose(-1, -2)
    assert_close(lse, logits.logsumexp(-1), 1e-5, "lse")
    max_logit, entropy, q_norm, k_norm, key_mass = torch.ops.quest.attention_statistics(q, k, lse, **DEFAULTS)
    p = logits.softmax(-1)
    assert_close(max_logit, logits.amax(-1), 1e-5, "max_logit")
    assert_close(entropy, -(p * p.log()).sum(-1), 1e-5, "entropy")
    assert_close(q_norm, q.norm(dim=-1), 1e-5, "q_norm")
    assert_close(k_norm, k.norm(dim=-1), 1e-5, "k_norm")
    assert_close(key_mass, p.sum(-2), 1e-5, "key_mass")


def test_packed_sequences_equal_separate_calls():
    q, k, v = tensors(queries=30, keys=50)
    q, k, v = q[:1], k[:1], v[:1]
    at_q, at_k = [0, 11, 11, 30], [0, 20, 33, 50]
    offsets = dict(cu_seqlens_q=torch.tensor(at_q), cu_seqlens_k=torch.tensor(at_k))
    out, _ = forward(q, k, v, **offsets)
    for s in range(3):
        rows, seen = slice(at_q[s], at_q[s + 1]), slice(at_k[s], at_k[s + 1])
        alone, _ = forward(q[:, :, rows], k[:, :, seen].contiguous(), v[:, :, seen].contiguous())
        if alone.numel():
            assert_close(out[:, :, rows], alone, 1e-6, f"sequence {s}")


def test_any_strides():
    q, k, v = tensors()
    strided = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    assert torch.equal(forward(*strided)[0], forward(q, k, v)[0])
    columns = [x.transpose(2, 3).contiguous().transpose(2, 3) for x in (q, k, v)]
    assert torch.equal(forward(*columns)[0], forward(q, k, v)[0])


def test_dropout_factors_are_what_forward_applies():
    q, k, _ = tensors(queries=33, keys=41)
    factors = torch.ops.quest.dropout_factors(q, 41, 0.25, 9)
    assert factors.shape == (2, 4, 33, 41)
    assert set(factors.unique().tolist()) == {0.0, torch.tensor(1.0).div(0.75).item()}
    identity = torch.eye(41).expand(2, 4, 41, 41)
    weights, _ = forward(q, k, identity)
    dropped, _ = forward(q, k, identity, dropout_p=0.25, dropout_seed=9)
    assert_close(dropped, weights * factors, 1e-6, "weights after dropout")


def test_meta_shapes():
    q, k, v = (x.to("meta") for x in tensors())
    try:
        out, lse = forward(q, k, v)
    except NotImplementedError:
        return  # no shape rule registered: torch says so itself
    assert out.shape == (2, 4, 33, 40) and lse.shape == (2, 4, 33)
    assert forward(q, k, v, mask=q.new_empty(33, 41))[1].shape == (2, 2, 4, 33)
    grads = backward(out, q, k, v, out, lse)
    assert [g.shape for g in grads[:3]] == [q.shape, k.shape, v.shape]


def test_errors_are_runtime_errors_with_our_words():
    q, k, v = tensors()
    assert_raises(["q must", "4 dim", "[4, 33, 24]"], lambda: forward(q[0], k, v))
    assert_raises(["k must", "8", "24"], lambda: forward(q, k[..., :8], v))
    assert_raises(["v must", "41", "40"], lambda: forward(q, k, v[:, :, :40]))
    assert_raises(["k must", "float32", "bfloat16"], lambda: forward(q, k.bfloat16(), v))
    assert_raises(["mask must", "broadcast", "[33, 40]"], lambda: forward(q, k, v, mask=torch.ones(33, 40)))
    assert_raises(["dropout_p must", "[0, 1)", "1.5"], lambda: forward(q, k, v, dropout_p=1.5))
    assert_raises(["gain must", "[3, 24]"], lambda: forward(q, k, v, gain=torch.ones(3, 24)))
    assert_raises(["mask", "causal"], lambda: forward(q, k, v, causal=1, mask=torch.ones(33, 41)))
    assert_raises(["causal", "7"], lambda: forward(q, k, v, causal=7))
    assert_raises(["key_lengths", "42"], lambda: forward(q, k, v, key_lengths=torch.tensor([42, 1])))
    out, lse = forward(q, k, v)
    assert_raises(["grad_out must", "[2, 4, 33, 40]"], lambda: backward(out[..., :8], q, k, v, out, lse))
    assert_raises(["lse must", "[2, 4, 33]"], lambda: backward(out, q, k, v, out, lse[0]))


def test_no_rows_and_no_keys():
    q, k, v = tensors()
    out, lse = forward(q, k[:, :, :0], v[:, :, :0])
    assert out.count_nonzero() == 0 and (lse == -math.inf).all()
    assert forward(q[:, :, :0], k, v)[0].shape == (2, 4, 0, 40)
    assert forward(q[:0], k[:0], v[:0])[0].shape == (0, 4, 33, 40)


def main(library):
    torch.ops.load_library(library)
    torch.manual_seed(0)
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    failed = 0
    for name, test in tests.items():
        try:
            test()
        except Exception:
            failed += 1
            print(f"{name} failed")
            traceback.print_exc()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
