"""What PyTorch does to functions: derivatives of any order and mode, vmap, compile, export, autocast, fake tensors."""

import pytest
import quest_attention
import torch
import torch.nn.functional as F
from inputs import assert_close, assert_same_gradients, exact, qkv
from quest_attention import attention
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad

TOLERANCE = 1e-5


def operator_arguments(**changes):
    settings = dict(
        gain=None, mask=None, key_lengths=None, cu_seqlens_q=None, cu_seqlens_k=None, dropout_seed=None,
        normalize_q=False, normalize_k=True, scale=1.0, causal=0, dropout_p=0.0,
    )  # fmt: skip
    return tuple({**settings, **changes}.values())


OPERATOR_CASES = {
    "plain": {},
    "causal": {"causal": 1},
    "learned": {
        "gain": torch.ones(4, 24, requires_grad=True),
        "mask": torch.zeros(33, 41, requires_grad=True),
        "dropout_seed": torch.tensor(3),
        "dropout_p": 0.1,
    },
    "padded": {"key_lengths": torch.tensor([41, 9])},
}


@pytest.mark.parametrize(
    "case,dtype",
    [*((case, torch.float32) for case in OPERATOR_CASES), ("plain", torch.bfloat16), ("learned", torch.float16)],
)
def test_opcheck(case, dtype):
    q, k, v = qkv(dtype=dtype)
    if case == "causal":  # heads within rows, as projections leave them
        q, k, v = (x.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for x in (q, k, v))
    arguments = (q, k, v, *operator_arguments(**OPERATOR_CASES[case]))
    torch.library.opcheck(torch.ops.quest.attention, arguments)
    out, lse = torch.ops.quest.attention(*arguments)
    learned = case == "learned"
    torch.library.opcheck(
        torch.ops.quest.attention_gradients,
        (*arguments, torch.randn_like(out).requires_grad_(), out.detach(), lse, learned, learned),
    )


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"formulation": "standard"}])
def test_gradcheck_in_float64(options):
    inputs = qkv(batch=1, heads=2, queries=3, keys=4, dim=3, value_dim=2, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda *x: attention(*x, **options), inputs, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda *x: attention(*x, **options), inputs, fast_mode=True)


def gradient_penalty(function, inputs):
    gradients = torch.autograd.grad(function(*inputs).sin().sum(), inputs, create_graph=True)
    return sum(gradient.square().sum() for gradient in gradients)


def check_double_backward(ours, exactly, inputs):
    results = torch.autograd.grad(gradient_penalty(ours, inputs), inputs)
    doubles = [x.detach().double().requires_grad_() for x in inputs]
    expected = torch.autograd.grad(gradient_penalty(exactly, doubles), doubles)
    for own, other in zip(results, expected):
        assert_close(own, other, TOLERANCE, "derivative of the gradient penalty")


def test_double_backward_of_the_fused_kernel():
    check_double_backward(attention, exact, qkv())


def test_double_backward_with_one_tensor_for_all_and_learned_extras():
    x, _, _ = qkv(queries=9, dim=8)
    gain, mask = torch.rand(4, 1).requires_grad_(), torch.randn(9, 9, requires_grad=True)

    def ours(x, gain, mask):
        return attention(x, x, x, gain=gain, attn_mask=mask)

    def exactly(x, gain, mask):
        return exact(x, x, x, gain=gain, bias=mask)

    check_double_backward(ours, exactly, [x, gain, mask])


def test_third_derivative():
    x = torch.randn(1, 1, 4, 3, requires_grad=True)

    def third(function, x):
        for _ in range(3):
            (x_grad,) = torch.autograd.grad(function(x).sin().sum(), x, create_graph=True)
            function = lambda _, value=x_grad: value  # noqa: E731
        return x_grad

    double = x.detach().double().requires_grad_()
    assert_close(third(lambda x: attention(x, x, x), x), third(lambda x: exact(x, x, x), double), 1e-4)


def test_jvp_and_forward_mode():
    q, k, v = qkv(grad=False)
    tangent = torch.randn_like(q)
    out, derivative = torch.func.jvp(lambda q: attention(q, k, v), (q,), (tangent,))
    _, expected = torch.func.jvp(lambda q: exact(q, k, v), (q.double(),), (tangent.double(),))
    assert_close(derivative, expected, TOLERANCE)
    with forward_ad.dual_level():
        dual = attention(forward_ad.make_dual(q, tangent), k, v)
        assert_close(forward_ad.unpack_dual(dual).tangent, expected, TOLERANCE)
    assert_close(attention(q, k, v), out, TOLERANCE)


def test_vmap_and_per_sample_gradients():
    q, k, v = qkv(batch=6, grad=False)
    mapped = torch.func.vmap(attention)(*(x.unflatten(0, (3, 2)) for x in (q, k, v)))
    assert_close(mapped.flatten(0, 1), attention(q, k, v), TOLERANCE)
    loss = torch.func.grad(lambda q, k, v: attention(q[None], k[None], v[None]).square().sum())
    each = torch.func.vmap(loss)(q, k, v)
    (expected,) = torch.autograd.grad(attention(q.requires_grad_(), k, v).square().sum(), q)
    assert_close(each, expected, TOLERANCE)


