"""quest_attention.attention: every formulation and option against the formula in float64 or torch's own function."""

import pytest
import quest_attention
import torch
import torch.nn.functional as F
from inputs import assert_close, assert_same_gradients, exact, gain_for, qkv
from quest_attention import FORMULATIONS, attention

TOLERANCE = 1e-5


@pytest.mark.parametrize("name", FORMULATIONS)
def test_formulations_equal_the_formula(name):
    q, k, v = qkv()
    gain = gain_for(name, 4, 24)
    out = attention(q, k, v, formulation=name, gain=gain)
    expected = exact(q, k, v, name, gain)
    assert_close(out, expected, TOLERANCE)
    assert_same_gradients(out, expected, [q, k, v], TOLERANCE)


@pytest.mark.parametrize("name", [name for name, f in FORMULATIONS.items() if f.needs_gain])
def test_only_learned_gains_receive_gradients(name):
    q, k, v = qkv()
    gain = gain_for(name, 4, 24).requires_grad_()
    out = attention(q, k, v, formulation=name, gain=gain)
    if FORMULATIONS[name].gain_is_learned:
        assert_same_gradients(out, exact(q, k, v, name, gain), [gain], TOLERANCE)
    else:
        assert torch.autograd.grad(out.sum(), gain, allow_unused=True) == (None,)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"attn_mask": torch.rand(2, 1, 33, 41, generator=torch.Generator().manual_seed(1)) < 0.8},
        {"attn_mask": torch.randn(4, 33, 41, generator=torch.Generator().manual_seed(1))},
        {"scale": 0.3},
    ],
    ids=["plain", "causal", "bool mask", "additive mask", "scale"],
)
def test_standard_equals_sdpa(options):
    q, k, v = qkv()
    out = attention(q, k, v, formulation="standard", **options)
    expected = F.scaled_dot_product_attention(q, k, v, **options)
    assert_close(out, expected, TOLERANCE)
    assert_same_gradients(out, expected, [q, k, v], TOLERANCE)


def test_results_lie_in_memory_as_the_inputs_do():
    q, k, v = qkv()
    plain = attention(q, k, v)
    rows = [x.detach().transpose(1, 2).contiguous().requires_grad_() for x in (q, k, v)]
    out = attention(*(x.transpose(1, 2) for x in rows))
    assert out.transpose(1, 2).is_contiguous() and plain.is_contiguous()
    assert torch.equal(out, plain)
    weights = torch.randn_like(plain)
    for own, other in zip(torch.autograd.grad(out, rows, weights), torch.autograd.grad(plain, (q, k, v), weights)):
        assert own.is_contiguous() and torch.equal(own.transpose(1, 2), other)


def test_grouped_heads():
    q, k, v = qkv(key_heads=2)
    assert_close(attention(q, k, v, enable_gqa=True), exact(q, k, v), TOLERANCE)
    with pytest.raises(ValueError, match=r"k must have the 4 heads of q, got 2; set enable_gqa=True"):
        attention(q, k, v)


def test_additive_mask_receives_a_gradient():
    q, k, v = qkv()
    mask = torch.randn(4, 33, 41, requires_grad=True)
    assert_same_gradients(attention(q, k, v, attn_mask=mask), exact(q, k, v, bias=mask), [mask], TOLERANCE)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("size", [1e2, 1e4, 1e6, 1e9, 1e30, torch.finfo(torch.float32).max])
def test_masks_of_any_finite_size(size, sign):
    """A query of zeros scores zero, so that float64 has no digits of a logit that float32 lacks beside the mask."""
    _, k, v = qkv()
    q = torch.zeros(2, 4, 33, 24, requires_grad=True)
    generator = torch.Generator().manual_seed(1)
    mask = torch.randn(4, 33, 41, generator=generator)
    mask[:, ::2] = sign * size
    mask[:, 1::4, :9] = sign * size
    mask.requires_grad_()
    result = attention(q, k, v, attn_mask=mask, return_stats=True)
    expected = exact(q, k, v, bias=mask)
    assert_close(result[0], expected, TOLERANCE)
    assert_same_gradients(result[0], expected, [q, v, mask], TOLERANCE)
    weights = mask.double().softmax(-1).expand(2, 4, 33, 41)
    assert_close(result[1].entropy, torch.special.entr(weights).sum(-1), TOLERANCE)
    assert_close(result[1].key_mass, weights.sum(-2), TOLERANCE)
    assert_close(result[1].lse, mask.double().logsumexp(-1).expand(2, 4, 33), TOLERANCE)


