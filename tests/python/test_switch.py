"""use() and patch() on torch's own modules and on layers written the way timm writes them."""

import copy

import pytest
import quest_attention
import torch
import torch.nn.functional as F
from inputs import assert_close, assert_same_gradients, exact, qkv
from quest_attention import FORMULATIONS, attention
from quest_attention._switch import attend
from torch import nn
from torch.nn.attention.bias import causal_lower_right
from torch.utils.checkpoint import checkpoint

TOLERANCE = 1e-5


class TimmAttention(nn.Module):
    def __init__(self, dim=32, num_heads=4, fused=True):
        super().__init__()
        self.num_heads, self.head_dim, self.scale = num_heads, dim // num_heads, (dim // num_heads) ** -0.5
        self.fused_attn = fused
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def heads(self, x):
        return self.qkv(x).reshape(*x.shape[:2], 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)

    def forward(self, x):
        q, k, v = self.heads(x)
        if self.fused_attn:
            x = F.scaled_dot_product_attention(q, k, v)
        else:
            x = (q * self.scale @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.proj(x.transpose(1, 2).flatten(2))


class OwnAttention(nn.Module):
    def forward(self, x):
        return (x @ x.transpose(-1, -2)).softmax(-1) @ x


def encoder(nested, norm_first=False, layers=2):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=norm_first)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=nested)


def padded_batch():
    torch.manual_seed(1)
    padding = torch.zeros(3, 11, dtype=torch.bool)
    padding[1, 7:], padding[2, 4:] = True, True
    return torch.randn(3, 11, 32), padding


def parameters_and_input_gradients(model, x, padding):
    x = x.clone().requires_grad_()
    out = model(x, src_key_padding_mask=padding)
    seen = out.masked_fill(padding.unsqueeze(-1), 0.0)
    weights = torch.randn(seen.shape, generator=torch.Generator().manual_seed(2))
    return [seen, *torch.autograd.grad((seen * weights).sum(), [x, *model.parameters()])]


def exact_encoder(model, x, padding, name):
    """The encoder in float64 with the attention spelled out."""
    x = x.double()
    seen = ~padding[:, None, None]
    for layer in copy.deepcopy(model).double().layers:
        projected = F.linear(x, layer.self_attn.in_proj_weight, layer.self_attn.in_proj_bias)
        q, k, v = projected.unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
        out = exact(q, k, v, name, seen=seen).transpose(1, 2).flatten(2)
        x = layer.norm1(x + layer.self_attn.out_proj(out))
        x = layer.norm2(x + layer.linear2(layer.linear1(x).relu()))
    return x


def test_use_answers_torch_attention_calls():
    q, k, v = qkv(value_dim=24)
    with quest_attention.use("quest"):
        inside = F.scaled_dot_product_attention(q, k, v)
        causal = F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(33, 41))
    assert_close(inside, exact(q, k, v), TOLERANCE)
    assert_close(causal, exact(q, k, v, seen=torch.ones(33, 41).tril(8).bool()), TOLERANCE)
    assert_close(F.scaled_dot_product_attention(q, k, v), exact(q, k, v, "standard"), TOLERANCE)


def test_checkpointed_layers_are_computed_again_alike():
    model = TimmAttention()
    x = torch.randn(2, 13, 32, requires_grad=True)
    gradients = []
    with quest_attention.patch(model, "quest"):
        for forward in (model, lambda x: checkpoint(model, x, use_reentrant=False)):
            x.grad = None
            forward(x).sin().sum().backward()
            gradients.append(x.grad)
    assert torch.equal(*gradients)


@pytest.mark.parametrize("name", ["standard", "quest"])
def test_a_given_scale_is_a_factor_on_the_usual_one(name):
    q, k, v = qkv()
    with quest_attention.use(name):
        usual = F.scaled_dot_product_attention(q, k, v, scale=24**-0.5)
        doubled = F.scaled_dot_product_attention(q, k, v, scale=2 * 24**-0.5)
    assert_close(usual, exact(q, k, v, name), TOLERANCE)
    assert_close(doubled, exact(2 * q, k, v, name), TOLERANCE)


@pytest.mark.parametrize("name", ["standard", "quest"])
def test_a_scale_that_is_a_tensor_is_a_factor_too(name):
    q, k, v = qkv()
    scale = torch.tensor(0.3, requires_grad=True)
    out = attend(FORMULATIONS[name], None, q, k, v, scale=scale)
    expected = exact(q * scale * 24**0.5, k, v, name)
    assert_close(out, expected, TOLERANCE)
    assert_same_gradients(out, expected, [q, k, v, scale], TOLERANCE)
    with quest_attention.use(name):
        assert_close(F.scaled_dot_product_attention(q, k, v, scale=scale.detach()), out, TOLERANCE)
        with pytest.raises(TypeError):  # torch itself, which takes no scale that learns
            F.scaled_dot_product_attention(q, k, v, scale=scale)


