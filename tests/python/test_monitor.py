"""monitor(): its figures against the weights spelled out, what it watches, its warning and its exports."""

import math
import re
import warnings

import pytest
import quest_attention
import torch
import torch.nn.functional as F
from inputs import assert_close
from quest_attention import FORMULATIONS, attention
from test_proof import MHSA, Block, Router
from test_switch import TimmAttention, encoder, padded_batch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Model(nn.Module):
    def __init__(self, function=F.scaled_dot_product_attention):
        super().__init__()
        self.function = function
        self.inner = nn.Identity()

    def forward(self, q, k, v, **options):
        return self.function(q, k, v, **options)


def expected_figures(q, k, name, seen=None, bias=None, gain=None):
    formulation = FORMULATIONS[name]
    q_used = q / q.norm(dim=-1, keepdim=True) if formulation.normalize_q else q
    k_used = k / k.norm(dim=-1, keepdim=True) if formulation.normalize_k else k
    q_used = q_used if gain is None else q_used * gain.unsqueeze(1)
    group = q.shape[1] // k.shape[1]
    k_used, k = k_used.repeat_interleave(group, 1), k.repeat_interleave(group, 1)
    logits = q_used @ k_used.transpose(-1, -2) * (q.shape[-1] ** -0.5 if formulation.divide_by_sqrt_dim else 1.0)
    logits = logits if bias is None else logits + bias
    logits = logits if seen is None else logits.masked_fill(~seen, -math.inf)
    weights = logits.softmax(-1)
    rows = []
    for head in range(q.shape[1]):
        b, i, j = (logits[:, head] == logits[:, head].max()).nonzero()[0].tolist()
        entropy = -torch.xlogy(weights[:, head], weights[:, head]).sum(-1).mean()
        sink = (weights[:, head].sum(1).amax(-1) / q.shape[2]).mean()
        rows.append([logits[b, head, i, j], q[b, head, i].norm(), k[b, head, j].norm(), entropy, sink])
    return torch.tensor(rows)


@pytest.mark.parametrize("name", ["standard", "quest", "qknorm_hs"])
@pytest.mark.parametrize("case", ["plain", "causal", "padded", "bias", "grouped"])
def test_figures(name, case):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 4, 19, 8), torch.randn(3, 2 if case == "grouped" else 4, 19, 8), torch.randn(3, 4, 19, 8)
    v = v[:, : k.shape[1]]
    gain = torch.rand(4, 1) + 0.5 if name == "qknorm_hs" else None
    lengths = torch.tensor([19, 7, 11])
    bias = torch.randn(3, 4, 19, 19)
    options, known = {
        "plain": ({}, {}),
        "causal": ({"is_causal": True}, {"seen": torch.ones(19, 19).tril().bool()}),
        "padded": ({"key_lengths": lengths}, {"seen": (torch.arange(19) < lengths[:, None])[:, None, None]}),
        "bias": ({"attn_mask": bias}, {"bias": bias}),
        "grouped": ({"enable_gqa": True}, {}),
    }[case]
    model = Model(lambda *x, **o: attention(*x, formulation=name, gain=gain, **o))
    with (
        quest_attention.monitor(model, every_sequence=1) as all_sequences,
        quest_attention.monitor(model, every_sequence=2) as watch,
    ):
        model(q, k, v, **options)
    (record,) = all_sequences.records
    assert (record.step, record.layer) == (0, "Model")
    assert_close(record.values, expected_figures(q, k, name, gain=gain, **known), 1e-5)
    if case in ("padded", "bias"):
        known = {key: value[::2] for key, value in known.items()}
    assert_close(watch.records[0].values, expected_figures(q[::2], k[::2], name, gain=gain, **known), 1e-5)


def test_packed_sequences():
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 30, 8) for _ in range(3))
    offsets = torch.tensor([0, 11, 30])
    model = Model(lambda *x: attention(*x, cu_seqlens_q=offsets, cu_seqlens_k=offsets, is_causal=True))
    with quest_attention.monitor(model) as watch:
        model(q, k, v)
    seen = torch.block_diag(torch.ones(11, 11).tril(), torch.ones(19, 19).tril()).bool()
    assert_close(watch.records[0].values, expected_figures(q, k, "quest", seen=seen), 1e-5)


def test_layers_of_a_model_switched_or_not():
    model = nn.Sequential(TimmAttention(), nn.ModuleDict({"deep": TimmAttention()})["deep"])
    x = torch.randn(2, 13, 32)
    expected = model(x)
    with quest_attention.monitor(model, every_sequence=1) as watch:
        assert_close(model(x), expected, 1e-5)
        with quest_attention.patch(model[1]):
            model(x)
        model.eval()(x)
    assert [(record.step, record.layer) for record in watch.records] == [(0, "0"), (0, "1"), (1, "0"), (1, "1")]
    q, k, _ = model[0].heads(x)
    assert_close(watch.records[0].values, expected_figures(q, k, "standard"), 1e-5)
    q, k, _ = model[1].heads(model[0](x))
    assert_close(watch.records[1].values, expected_figures(q, k, "standard"), 1e-5)
    assert_close(watch.records[3].values, expected_figures(q, k, "quest"), 1e-5)
    model.train()(x)
    assert len(watch.records) == 4, "nothing is collected after the block"


