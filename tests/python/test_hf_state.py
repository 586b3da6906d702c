"""What a switched model of transformers shares with others, saves, refuses and gives back."""

import copy
import json
import subprocess
import sys
import warnings

import pytest
import quest_attention
import torch
from inputs import assert_close, exact
from test_huggingface import MODELS, SMALL, TOLERANCE, build, images, outputs_and_gradients, tokens
from torch import nn

transformers = pytest.importorskip("transformers")
from transformers import modeling_utils  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def registered():
    quest_attention.register_hf()


def implementation(name="quest"):
    return modeling_utils.ALL_ATTENTION_FUNCTIONS[name]


@pytest.mark.parametrize("formulation", ["quest", "qknorm_hs"])
def test_models_of_one_config_are_switched_apart(formulation):
    config = MODELS["gpt2"][0]()
    one, other = (transformers.GPT2LMHeadModel(config).eval() for _ in range(2))
    batch = tokens(True)
    before = other(**batch).logits
    report = quest_attention.patch(one, formulation)
    assert torch.equal(other(**batch).logits, before) and other.config is config
    one(**batch)
    assert not hasattr(config, "quest_attention") and "attn_implementation" not in vars(config)
    report.undo()
    assert one.config is config and torch.equal(other(**batch).logits, before)


def test_undo_gives_back_what_was_mixed():
    text = transformers.CLIPTextConfig(**SMALL, vocab_size=100)
    vision = transformers.CLIPVisionConfig(**SMALL, image_size=32, patch_size=8)
    config = transformers.CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict())
    model = transformers.CLIPModel._from_config(
        config, attn_implementation={"text_config": "sdpa", "vision_config": "eager"}
    )

    def state():
        parts = (model, model.text_model, model.vision_model)
        return [part.config._attn_implementation for part in parts], [id(part.config) for part in parts]

    before = state()
    assert before[0][1:] == ["sdpa", "eager"]
    report = quest_attention.patch(model, "quest")
    model.get_image_features(**images(False))
    report.undo()
    assert state() == before


def test_what_was_changed_in_the_config_meanwhile_stays():
    model = build("bert", "sdpa")
    config = model.config
    with quest_attention.patch(model):
        model.resize_token_embeddings(120)
    assert model.config is config and config.vocab_size == 120


def test_a_second_patch_is_an_error_whatever_the_order():
    model, batch = build("bert", "sdpa"), tokens(True)
    before = model(**batch).logits
    with quest_attention.patch(model, "quest"):
        with pytest.raises(ValueError, match=r"is patched already; undo\(\) that patch first"):
            quest_attention.patch(model, "standard")
        with pytest.raises(ValueError, match=r"is patched already"):
            quest_attention.patch(model.bert.encoder.layer[0], "qnorm")
        with pytest.raises(ValueError, match=r"BertForMaskedLM is patched; undo\(\) the patch before set_attn_impl"):
            model.set_attn_implementation("sdpa")
    assert torch.equal(model(**batch).logits, before)
    first = quest_attention.patch(model.bert.encoder.layer[0], "quest")
    second = quest_attention.patch(model.bert.encoder.layer[1], "qnorm")
    first.undo()
    second.undo()
    assert torch.equal(model(**batch).logits, before)


@pytest.mark.parametrize("way, formulation", [("patch", "quest"), ("patch", "qknorm"), ("name", "quest")])
def test_a_saved_model_is_loaded_as_what_it_is(way, formulation, tmp_path):
    batch = tokens(True)
    model = build("gpt2", "sdpa" if way == "patch" else formulation)
    if way == "patch":
        quest_attention.patch(model, formulation)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.mul_(1.5 if "quest_" in name else 1.0)
    expected = model(**batch).logits
    model.save_pretrained(tmp_path)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    assert_close(loaded(**batch).logits, expected, TOLERANCE)
    loaded.save_pretrained(tmp_path / "again")
    saved = json.loads((tmp_path / "again" / "config.json").read_text())
    assert saved["quest_attention"]["formulation"] == formulation and saved["attn_implementation"] == formulation
    assert len(saved["quest_attention"]["gains"]) == (4 if formulation == "qknorm" else 0)
    with pytest.warns(UserWarning, match=f"was saved with '{formulation}' attention and is loaded with 'sdpa'"):
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="sdpa")
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    if formulation == "quest":
        loaded.set_attn_implementation("sdpa")
        loaded.save_pretrained(tmp_path / "plain")
        assert "quest" not in (tmp_path / "plain" / "config.json").read_text()


def test_without_the_package_a_saved_name_is_refused(tmp_path):
    build("gpt2", "quest").save_pretrained(tmp_path)
    code = f"import transformers; transformers.AutoModelForCausalLM.from_pretrained({str(tmp_path)!r})"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode != 0 and 'attn_implementation="quest"` is not supported' in result.stderr, result.stderr


def test_an_undone_model_saves_no_formulation(tmp_path):
    model = build("bert", "sdpa")
    quest_attention.patch(model).undo()
    model.save_pretrained(tmp_path)
    assert "quest" not in (tmp_path / "config.json").read_text()