class HandWritten(nn.Module):
    """QUEST by torch's own means, or with queries normalised, too."""

    def __init__(self, scale=1.0, normalize_q=False):
        super().__init__()
        self.scale, self.normalize_q = scale, normalize_q

    def forward(self, q, k, v):
        q = F.normalize(q, dim=-1) if self.normalize_q else q
        return F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v, scale=self.scale)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("way", ["use", "patch"])
@pytest.mark.parametrize("scale", [1.0, 10.0, torch.tensor(3.0)], ids=["1", "10", "tensor"])
def test_code_that_normalizes_by_itself_is_refused(way, scale, dtype):
    model = HandWritten(scale)
    inputs = qkv(dtype=dtype)
    with quest_attention.use("quest") if way == "use" else quest_attention.patch(model, "quest"):
        with pytest.raises(ValueError, match=r"key has rows of norm 1 already, .* scale=.*; leave this layer as it is"):
            model(*inputs)
    with quest_attention.use("qnorm"), pytest.raises(ValueError, match=r"query has rows of norm 1 already"):
        HandWritten(scale, normalize_q=True)(*inputs)
    q, k, v = inputs
    expected = exact(q.double() * float(scale) * 24**0.5, F.normalize(k, dim=-1), v, "standard")
    with quest_attention.use("standard"):
        assert_close(model(q, k, v), expected, max(torch.finfo(dtype).eps, TOLERANCE))


def test_a_scale_without_unit_rows_is_fine():
    q, k, v = qkv()
    with quest_attention.use("quest"):
        for keys in (k, torch.cat([F.normalize(k, dim=-1)[:, :, :7], k[:, :, 7:]], 2), k * 0, k[:, :, :1]):
            values = v[:, :, : keys.shape[2]]
            out = F.scaled_dot_product_attention(q, keys, values, scale=1.0)
            assert_close(out, attention(q, keys, values, scale=24**0.5), TOLERANCE)
        usual = F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v)
        assert_close(usual, exact(q, k, v), TOLERANCE)


def test_what_cannot_be_read_is_not_looked_at():
    q, k, v = qkv()
    with quest_attention.use("quest"):
        mapped = torch.func.vmap(HandWritten())(q, k, v)
        with torch.device("meta"):
            HandWritten()(*(torch.empty(x.shape) for x in (q, k, v)))
    assert_close(mapped, attention(q, k, v, scale=24**0.5), TOLERANCE)


def test_switches_nest():
    q, k, v = qkv()
    with quest_attention.use("quest"):
        with quest_attention.use("standard"):
            assert_close(F.scaled_dot_product_attention(q, k, v), exact(q, k, v, "standard"), TOLERANCE)
        assert_close(F.scaled_dot_product_attention(q, k, v), exact(q, k, v, "quest"), TOLERANCE)


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("way", ["use", "patch"])
def test_encoder_with_standard_is_torchs_own(way, nested, training):
    model = encoder(nested).train(training)
    x, padding = padded_batch()
    expected = parameters_and_input_gradients(encoder(False).train(training), x, padding)
    with quest_attention.use("standard") if way == "use" else quest_attention.patch(model, "standard"):
        actual = parameters_and_input_gradients(model, x, padding)
    for own, other in zip(actual, expected):
        assert_close(own, other, TOLERANCE)


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("way", ["use", "patch"])
def test_encoder_with_quest_is_the_formula(way, nested, grad):
    model = encoder(nested).eval()
    x, padding = padded_batch()
    expected = exact_encoder(model, x, padding, "quest")
    with (
        quest_attention.use("quest") if way == "use" else quest_attention.patch(model, "quest"),
        torch.set_grad_enabled(grad),
    ):
        actual = model(x, src_key_padding_mask=padding)
    assert_close(actual[~padding], expected[~padding], TOLERANCE)
    with torch.set_grad_enabled(grad):
        after = model(x, src_key_padding_mask=padding)
    assert_close(after[~padding], exact_encoder(model, x, padding, "standard")[~padding], TOLERANCE)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("options", [{}, {"add_bias_kv": True, "add_zero_attn": True}, {"kdim": 20, "vdim": 12}])
def test_multihead_attention_with_weights(options, average):
    torch.manual_seed(0)
    model = nn.MultiheadAttention(32, 4, batch_first=True, **options)
    x = torch.randn(2, 9, 32)
    key, value = torch.randn(2, 11, options.get("kdim", 32)), torch.randn(2, 11, options.get("vdim", 32))
    mask = torch.rand(9, 11) < 0.2
    arguments = dict(attn_mask=mask, average_attn_weights=average)
    expected = model(x, key, value, **arguments)
    with quest_attention.patch(model, "standard"):
        actual = model(x, key, value, **arguments)
    for own, other in zip(actual, expected):
        assert_close(own, other, TOLERANCE)
    with quest_attention.patch(model, "quest"):
        out, weights = model(x, key, value, **arguments)
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), TOLERANCE)
        assert_close(out, model(x, key, value, attn_mask=mask, need_weights=False)[0], TOLERANCE)
    unbatched = model(x[0], key[0], value[0])
    with quest_attention.use("standard"):
        for own, other in zip(model(x[0], key[0], value[0]), unbatched):
            assert_close(own, other, TOLERANCE)