def test_padding_lengths_equal_a_mask():
    q, k, v = qkv()
    lengths = torch.tensor([41, 17])
    seen = (torch.arange(41) < lengths[:, None])[:, None, None]
    assert_close(attention(q, k, v, key_lengths=lengths), exact(q, k, v, seen=seen), TOLERANCE)


def test_packed_sequences_equal_separate_calls():
    q, k, v = qkv(batch=1, queries=30, keys=30)
    offsets = torch.tensor([0, 11, 30])
    out = attention(q, k, v, cu_seqlens_q=offsets, cu_seqlens_k=offsets, is_causal=True)
    parts = [attention(q[:, :, a:b], k[:, :, a:b], v[:, :, a:b], is_causal=True) for a, b in ((0, 11), (11, 30))]
    assert_close(out, torch.cat(parts, 2), TOLERANCE)
    packed = attention(q, k, v, cu_seqlens_q=offsets, cu_seqlens_k=offsets, is_causal=True, path="reference")
    assert_close(packed, out, TOLERANCE)


@pytest.mark.parametrize("alignment", ["top_left", "lower_right"])
def test_causal_alignment(alignment):
    q, k, v = qkv()
    seen = torch.ones(33, 41).tril(0 if alignment == "top_left" else 8).bool()
    out = attention(q, k, v, is_causal=True, causal_alignment=alignment)
    assert_close(out, exact(q, k, v, seen=seen), TOLERANCE)
    assert_close(attention(q, k, v, is_causal=True, causal_alignment=alignment, path="reference"), out, TOLERANCE)


def test_three_and_five_dimensions():
    q, k, v = qkv(batch=6)
    whole = attention(q, k, v)
    one_head = attention(q[:, 0], k[:, 0], v[:, 0])
    assert_close(one_head, whole[:, 0], TOLERANCE)
    windows = attention(*(x.unflatten(0, (2, 3)) for x in (q, k, v)))
    assert_close(windows, whole.unflatten(0, (2, 3)), TOLERANCE)
    mask = torch.rand(2, 3, 1, 33, 41) < 0.8
    masked = attention(*(x.unflatten(0, (2, 3)) for x in (q, k, v)), attn_mask=mask)
    assert_close(masked, attention(q, k, v, attn_mask=mask.flatten(0, 1)).unflatten(0, (2, 3)), TOLERANCE)


@pytest.mark.parametrize("dtype,rounding", [(torch.bfloat16, 2.0**-8), (torch.float16, 2.0**-11)])
def test_narrow_types(dtype, rounding):
    q, k, v = qkv(dtype=dtype, grad=False)
    out = attention(q, k, v)
    assert out.dtype == dtype
    assert_close(out, exact(q, k, v), 1.01 * rounding)


@pytest.mark.parametrize("path", ["fused", "reference"])
def test_queries_that_see_nothing_give_zero(path):
    q, k, v = qkv()
    seen = torch.ones(33, 41, dtype=torch.bool)
    seen[5] = False
    out = attention(q, k, v, attn_mask=seen, path=path)
    gradients = torch.autograd.grad(out.sum(), [q, k, v])
    assert out[:, :, 5].count_nonzero() == 0 and gradients[0][:, :, 5].count_nonzero() == 0
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("path", ["fused", "reference"])
def test_padding_may_hold_anything(path):
    q, k, v = qkv(grad=False)
    lengths = torch.tensor([41, 17])
    clean = attention(q, k, v, key_lengths=lengths, path=path)
    k[1, :, 17:], v[1, :, 17:] = float("nan"), float("inf")
    assert torch.equal(attention(q, k, v, key_lengths=lengths, path=path), clean)