UNASKING = {
    "deberta": lambda: transformers.DebertaV2Config(**SMALL, vocab_size=100),
    "bloom": lambda: transformers.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=100),
    "mpt": lambda: transformers.MptConfig(d_model=32, n_layers=2, n_heads=4, vocab_size=100),
    "xglm": lambda: transformers.XGLMConfig(d_model=32, num_layers=2, attention_heads=4, ffn_dim=48, vocab_size=100),
    "swinv2": lambda: transformers.Swinv2Config(
        image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 4]
    ),
    "siglip": lambda: transformers.SiglipVisionConfig(**SMALL, image_size=32, patch_size=8),
}


@pytest.mark.parametrize("name", UNASKING)
def test_names_are_refused_for_models_that_do_not_ask(name):
    auto = transformers.AutoModel
    with pytest.raises(
        ValueError, match=r"cannot take attn_implementation='quest': .*interface.*quest_attention\.patch"
    ):
        auto.from_config(UNASKING[name](), attn_implementation="quest")
    model = auto.from_config(UNASKING[name]())
    before = model.config._attn_implementation
    with pytest.raises(ValueError, match=r"cannot take attn_implementation='quest'"):
        model.set_attn_implementation("quest")
    assert model.config._attn_implementation == before


class Custom(transformers.PreTrainedModel):
    """Uses the interface, and transformers does not switch it: it looks for other words in this file."""

    config_class = transformers.BertConfig

    def __init__(self, config):
        super().__init__(config)
        self.layer = CustomAttention(config)
        self.post_init()

    def forward(self, x):
        return self.layer(x)


class CustomAttention(nn.Module):
    num_heads, head_dim = 4, 8

    def __init__(self, config):
        super().__init__()
        self.config, self.qkv = config, nn.Linear(32, 96)

    def forward(self, x):
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, 4, 8).permute(2, 0, 3, 1, 4)
        attend = modeling_utils.ALL_ATTENTION_FUNCTIONS[self.config._attn_implementation]
        return attend(self, q, k, v, None, is_causal=False)[0].flatten(2)


def test_a_model_that_transformers_does_not_switch():
    x = torch.randn(2, 7, 32)
    model = Custom(transformers.BertConfig(**SMALL))
    assert not model._can_set_attn_implementation()
    with pytest.raises(
        ValueError, match=r"Custom cannot take attn_implementation='quest'.*quest_attention\.patch\(model"
    ):
        model.set_attn_implementation("quest")
    with quest_attention.patch(model, "quest", verify=x) as report:
        q, k, v = model.layer.qkv(x).view(2, 7, 3, 4, 8).permute(2, 0, 3, 1, 4)
        assert report.proven == ["layer"]
        assert_close(model(x), exact(q, k, v).transpose(1, 2).flatten(2), TOLERANCE)


class Branching(Custom):
    """Asks the interface, but only sometimes."""

    def __init__(self, config):
        super().__init__(config)
        self.layer = BranchingAttention(config)
        self.post_init()

    @classmethod
    def _can_set_attn_implementation(cls):
        return True


class BranchingAttention(CustomAttention):
    asks = False

    def forward(self, x):
        return super().forward(x) if self.asks else x


def test_a_name_that_a_layer_does_not_follow():
    x = torch.randn(2, 7, 32)
    model = Branching._from_config(transformers.BertConfig(**SMALL), attn_implementation="quest")
    with pytest.raises(
        RuntimeError, match=r"layer \(BranchingAttention\) has attn_implementation='quest' and its forward did"
    ):
        model(x)
    twin = copy.deepcopy(model)
    model.layer.asks = True
    model(x)
    assert not model.layer._forward_hooks and not model.layer._forward_pre_hooks and len(twin.layer._forward_hooks) == 1


@pytest.mark.parametrize("padded", [False, True])
def test_falcon_in_eager_mode_raises_and_fused_is_right(padded):
    config = transformers.FalconConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=100)
    model = transformers.FalconForCausalLM._from_config(config, attn_implementation="sdpa").eval()
    batch = tokens(padded)
    before = outputs_and_gradients(model, batch)["logits"]
    with quest_attention.patch(model, "standard"):
        assert_close(outputs_and_gradients(model, batch)["logits"], before, TOLERANCE)
    eager = transformers.FalconForCausalLM._from_config(copy.deepcopy(config), attn_implementation="eager").eval()
    report = quest_attention.patch(eager, "quest")
    with pytest.raises(
        RuntimeError, match=r"\(FalconAttention\) was switched to 'quest' and its forward did not compute it"
    ):
        eager(**batch)
    report.undo()