def test_decoder_layer():
    torch.manual_seed(0)
    model = nn.Transformer(32, 4, 1, 1, 64, dropout=0.0, batch_first=True)
    source, target = torch.randn(2, 9, 32), torch.randn(2, 7, 32)
    causal = nn.Transformer.generate_square_subsequent_mask(7)
    expected = model(source, target, tgt_mask=causal, tgt_is_causal=True)
    with quest_attention.patch(model, "standard") as report:
        assert_close(model(source, target, tgt_mask=causal, tgt_is_causal=True), expected, TOLERANCE)
    assert list(report.changed) == [
        "encoder.layers.0.self_attn", "decoder.layers.0.self_attn", "decoder.layers.0.multihead_attn"
    ]  # fmt: skip


@pytest.mark.parametrize("fused", [True, False])
def test_timm_style_layers(fused):
    torch.manual_seed(0)
    model = nn.Sequential(TimmAttention(fused=fused), nn.Linear(32, 32), TimmAttention(fused=fused))
    x = torch.randn(2, 13, 32)
    before = model(x)
    report = quest_attention.patch(model)
    assert report.changed == {"0": "TimmAttention", "2": "TimmAttention"} and not report.unchanged
    layer = model[0]
    q, k, v = layer.heads(x)
    assert_close(layer(x), layer.proj(exact(q, k, v).float().transpose(1, 2).flatten(2)), TOLERANCE)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        model[0].qkv.weight.zero_()
    assert not torch.equal(twin(x), model(x)), "a copy has its own parameters"
    report.undo()
    model.load_state_dict(twin.state_dict())
    assert torch.equal(model(x), before) and isinstance(model[0], TimmAttention) and model[0].fused_attn is fused


def test_report_names_what_it_could_not_change():
    model = nn.ModuleDict({"good": TimmAttention(), "own": OwnAttention()})
    report = quest_attention.patch(model)
    assert report.changed == {"good": "TimmAttention"}
    assert "computes its softmax itself" in report.unchanged["own"]
    assert "good: TimmAttention" in str(report) and "not own: OwnAttention" in str(report)


GAIN_SHAPES = {
    "qknorm_hs": {"quest_log_gain": (4, 1)},
    "qknorm_ds": {"quest_query_gain": (1, 8), "quest_key_gain": (1, 8)},
    "qknorm": {"quest_query_gain": (4, 8), "quest_key_gain": (4, 8)},
}


@pytest.mark.parametrize("name", GAIN_SHAPES)
@pytest.mark.parametrize("make", [TimmAttention, lambda: nn.MultiheadAttention(32, 4, batch_first=True)])
def test_learned_gains(make, name):
    model = make()
    plain = {key: value.clone() for key, value in model.state_dict().items()}
    report = quest_attention.patch(model, name)
    added = {key: tuple(value.shape) for key, value in model.named_parameters() if key not in plain}
    assert added == GAIN_SHAPES[name]
    x = torch.randn(2, 13, 32)
    out = model(x) if isinstance(model, TimmAttention) else model(x, x, x, need_weights=False)[0]
    out.square().sum().backward()
    assert all(getattr(model, key).grad.abs().sum() > 0 for key in added)
    if isinstance(model, TimmAttention):
        q, k, v = model.heads(x)
        gain = torch.full((4, 1), 10.0) if name == "qknorm_hs" else None
        expected = exact(q, k, v, name, gain).float().transpose(1, 2).flatten(2)
        assert_close(out, model.proj(expected), TOLERANCE)
    trained = model.state_dict()
    model.load_state_dict(plain)  # a checkpoint from before the switch
    model.load_state_dict(trained)
    report.undo()
    assert model.state_dict().keys() == plain.keys()
    assert model.load_state_dict(trained, strict=False).unexpected_keys == list(added)


@pytest.mark.parametrize("way", ["use", "patch"])
@pytest.mark.parametrize("make", [TimmAttention, lambda: encoder(False, layers=1)])
def test_compile_whole_graph(make, way):
    torch._dynamo.reset()
    model = make()
    x = torch.randn(2, 13, 32)
    with quest_attention.use("quest") if way == "use" else quest_attention.patch(model, "quest"):
        expected = model(x)
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")(x)
    assert_close(compiled, expected, TOLERANCE)
