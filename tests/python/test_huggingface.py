"""Models of Hugging Face transformers with random weights, switched by name: ViT, BERT, GPT-2, Llama."""

import pytest
import quest_attention
import torch
from inputs import assert_close, exact

transformers = pytest.importorskip("transformers")
from transformers import masking_utils, modeling_utils  # noqa: E402

TOLERANCE = 1e-5


@pytest.fixture(scope="module", autouse=True)
def registered():
    quest_attention.register_hf()


def tokens(padded):
    ids = torch.randint(3, 90, (3, 17), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    if padded:
        mask[1, 11:], mask[2, 5:] = 0, 0
    return {"input_ids": ids, "attention_mask": mask}


def images(padded):
    return {"pixel_values": torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))}


SMALL = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
MODELS = {
    "vit": (lambda: transformers.ViTConfig(**SMALL, image_size=32, patch_size=8, num_labels=5),
            transformers.ViTForImageClassification, images),
    "bert": (lambda: transformers.BertConfig(**SMALL, vocab_size=100),
             transformers.BertForMaskedLM, tokens),
    "gpt2": (lambda: transformers.GPT2Config(n_embd=48, n_layer=2, n_head=4, n_positions=64, vocab_size=100),
             transformers.GPT2LMHeadModel, tokens),
    "llama": (lambda: transformers.LlamaConfig(**SMALL, num_key_value_heads=2, vocab_size=100),
              transformers.LlamaForCausalLM, tokens),
}  # fmt: skip
CASES = [(name, padded) for name in MODELS for padded in ((False,) if name == "vit" else (False, True))]


def build(name, implementation):
    config, model, _ = MODELS[name]
    torch.manual_seed(0)
    built = model._from_config(config(), attn_implementation=implementation)
    with torch.no_grad():
        for parameter in built.parameters():  # the usual 0.02 would leave attention almost uniform
            if parameter.dim() == 2:
                parameter.mul_(5)
    return built.eval()


def outputs_and_gradients(model, batch):
    logits = model(**batch).logits
    if "attention_mask" in batch:
        logits = logits * batch["attention_mask"].unsqueeze(-1)
    weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(2))
    model.zero_grad()
    (logits * weights).sum().backward()
    return {"logits": logits, **{name: p.grad for name, p in model.named_parameters() if p.grad is not None}}


def assert_all_close(actual, expected):
    assert expected.keys() == actual.keys()
    # A key's bias has no effect on a softmax: its gradient is rounding error of larger ones.
    floor = 1e-2 * max(value.abs().max() for key, value in expected.items() if key != "logits")
    for key, value in expected.items():
        difference = (actual[key] - value).abs().max() / max(value.abs().max(), floor)
        assert difference <= TOLERANCE, f"{key}: off by {difference:.3g}"


@pytest.mark.parametrize("own", ["eager", "sdpa"])
@pytest.mark.parametrize("name,padded", CASES)
def test_standard_is_the_models_own_attention(name, padded, own):
    batch = MODELS[name][2](padded)
    expected = outputs_and_gradients(build(name, own), batch)
    actual = outputs_and_gradients(build(name, "standard"), batch)
    assert_all_close(actual, expected)


class Recorder:
    """An attention implementation that computes the formula in float64 from the model's own q, k, v."""

    def __init__(self, name):
        self.name, self.calls = name, 0

    def __call__(self, module, query, key, value, attention_mask, **options):
        self.calls += 1
        seen = attention_mask
        if (
            seen is None
            and options.get("is_causal", getattr(module, "is_causal", True)) is not False
            and query.shape[2] > 1
        ):
            seen = torch.ones(query.shape[2], key.shape[2]).tril().bool() if module.is_causal else None
        out = exact(query, key, value, self.name, seen=seen).nan_to_num().to(query.dtype)
        return out.transpose(1, 2).contiguous(), None


@pytest.mark.parametrize("formulation", ["quest", "qnorm"])
@pytest.mark.parametrize("name,padded", CASES)
def test_other_formulations_are_the_formula(name, padded, formulation):
    recorder = Recorder(formulation)
    modeling_utils.AttentionInterface.register("recorder", recorder)
    masking_utils.AttentionMaskInterface.register("recorder", masking_utils.sdpa_mask)
    batch = MODELS[name][2](padded)
    expected = outputs_and_gradients(build(name, "recorder"), batch)
    actual = outputs_and_gradients(build(name, formulation), batch)
    assert recorder.calls == 2
    assert_all_close(actual, expected)
    standard = outputs_and_gradients(build(name, "standard"), batch)
    assert (standard["logits"] - actual["logits"]).abs().max() > 1e-3, "the formulations were expected to differ"


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_generation_with_a_cache(name):
    model = build(name, "quest")
    ids = tokens(False)["input_ids"][:, :5]
    with_cache = model.generate(ids, max_new_tokens=6, do_sample=False, pad_token_id=0)
    without = model.generate(ids, max_new_tokens=6, do_sample=False, use_cache=False, pad_token_id=0)
    assert torch.equal(with_cache, without)


