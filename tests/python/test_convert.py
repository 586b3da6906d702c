"""convert(): trained models are carried over to QUEST by factors in their query projections."""

import copy

import pytest
import quest_attention
import torch
import torch.nn.functional as F
from inputs import assert_close, exact
from torch import nn
from torch.nn.utils.parametrizations import weight_norm
from transformers import (
    AlbertConfig,
    AutoModel,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    Olmo2Config,
    Qwen3Config,
    WhisperConfig,
)

TOLERANCE = 1e-5
HEADS, DIM = 4, 8
NORMS = torch.tensor([0.5, 2.0, 7.0, 11.0])


class EvenKeys(nn.Module):
    """Attention whose keys have the same norm within each head; queries come from one or from several layers."""

    def __init__(self, fused=True, bias=True):
        super().__init__()
        width = HEADS * DIM
        if fused:
            self.qkv = nn.Linear(width, 3 * width, bias=bias)
        else:
            self.values, self.keys, self.queries = (nn.Linear(width, width, bias=bias) for _ in range(3))
        self.proj = nn.Linear(width, width)

    def heads(self, x):
        parts = self.qkv(x).chunk(3, -1) if hasattr(self, "qkv") else (self.queries(x), self.keys(x), self.values(x))
        q, k, v = (part.unflatten(-1, (HEADS, DIM)).transpose(1, 2) for part in parts)
        return q, F.normalize(k, dim=-1) * NORMS[:, None, None], v

    def forward(self, x):
        return self.proj(F.scaled_dot_product_attention(*self.heads(x)).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("fused", [True, False])
def test_keys_of_one_norm_lose_nothing(fused, bias, capsys):
    torch.manual_seed(0)
    model, x = nn.Sequential(EvenKeys(fused, bias), nn.Tanh(), EvenKeys(fused, bias)), torch.randn(3, 13, HEADS * DIM)
    expected = model(x)
    names = list(model.state_dict())
    result = quest_attention.convert(model, x)
    assert list(model.state_dict()) == names and result.patch.changed.keys() == result.factors.keys() == {"0", "2"}
    for factors in result.factors.values():
        assert_close(factors, NORMS / DIM**0.5, TOLERANCE)
    assert_close(model(x), expected, TOLERANCE)
    assert result.loss["converted"] < TOLERANCE < 0.01 < result.loss["switched"]
    assert "outputs on the example differ by" in capsys.readouterr().out
    result.undo()
    assert_close(model(x), expected, TOLERANCE)
    assert type(model[0]) is EvenKeys


def best_factors(q, k, v, padding):
    """Mean key norm times the correction whose outputs are nearest, in float64, with everything written out."""
    seen, means = ~padding[:, None, None], []
    for head in range(HEADS):
        means.append(torch.cat([k[b, head, ~padding[b]] for b in range(len(k))]).norm(dim=-1).mean() / DIM**0.5)
    wanted, corrections = exact(q, k, v, "standard", seen=seen), 2.0 ** (torch.arange(-12, 13) / 8)
    changes = []
    for correction in corrections:
        out = exact(q * (correction * torch.stack(means))[:, None, None], k, v, seen=seen)
        changes.append((out - wanted).square().sum((0, 2, 3)))
    return torch.stack(means) * corrections[torch.stack(changes).argmin(0)]


def test_factors_change_the_outputs_least():
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(32, HEADS, batch_first=True)
    x, padding = 3 * torch.randn(2, 9, 32), torch.arange(9) >= torch.tensor([[9], [5]])
    q, k, v = (
        F.linear(x, layer.in_proj_weight, layer.in_proj_bias).unflatten(-1, (3, HEADS, DIM)).permute(2, 0, 3, 1, 4)
    )
    factors = best_factors(q, k, v, padding)
    inputs = {"query": x, "key": x, "value": x, "key_padding_mask": padding, "need_weights": False}
    result = quest_attention.convert(layer, inputs)
    assert_close(result.factors[""], factors, TOLERANCE)
    out = exact(q * factors[:, None, None], k, v, seen=~padding[:, None, None]).float().transpose(1, 2).flatten(2)
    assert_close(layer(**inputs)[0], layer.out_proj(out), TOLERANCE)


def encoder():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), 2)


SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=100)
IDS = torch.arange(34).reshape(2, 17) * 7 % 97
MODELS = {
    "gpt2": (lambda: GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=32), {"input_ids": IDS}),
    "grouped heads, rotary": (lambda: LlamaConfig(**SMALL, num_key_value_heads=2), {"input_ids": IDS}),
    "norms between": (lambda: Qwen3Config(**SMALL, num_key_value_heads=2, head_dim=8), {"input_ids": IDS}),
    "norms of all heads": (lambda: Olmo2Config(**SMALL), {"input_ids": IDS}),
    "interleaved": (lambda: GPTNeoXConfig(**SMALL), {"input_ids": IDS}),
    "one layer, twice": (lambda: AlbertConfig(**SMALL, embedding_size=16), {"input_ids": IDS}),
    "encoder and decoder": (
        lambda: WhisperConfig(
            d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
            vocab_size=100, num_mel_bins=8, max_source_positions=20, pad_token_id=0, decoder_start_token_id=1,
        ),
        {"input_features": torch.linspace(-1, 1, 640).reshape(2, 8, 40), "decoder_input_ids": IDS},
    ),
}  # fmt: skip


def hf_model(name):
    torch.manual_seed(0)
    config, example = MODELS[name]
    model = AutoModel.from_config(config())
    with torch.no_grad():  # as large as training makes them, and key norms far from sqrt(dim)
        for parameter_name, parameter in model.named_parameters():
            parameter.mul_(0.3 if "k_norm" in parameter_name else 3.0 if parameter.dim() > 1 else 1.0)
    return model.eval(), example


@pytest.mark.parametrize("name", MODELS)
def test_models_of_transformers(name):
    model, example = hf_model(name)
    with torch.no_grad():
        expected = model(**example).last_hidden_state
    weights = copy.deepcopy(model.state_dict())
    result = quest_attention.convert(model, example)
    assert result.loss["converted"] < 0.5 * result.loss["switched"], result
    with torch.no_grad():
        difference = (model(**example).last_hidden_state - expected).norm() / expected.norm()
    assert abs(float(difference) - result.loss["converted"]) < TOLERANCE
    result.undo()
    with torch.no_grad():
        assert_close(model(**example).last_hidden_state, expected, TOLERANCE)
    assert all(torch.allclose(values, weights[key], rtol=1e-6) for key, values in model.state_dict().items())


def test_the_loss_is_printed(capsys):
    torch.manual_seed(0)
    model = encoder().train()
    x, target = torch.randn(2, 11, 32), torch.randn(2, 11, 32)
    result = quest_attention.convert(model, x, loss=lambda out: F.mse_loss(out, target))
    assert model.training and all(module.training for module in model.modules())
    with torch.no_grad():
        assert_close(F.mse_loss(model(x), target), torch.tensor(result.loss["converted"]), TOLERANCE)
    printed = capsys.readouterr().out
    assert f"loss on the example: {result.loss['standard']:.4g} with standard attention" in printed
    assert f"{result.loss['converted']:.4g} converted" in printed and "2 attention layers converted" in printed
    model(x).sum().backward()


class Unreached(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = EvenKeys(), EvenKeys()

    def forward(self, x):
        return self.used(x)


class Between(EvenKeys):
    def heads(self, x):
        q, k, v = super().heads(x)
        return q.tanh(), k, v


def with_weights_computed_anew():
    layer = EvenKeys()
    weight_norm(layer.qkv)
    return layer, torch.randn(2, 9, 32)


REFUSED = {
    "something between": (
        lambda: (nn.Sequential(Between()), torch.randn(2, 9, 32)),
        r"0 \(Between\) has no linear layer or norm whose outputs are its queries, head by head: something else",
    ),
    "a norm with another gain": (
        lambda: (AutoModel.from_config(Gemma3TextConfig(**SMALL, head_dim=8)), {"input_ids": IDS}),
        r"layers\.0\.self_attn \(Gemma3Attention\) does not make its queries as its projection's weights say",
    ),
    "weights computed anew": (with_weights_computed_anew, r"\(EvenKeys\) does not make its queries as its projection"),
    "not reached": (
        lambda: (Unreached(), torch.randn(2, 9, 32)),
        r"unused \(EvenKeys\) computed no attention on the ex",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_converted_is_left_as_it_was(name):
    torch.manual_seed(0)
    make, message = REFUSED[name]
    model, example = make()
    weights, classes = copy.deepcopy(model.state_dict()), [type(module) for module in model.modules()]
    with pytest.raises(ValueError, match=message):
        quest_attention.convert(model, example)
    assert [type(module) for module in model.modules()] == classes
    assert all(torch.equal(values, weights[key]) for key, values in model.state_dict().items())


@pytest.mark.parametrize("name", ["standard", "qnorm", "qknorm_hs", "elliptical_quest"])
def test_formulations_that_want_no_factors(name):
    with pytest.raises(ValueError, match=rf"which '{name}' does not want: .*patch\(model, '{name}'\) instead"):
        quest_attention.convert(EvenKeys(), torch.randn(2, 9, 32), name)