def test_hessian_vector_product():
    q, k, v = qkv(batch=1, queries=5, keys=6, dim=4, grad=False)
    function = lambda q: attention(q, k, v).square().sum()  # noqa: E731
    _, product = torch.func.jvp(torch.func.grad(function), (q,), (torch.ones_like(q),))
    doubles = [x.double() for x in (q, k, v)]
    exactly = lambda q: exact(q, *doubles[1:]).square().sum()  # noqa: E731
    _, expected = torch.func.jvp(torch.func.grad(exactly), (doubles[0],), (torch.ones_like(doubles[0]),))
    assert_close(product, expected, TOLERANCE)


@pytest.mark.parametrize(
    "options,backend",
    [
        ({}, "inductor"),
        ({"dropout_p": 0.2}, "inductor"),
        ({"is_causal": True, "return_stats": True}, "aot_eager"),
        ({"formulation": "standard", "scale": 0.5}, "aot_eager"),
    ],
)
def test_compile_whole_graph(options, backend):
    torch._dynamo.reset()

    def block(q, k, v):
        out = attention(q * 2, k, v, **options)
        return (out[0] if "return_stats" in options else out).relu()

    inputs = qkv()
    compiled = torch.compile(block, fullgraph=True, backend=backend)
    out = compiled(*inputs)
    if "dropout_p" in options:
        assert not torch.equal(out, compiled(*inputs)), "a compiled graph must draw a new pattern each time"
        out.sum().backward()
        return
    assert_close(out, block(*inputs), TOLERANCE)
    assert_same_gradients(out, block(*inputs), inputs, TOLERANCE)


class Watched(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.projections = torch.nn.Linear(24, 72)

    def forward(self, x):
        return F.scaled_dot_product_attention(*self.projections(x).chunk(3, -1))


@pytest.mark.parametrize("way", ["the model", "the compiled model", "compiled within"])
def test_a_compiled_model_is_watched_with_a_graph_break(way):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, x = Watched(), torch.randn(2, 4, 33, 24)
    quest_attention.patch(model, "quest")
    compiled = torch.compile(model, backend="aot_eager")
    frames = []
    for run, watched in ((model, model), (compiled, compiled if way == "the compiled model" else model)):
        if run is compiled and way != "compiled within":
            compiled(x)
        with quest_attention.monitor(watched) as watch:
            for _ in range(2):
                run(x).sum().backward()
        frames.append([row[3:] for row in watch.rows()])
    assert len(frames[0]) == 8
    torch.testing.assert_close(*map(torch.tensor, frames))


def test_a_whole_graph_cannot_be_watched():
    torch._dynamo.reset()
    model = Watched()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    with quest_attention.monitor(model), pytest.raises(torch._dynamo.exc.Unsupported):
        compiled(torch.randn(2, 4, 33, 24))


def test_compile_with_other_lengths_reuses_the_graph():
    torch._dynamo.reset()
    compiled = torch.compile(attention, fullgraph=True, backend="aot_eager", dynamic=True)
    compiled(*qkv())
    with torch._dynamo.config.patch(error_on_recompile=True):
        inputs = qkv(queries=50, keys=60)
        assert_close(compiled(*inputs), attention(*inputs), TOLERANCE)


def test_compiled_vmap():
    torch._dynamo.reset()
    q, k, v = qkv(batch=6, grad=False)
    mapped = torch.compile(torch.func.vmap(attention), backend="aot_eager", fullgraph=True)
    assert_close(mapped(*(x.unflatten(0, (3, 2)) for x in (q, k, v))).flatten(0, 1), attention(q, k, v), TOLERANCE)


class Layer(torch.nn.Module):
    def forward(self, q, k, v):
        return attention(q, k, v, is_causal=True)


def test_export_with_a_dynamic_length():
    length = torch.export.Dim("length", min=2, max=512)
    dynamic = {name: {2: length} for name in "qkv"}
    example = tuple(qkv(queries=33, keys=33, grad=False))
    program = torch.export.export(Layer(), example, dynamic_shapes=dynamic)
    others = qkv(queries=70, keys=70, grad=False)
    assert_close(program.module()(*others), Layer()(*others), TOLERANCE)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype):
    q, k, v = qkv()
    with torch.autocast("cpu", dtype=dtype):
        out = attention(q, k, v)
        assert out.dtype == F.scaled_dot_product_attention(q, k, v).dtype == dtype
    assert torch.equal(out, attention(*(x.to(dtype) for x in (q, k, v))))
    out.sum().backward()
    assert q.grad.dtype == torch.float32
    with torch.autocast("cpu", dtype=dtype):
        assert attention(*qkv(dtype=torch.float64)).dtype == torch.float64
        masked = attention(q, k, v, attn_mask=torch.zeros(33, 41, dtype=torch.bfloat16))
    assert masked.dtype == dtype


def test_fake_tensors_have_the_right_shape():
    with FakeTensorMode():
        shapes = [(2, 8, 10, 16), (2, 2, 12, 16), (2, 2, 12, 20)]
        q, k, v = (torch.empty(shape, device="meta") for shape in shapes)
        out, stats = attention(q, k, v, enable_gqa=True, return_stats=True)
    assert out.shape == (2, 8, 10, 20) and out.device.type == "meta"
    assert stats.key_mass.shape == (2, 8, 12) and stats.k_norm.shape == (2, 2, 12)