def test_switching_by_name_and_back():
    model, batch = build("bert", "sdpa"), tokens(True)
    before = model(**batch).logits
    model.set_attn_implementation("quest")
    assert not torch.allclose(model(**batch).logits, before)
    model.set_attn_implementation("sdpa")
    assert torch.equal(model(**batch).logits, before)


@pytest.mark.parametrize("name", MODELS)
def test_patch_and_use(name):
    model, batch = build(name, "sdpa"), MODELS[name][2](True)
    before = model(**batch).logits
    by_name = build(name, "quest")(**batch).logits
    with quest_attention.use("quest"):
        assert_close(model(**batch).logits, by_name, TOLERANCE)
    with quest_attention.patch(model, "quest") as report:
        assert_close(model(**batch).logits, by_name, TOLERANCE)
        assert len(report.changed) == 2 and not report.unchanged, str(report)
    assert torch.equal(model(**batch).logits, before)


def test_patch_takes_a_formulation_of_ones_own():
    model, batch = build("bert", "sdpa"), tokens(True)
    own = quest_attention.Formulation("own", normalize_k=True)
    with quest_attention.patch(model, own):
        assert_close(model(**batch).logits, build("bert", "quest")(**batch).logits, TOLERANCE)


@pytest.mark.parametrize("name", MODELS)
def test_learned_gains(name):
    model, batch = build(name, "sdpa"), MODELS[name][2](True)
    plain = {key: value.clone() for key, value in model.state_dict().items()}
    report = quest_attention.patch(model, "qknorm")
    gains = [key for key, _ in model.named_parameters() if key.endswith(("quest_query_gain", "quest_key_gain"))]
    assert len(gains) == 4 and gains[0].rpartition(".")[0] in report.changed
    outputs_and_gradients(model, batch)
    assert all(model.get_parameter(key).grad.abs().sum() > 0 for key in gains)
    model.load_state_dict(plain)
    report.undo()
    assert model.state_dict().keys() == plain.keys()


def test_errors_speak_of_the_model():
    model = build("bert", "qknorm")
    with pytest.raises(ValueError, match=r"gain is required.*quest_attention\.patch\(model, 'qknorm'\)"):
        model(**tokens(False))
    layer = torch.nn.Module()
    q = torch.randn(1, 2, 3, 4)
    implementation = modeling_utils.ALL_ATTENTION_FUNCTIONS["quest"]
    with pytest.raises(ValueError, match="caps its logits.*attn_implementation='eager'"):
        implementation(layer, q, q, q, None, softcap=30.0)


@pytest.mark.parametrize("family", ["Data2VecVision", "Git", "GPTJ"])
def test_layers_in_a_table_of_the_family_are_refused(family):
    config = getattr(transformers, f"{family}Config")()
    model = getattr(transformers, f"{family}Model")
    config._attn_implementation = "quest"
    message = (
        f"^{family}Model cannot take attn_implementation='quest': it looks .* up in .*_CLASSES, which knows 'eager'.*"
        r"quest_attention\.patch\(model, 'quest'\)"
    )
    with torch.device("meta"), pytest.raises(ValueError, match=message):
        model(config)


def test_position_bias_is_added_under_the_mask():
    implementation = modeling_utils.ALL_ATTENTION_FUNCTIONS["quest"]
    layer = torch.nn.Module()
    q, k, v = (torch.randn(2, 3, 5, 8) for _ in range(3))
    bias, mask = torch.randn(1, 3, 5, 5), torch.rand(2, 1, 5, 5) < 0.7
    mask[..., 0] = True
    causal = torch.ones(5, 5).tril().bool()
    for given, is_causal, seen in ((None, False, None), (None, True, causal), (mask, False, mask)):
        out, _ = implementation(layer, q, k, v, given, is_causal=is_causal, position_bias=bias)
        assert_close(out, exact(q, k, v, bias=bias, seen=seen).transpose(1, 2), TOLERANCE)
    summed, _ = implementation(layer, q, k, v, 2 * bias, is_causal=False, position_bias=bias)
    assert_close(summed, exact(q, k, v, bias=3 * bias).transpose(1, 2), TOLERANCE)
