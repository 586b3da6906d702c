"""Shapes as callers have them: what torch's function accepts is accepted, with its result and its derivatives."""

import random

import pytest
import quest_attention
import torch
import torch.nn.functional as F
from inputs import assert_close, assert_same_gradients, exact, qkv
from quest_attention import attention

TOLERANCE = 1e-5


def tensors(q_leading, k_leading, v_leading, queries=5, keys=7, dim=8, value_dim=6):
    generator = torch.Generator().manual_seed(0)
    shapes = [(*q_leading, queries, dim), (*k_leading, keys, dim), (*v_leading, keys, value_dim)]
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]


def part_of(leading, draw):
    """A shape that broadcasts to the leading dimensions."""
    kept = leading[draw.randint(0, len(leading)) :]
    return tuple(1 if draw.random() < 0.4 else size for size in kept)


def drawn_cases():
    draw = random.Random(0)
    for _ in range(60):
        leading = tuple(draw.choice((1, 2, 3)) for _ in range(draw.randint(0, 4)))
        yield *(part_of(leading, draw) for _ in range(3)), {}
    for _ in range(30):
        batch = tuple(draw.choice((1, 2)) for _ in range(draw.randint(0, 2)))
        parts = ((*part_of(batch, draw), heads) for heads in (6, draw.choice((1, 2, 3, 6)), draw.choice((1, 2, 3, 6))))
        yield *parts, {"enable_gqa": True}


@pytest.mark.parametrize("case", list(drawn_cases()), ids=str)
def test_leading_dimensions_broadcast_as_torchs_do(case):
    *leading, options = case
    inputs = tensors(*leading)
    logits = torch.broadcast_shapes(leading[0], leading[1][:-1] + (1,) if options else leading[1]) + (5, 7)
    mask_leading = part_of(logits[:-2], random.Random(str(case)))
    masks = [{}, {"is_causal": True}, {"attn_mask": torch.randn(*mask_leading, 5, 7)}]
    for choice in masks:
        expected = F.scaled_dot_product_attention(*inputs, **options, **choice)
        with quest_attention.use("standard"):
            inside = F.scaled_dot_product_attention(*inputs, **options, **choice)
        assert_close(inside, expected, TOLERANCE)
        assert_same_gradients(inside, expected, inputs, TOLERANCE)
        plain = attention(*inputs, formulation="standard", path="reference", **options, **choice)
        assert_close(plain, expected, TOLERANCE)


def test_shared_key_heads_are_not_copied(monkeypatch):
    seen = []
    monkeypatch.setattr("quest_attention._attention.observers", [lambda call, lse: seen.append(call)])
    q, k, v = tensors((2, 6), (2, 1), (2, 1))
    assert_close(attention(q, k, v), exact(q, k, v), TOLERANCE)
    assert seen[0].k.shape[1] == 1


@pytest.mark.parametrize("leading", [(), (2,), (2, 3), (0, 3), (0,)])
@pytest.mark.parametrize("queries,keys", [(0, 7), (5, 0), (0, 0)])
def test_nothing_to_attend_with(leading, queries, keys):
    q, k, v = tensors(leading, leading, leading, queries=queries, keys=keys)
    expected = F.scaled_dot_product_attention(q, k, v)
    for path in ("fused", "reference"):
        assert torch.equal(attention(q, k, v, formulation="standard", path=path), expected)


def test_no_dimensions_at_all():
    q, k, v = tensors((2, 3), (2, 3), (2, 3), dim=0)
    for name in ("standard", "quest"):
        assert_close(attention(q, k, v, formulation=name), v.mean(-2, keepdim=True).expand(2, 3, 5, 6), TOLERANCE)


def test_everything_dropped():
    q, k, v = qkv()
    with quest_attention.use("standard"):
        out = F.scaled_dot_product_attention(q, k, v, dropout_p=1.0)
    assert out.count_nonzero() == 0 and torch.autograd.grad(out.sum(), v)[0].count_nonzero() == 0


@pytest.mark.parametrize("leading,key_leading", [((), ()), ((3,), (3,)), ((2, 4), (2, 1)), ((2, 3, 4), (2, 3, 4))])
def test_statistics_have_the_callers_dimensions(leading, key_leading):
    q, k, v = tensors(leading, key_leading, key_leading)
    for path in ("fused", "reference"):
        out, stats = attention(q, k, v, return_stats=True, path=path)
        assert stats.lse.shape == stats.q_norm.shape == (*leading, 5) and out.shape == (*leading, 5, 6)
        assert stats.key_mass.shape == (*leading, 7)
        assert_close(stats.k_norm, k.norm(dim=-1), TOLERANCE)


def test_a_batch_that_shares_its_keys_and_has_lengths():
    q, k, v = tensors((3, 2), (1, 2), (1, 2))
    lengths = torch.tensor([7, 3, 1])
    seen = (torch.arange(7) < lengths[:, None])[:, None, None]
    expected = exact(q, k.expand(3, -1, -1, -1), v.expand(3, -1, -1, -1), seen=seen)
    assert_close(attention(q, k, v, key_lengths=lengths), expected, TOLERANCE)


def test_compile_whole_graph():
    torch._dynamo.reset()
    q, k, v = tensors((2, 6), (1, 1), (1, 1))
    compiled = torch.compile(attention, fullgraph=True, backend="aot_eager")
    assert_close(compiled(q, k, v), attention(q, k, v), TOLERANCE)
    assert_same_gradients(compiled(q, k, v), attention(q, k, v), [q, k, v], TOLERANCE)


FLASH = r".*as \[batch, rows, heads, dim\], as flash-attn's do, pass x\.transpose\(1, 2\) of each"


@pytest.mark.parametrize(
    "shapes,options,message",
    [
        ([(2, 5, 4, 8), (2, 7, 4, 8)], {}, r"k must have the 5 heads of q, got 7; set enable_gqa=True " + FLASH),
        ([(2, 5, 4, 8), (2, 7, 2, 8)], {"enable_gqa": True}, r"divides the 5 of q, got 7; " + FLASH),
        ([(2, 5, 4, 8), (2, 5, 4, 8)], {"attn_mask": torch.ones(5, 5)},
         r"attn_mask must broadcast .* 4 queries, 4 keys\], got \[5, 5\], the numbers of heads; " + FLASH),
        ([(2, 4, 5, 8), (3, 4, 7, 8)], {}, r"k must have the batch and heads of q, or 1 in its place, got shape \[3"),
        ([(30, 4, 8), (30, 4, 8)], {name: torch.tensor([0, 11, 30]) for name in ("cu_seqlens_q", "cu_seqlens_k")},
         r"cu_seqlens_q needs packed rows .* got q of shape \[30, 4, 8\]; if .* x\.transpose\(0, 1\)\.unsqueeze\(0\)"),
    ],
)  # fmt: skip
def test_tensors_in_another_order(shapes, options, message):
    q, k = (torch.randn(shape) for shape in shapes)
    with pytest.raises(ValueError, match=message):
        attention(q, k, k, **options)