def test_inside_use_and_on_transformer_layers():
    model = encoder(False)
    x, padding = padded_batch()
    with quest_attention.use("quest"):
        outside = model(x, src_key_padding_mask=padding)
        with quest_attention.monitor(model, every=2) as watch:
            for _ in range(3):
                inside = model(x, src_key_padding_mask=padding)
    assert torch.equal(inside, outside)
    names = ["layers.0.self_attn", "layers.1.self_attn"]
    assert [(record.step, record.layer) for record in watch.records] == [
        (step, name) for step in (0, 2) for name in names
    ]


def test_checkpointing_is_not_counted_twice():
    model = nn.Sequential(TimmAttention())
    model.forward = lambda x: checkpoint(model[0], x, use_reentrant=False)
    quest_attention.patch(model)
    with quest_attention.monitor(model) as watch:
        model(torch.randn(2, 13, 32, requires_grad=True)).sum().backward()
    assert len(watch.records) == 1


def scaled_steps(scales, **options):
    """The warnings of a model whose projections are scaled by these factors, one step each."""
    torch.manual_seed(0)
    model = nn.Sequential(TimmAttention())
    start = model[0].qkv.weight.detach().clone()
    x = torch.randn(2, 13, 32)
    with warnings.catch_warnings(record=True) as caught, quest_attention.monitor(model, **options) as watch:
        warnings.simplefilter("always")
        for scale in scales:
            with torch.no_grad():
                model[0].qkv.weight.copy_(scale * start)
            model(x)
    return [str(one.message) for one in caught if one.category is quest_attention.ExplosionWarning], watch


def test_explosion_warns_of_each_head_once():
    messages, watch = scaled_steps([1, 1, 1, 1, 40, 40, 40, 40])
    logits = [record.values[:, 0].tolist() for record in watch.records]
    assert len(messages) == 4 and min(logits[5]) > 25
    for head, message in enumerate(messages):
        figures = rf"\({logits[3][head]:.1f} → {logits[5][head]:.1f}\), key norm \d+\.\d → \d+\.\d"
        assert re.fullmatch(rf"layer 0 head {head}: max logit grew in \d steps {figures}", message)


def test_explosion_options():
    steps = [1, 1, 1, 1, 40, 40, 40, 40]
    assert scaled_steps(steps, warn=False)[0] == []
    assert scaled_steps(steps, least_logit=1e6)[0] == []
    assert scaled_steps(steps, factor=1e6)[0] == []
    assert scaled_steps([1, 1, 1, 1, 1])[0] == []
    assert len(scaled_steps([1, 1, 1, 1, 3, 3], least_logit=0.01)[0]) == 4
    with pytest.raises(ValueError, match="factor must be more than 1 and within_steps at least 1, got 1.0 and 200"):
        scaled_steps([], factor=1.0)


def test_logits_that_are_not_finite_warn_once_per_layer():
    messages, _ = scaled_steps([1, math.nan, math.nan, 1])
    assert messages == ["layer 0 head 0: logits are not finite at step 1, key norm nan"]
    model = Model(lambda q, k, v: attention(q, k, v, attn_mask=torch.zeros(5, 5, dtype=torch.bool)))
    with quest_attention.monitor(model) as watch, warnings.catch_warnings():
        warnings.simplefilter("error")
        model(*(torch.randn(1, 2, 5, 8) for _ in range(3)))
    assert watch.records[0].values[:, 0].tolist() == [-math.inf, -math.inf], "no query sees a key"


def test_exports(tmp_path):
    model = nn.Sequential(TimmAttention(), TimmAttention())
    with quest_attention.monitor(model) as watch:
        for _ in range(3):
            model(torch.randn(2, 13, 32))
    frame = watch.to_frame()
    assert list(frame.columns) == ["step", "layer", "head", "max_logit", "q_norm", "k_norm", "entropy", "sink"]
    assert len(frame) == 3 * 2 * 4 and frame["layer"].unique().tolist() == ["0", "1"]
    assert frame["max_logit"].iloc[5] == pytest.approx(watch.records[1].values[1, 0].item())
    figure = watch.plot("entropy", path=str(tmp_path / "entropy.png"))
    assert [line.get_label() for line in figure.axes[0].lines] == ["0", "1"]
    assert (tmp_path / "entropy.png").stat().st_size > 1000
    watch.to_tensorboard(str(tmp_path / "events"))
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "events")).Reload()
    scalars = events.Scalars("attention/max_logit/1/head2")
    assert [scalar.step for scalar in scalars] == [0, 1, 2]
    assert scalars[1].value == pytest.approx(watch.records[3].values[2, 0].item())
    with pytest.raises(ValueError, match="field must be one of max_logit, .*'loss'"):
        watch.plot("loss")


def test_monitor_names_layers_of_which_it_recorded_nothing():
    x = torch.randn(2, 7, 32)
    model = nn.Sequential(Block(True), Block(False), MHSA())
    with pytest.warns(
        UserWarning, match=r"nothing of 2 attention layers that ran:\n  1: Block did not call.*\n  2: MHSA comp"
    ):
        with quest_attention.monitor(model) as watch:
            model(x)
    assert list(watch.unrecorded()) == ["1", "2"]
    linear = nn.Linear(32, 32)
    with pytest.warns(UserWarning, match="monitor recorded nothing: Linear made no call of torch's attention"):
        with quest_attention.monitor(linear):
            linear(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = nn.Sequential(Block(True), Router())
        with quest_attention.monitor(model) as watch:
            model(x)
        assert watch.unrecorded() == {}