OPTIONS = {
    "softcap": (30.0, "caps its logits"),
    "s_aux": (torch.zeros(4), "adds a learned sink"),
    "sinks": (torch.zeros(4), "adds a learned sink"),
    "block_indices": (torch.zeros(1, 1, 1, 1), "attends to blocks of keys"),
    "cache": (object(), "keeps its keys in pages"),
    "temperature": (2.0, "passes an option that quest_attention does not know"),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options_that_cannot_be_honoured(option):
    value, what = OPTIONS[option]
    q = torch.randn(1, 2, 3, 4)
    layer = nn.Module()
    layer.config = transformers.BertConfig()
    message = rf"Module of bert {what}.* \({option}\), which attn_implementation='quest' does not compute; use attn_imp"
    with pytest.raises(ValueError, match=message):
        implementation()(layer, q, q, q, None, **{option: value})
    implementation()(layer, q, q, q, None, **{option: None}, position_ids=torch.arange(3), use_cache=True)


def test_options_that_are_honoured():
    layer = nn.Module()
    q, k, v = (torch.randn(2, 3, 6, 8) for _ in range(3))
    causal = torch.ones(6, 6).tril().bool()
    indices = torch.tensor([[0], [0], [1], [1], [2], [5]]).expand(2, 6, 1)
    chosen = torch.zeros(6, 6).bool()
    chosen[torch.arange(6), indices[0, :, 0]] = True
    sequences = torch.tensor([0, 2, 6])
    packed = torch.block_diag(torch.ones(2, 2), torch.ones(4, 4)).bool()
    lengths = dict(cu_seq_lens_q=sequences, cu_seq_lens_k=sequences, max_length_q=4, max_length_k=4)
    cases = [
        (dict(indices=indices, is_causal=True), None, chosen & causal),
        (dict(indices=indices), causal[None, None], chosen & causal),
        (dict(sliding_window=2, is_causal=True), None, torch.ones(6, 6).tril().triu(-1).bool()),
        (dict(sliding_window=9, is_causal=True), None, causal),
        (dict(is_causal=False, **lengths), None, packed),
        (dict(is_causal=True, **lengths), None, packed & causal),
    ]
    for options, mask, seen in cases:
        out, _ = implementation()(layer, q, k, v, mask, **options)
        assert_close(out, exact(q, k, v, seen=seen).nan_to_num().transpose(1, 2), TOLERANCE, str(options.keys()))


def test_models_without_sdpa_are_causal_by_their_masks_alone():
    layers = dict(num_hidden_layers=2, hidden_size=64, vocab_size=100, intermediate_size=32, num_attention_heads=4)
    config = transformers.BridgeTowerConfig(
        text_config=layers, vision_config=dict(num_hidden_layers=2, hidden_size=64, patch_size=8, image_size=32),
        num_hidden_layers=1, hidden_size=64, num_attention_heads=4,
    )  # fmt: skip
    model = transformers.BridgeTowerModel(config).eval()
    batch = tokens(False) | {"pixel_values": torch.randn(3, 3, 32, 32)}
    with torch.no_grad():
        own = model(**batch).image_features
        with quest_attention.patch(model, "standard"):
            assert_close(model(**batch).image_features, own, TOLERANCE)


def test_a_decoder_sees_all_that_its_cache_kept():
    q, k, v = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 9, 8), torch.randn(2, 3, 9, 8)
    out, _ = implementation()(nn.Module(), q, k, v, None, sliding_window=5, is_causal=False)
    assert_close(out, exact(q, k, v).transpose(1, 2), TOLERANCE)


@pytest.mark.parametrize("way", ["patch", "name"])
@pytest.mark.parametrize("name", ["bert", "llama"])
def test_output_attentions_gives_the_maps(name, way):
    model, batch = build(name, "quest" if way == "name" else "sdpa"), tokens(True)
    if way == "patch":
        quest_attention.patch(model)
    plain = model(**batch).logits
    out = model(**batch, output_attentions=True)
    assert [tuple(maps.shape) for maps in out.attentions] == [(3, 4, 17, 17)] * 2
    seen = batch["attention_mask"].bool()
    assert_close(out.logits[seen], plain[seen], TOLERANCE)
    for maps in out.attentions:
        sums = maps.sum(-1)[seen[:, None].expand(-1, 4, -1)]
        assert_close(sums, torch.ones_like(sums), TOLERANCE)


@pytest.mark.parametrize("way", ["patch", "name"])
@pytest.mark.parametrize("maps", [False, True])
def test_a_compiled_model(way, maps):
    torch._dynamo.reset()
    model, batch = build("llama", "quest" if way == "name" else "sdpa"), tokens(True)
    if way == "patch":
        quest_attention.patch(model)
    with torch.no_grad():
        compiled = torch.compile(model, backend="aot_eager")(**batch, output_attentions=maps)
        expected = model(**batch, output_attentions=maps)
    seen = batch["attention_mask"].bool()
    assert_close(compiled.logits[seen], expected.logits[seen], TOLERANCE)
    assert not maps or len(compiled.attentions) == 2


def test_formulations_of_ones_own_need_names_of_their_own():
    model = build("bert", "sdpa")
    with pytest.raises(ValueError, match="the name 'standard' of this formulation is that of another"):
        quest_attention.patch(model, quest_attention.Formulation("standard", normalize_k=True))
    with pytest.raises(ValueError, match="the name 'sdpa' of this formulation is that of another"):
        quest_attention.patch(model, quest_attention.Formulation("sdpa", normalize_k=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quest_attention.patch(model, quest_attention.Formulation("own_of_this_test", normalize_k=True)):
            model(**tokens(True))