def test_dropout_follows_the_generator_and_the_seed():
    q, k, v = qkv()
    torch.manual_seed(5)
    first = attention(q, k, v, dropout_p=0.3)
    second = attention(q, k, v, dropout_p=0.3)
    torch.manual_seed(5)
    assert torch.equal(attention(q, k, v, dropout_p=0.3), first) and not torch.equal(first, second)
    fused = attention(q, k, v, dropout_p=0.3, dropout_seed=11)
    formula = attention(q, k, v, dropout_p=0.3, dropout_seed=11, path="reference")
    assert_close(fused, formula, TOLERANCE)
    assert_same_gradients(fused, formula, [q, k, v], TOLERANCE)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["standard", "quest"])
def test_statistics(name, dtype):
    q, k, v = qkv(dtype=dtype)
    out, stats = attention(q, k, v, formulation=name, return_stats=True)
    assert torch.equal(out, attention(q, k, v, formulation=name))
    keys = k / k.norm(dim=-1, keepdim=True) if name == "quest" else k / 24**0.5
    logits = (q @ keys.transpose(-1, -2)).double()
    weights = logits.softmax(-1)
    expected = {
        "lse": logits.logsumexp(-1),
        "max_logit": logits.amax(-1),
        "entropy": -(weights * weights.log()).sum(-1),
        "q_norm": q.norm(dim=-1),
        "k_norm": k.norm(dim=-1),
        "key_mass": weights.sum(-2),
    }
    for field, value in expected.items():
        result = getattr(stats, field)
        assert not result.requires_grad and result.dtype == dtype
        assert_close(result, value, TOLERANCE, field)


def test_same_bits_twice_in_deterministic_mode():
    q, k, v = qkv(queries=197, keys=197)
    torch.use_deterministic_algorithms(True)
    try:
        runs = []
        for _ in range(2):
            out = attention(q, k, v)
            runs.append((out, *torch.autograd.grad(out.square().sum(), [q, k, v])))
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(*runs))


@pytest.mark.parametrize("path", ["fused", "reference"])
@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_scale_that_is_learned(name, path):
    q, k, v = qkv()
    gain = gain_for(name, 4, 24)
    scale = torch.tensor(0.3, requires_grad=True)
    out = attention(q, k, v, formulation=name, gain=gain, scale=scale, path=path)
    own = FORMULATIONS[name].default_scale(24)
    expected = exact(q * (scale / own), k, v, name, gain)
    if FORMULATIONS[name].normalize_q:  # which hides the factor from the formula
        expected = exact(q, k, v, name, (1.0 if gain is None else gain) * scale.reshape(1, 1) / own)
    assert_close(out, expected, TOLERANCE)
    assert_same_gradients(out, expected, [q, k, v, scale], TOLERANCE)


@pytest.mark.parametrize("scale", [torch.tensor([0.5], dtype=torch.float64), torch.tensor([[[2]]])])
def test_a_scale_of_one_element(scale):
    q, k, v = qkv(grad=False)
    assert_close(attention(q, k, v, scale=scale), attention(q, k, v, scale=float(scale)), 1e-6)


@pytest.mark.parametrize("name", ["quest", "qknorm_hs"])
def test_a_gain_that_is_a_number(name):
    q, k, v = qkv()
    out = attention(q, k, v, formulation=name, gain=10.0)
    assert torch.equal(out, attention(q, k, v, formulation=name, gain=torch.full((4, 1), 10.0)))
    with quest_attention.use(name, gain=10):
        assert torch.equal(torch.nn.functional.scaled_dot_product_attention(q, k, v), out)


def test_a_formulation_of_ones_own():
    q, k, v = qkv()
    own = quest_attention.Formulation("own", normalize_k=True, divide_by_sqrt_dim=True)
    assert_close(attention(q, k, v, formulation=own), exact(q / 24**0.5, k, v), TOLERANCE)
