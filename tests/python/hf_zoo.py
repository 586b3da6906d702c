"""Small models of the classes of transformers: configs shrunk by the names of their fields, and inputs to match."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers.models
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel

LARGEST = 40_000_000  # parameters
ROWS, LENGTHS = 9, (9, 6)

SMALL = {
    "attention_head_dim": 8, "attention_heads": 4, "d_ff": 48, "d_kv": 8, "d_model": 32, "decoder_attention_heads": 4,
    "decoder_ffn_dim": 48, "decoder_layers": 2, "decoder_n_heads": 4, "depth": 2, "dim": 32, "dim_feedforward": 48,
    "embed_dim": 32, "embedding_size": 32, "emb_dim": 32, "encoder_attention_heads": 4, "encoder_ffn_dim": 48,
    "encoder_layers": 2, "encoder_n_heads": 4, "encoder_num_hidden_layers": 2, "ffn_dim": 48,
    "first_k_dense_replace": 1,
    "head_dim": 8, "hidden_dim": 32, "hidden_size": 32, "image_size": 32, "index_head_dim": 16, "index_n_heads": 2,
    "index_topk": 3, "intermediate_size": 48, "kv_lora_rank": 16, "max_position_embeddings": 64, "max_seq_len": 64,
    "max_source_positions": 64, "max_target_positions": 64, "moe_intermediate_size": 16, "moe_num_experts": 4,
    "moe_k": 2, "n_group": 1, "topk_group": 1, "num_experts_per_token": 2, "num_kv_shared_layers": 0, "rotary_dim": 8,
    "n_embd": 32, "n_head": 4, "n_heads": 4, "n_inner": 48, "n_layer": 2, "n_layers": 2, "n_positions": 64,
    "n_routed_experts": 4, "num_attention_heads": 4, "num_decoder_layers": 2, "num_encoder_layers": 2, "num_experts": 4,
    "num_experts_per_tok": 2, "num_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "num_kv_heads": 2,
    "num_labels": 3, "num_layers": 2, "num_local_experts": 4, "num_mel_bins": 16, "num_queries": 6, "patch_size": 8,
    "projection_dim": 16, "q_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8,
    "shared_expert_intermediate_size": 16, "sliding_window": 4, "v_head_dim": 8, "vocab_size": 99, "width": 32,
    "window_size": 4,
}  # fmt: skip

#: For fields whose default is no number, so that the default config builds no model.
MISSING = {
    "n_group": 1, "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "num_key_value_heads": 4,
    "pad_token_id": 0, "prediction_length": 4, "topk_group": 1, "vocab_size": 99,
}  # fmt: skip
#: Where the kinds of layers that a family has do not show in its default config.
SPECIAL = {
    "bamba": {"attn_layer_indices": [1]},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"]},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1},
    "minimax_m3_vl_text": {"layer_types": ["minimax_m3_sparse"] * 2, "index_block_size": 4, "index_topk_blocks": 1},
}  # fmt: skip


def small_value(name: str, value: Any) -> Any:
    """What a config's field becomes in a small model: the same where it is none of the above."""
    if name.endswith("_token_id") and isinstance(value, int) and value >= 90:
        return 90 + len(name) % 8  # the vocabulary has become small
    if value is None and name in MISSING:
        return MISSING[name]
    if name == "depths" and isinstance(value, (list, tuple)):
        return [1] * len(value)
    if name == "rope_parameters" and isinstance(value, dict) and value.get("rope_theta", 0) is None:
        return {**value, "rope_theta": 10000.0}
    if isinstance(value, int) and not isinstance(value, bool) and value > SMALL.get(name, value):
        return SMALL[name]
    return value


def small_config(cls: type[PreTrainedConfig]) -> PreTrainedConfig:
    return rebuilt(cls())


def has_sections(config: PreTrainedConfig) -> bool:
    """Its rotary embedding has a section for each axis of an image, which must add up to half a head."""
    name = type(config).__module__.replace("configuration_", "modeling_")
    return "mrope_section" in inspect.getsource(importlib.import_module(name)) if "modeling_" in name else False


def rebuilt(config: PreTrainedConfig) -> PreTrainedConfig:
    """The config with these fields small, made anew, so that what is derived from them follows."""
    known = vars(config)
    parts = {name: rebuilt(part) for name, part in known.items() if isinstance(part, PreTrainedConfig)}
    small = {name: small_value(name, value) for name, value in known.items() if name not in parts}
    changed = {name: value for name, value in small.items() if value is not known[name]}
    if isinstance(known.get("depths"), (list, tuple)):
        changed.pop("embed_dim", None)  # it grows from stage to stage, as the heads do
    if "num_hidden_layers" in changed and isinstance(known.get("layer_types"), (list, tuple)):
        kinds, layers = list(dict.fromkeys(known["layer_types"])), changed["num_hidden_layers"]
        changed["layer_types"] = (kinds + kinds[-1:] * layers)[:layers]
    if known.get("num_key_value_heads", -1) == known.get("num_attention_heads"):
        changed["num_key_value_heads"] = SMALL["num_attention_heads"]
    if isinstance(known.get("rope_parameters"), dict) and has_sections(config):
        changed["rope_parameters"] = {**known["rope_parameters"], "mrope_section": [2, 1, 1]}
    changed.update(SPECIAL.get(config.model_type, {}))
    try:
        return type(config)(**changed, **parts)
    except Exception:  # a config that checks one field against another that has stayed large, or that is no keyword
        for name, value in {**changed, **parts}.items():
            try:
                setattr(config, name, value)
            except AttributeError:  # derived from others
                pass
        return config


def families() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(transformers.models.__path__))


def classes_of(family: str) -> list[type[PreTrainedModel]]:
    """The classes of a family that are models and not merely what models derive from."""
    try:
        module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    except ImportError:
        return []
    return [
        cls
        for name, cls in vars(module).items()
        if isinstance(cls, type) and issubclass(cls, PreTrainedModel) and cls.__module__ == module.__name__
        and cls.config_class is not None and not name.endswith("PreTrainedModel") and not name.startswith("_")
    ]  # fmt: skip


def build(cls: type[PreTrainedModel], **options: Any) -> PreTrainedModel:
    """A model with random weights whose attention is far from uniform."""
    config = small_config(cls.config_class)
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in cls._from_config(small_config(cls.config_class)).parameters())
    if size > LARGEST:
        raise ValueError(f"{size / 1e6:.0f} million parameters even with a small config")
    torch.manual_seed(0)
    model = cls._from_config(config, **options).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and any(part in name.lower() for part in ("q", "key", "attn", "attention", "k_")):
                parameter.mul_(4)
            if not parameter.isfinite().all():
                parameter.zero_()
    return model


def field(config: PreTrainedConfig, name: str, default: int) -> int:
    """The value of a field in a config or in the first part that has it."""
    value = getattr(config, name, None)
    parts = [part for part in vars(config).values() if isinstance(part, PreTrainedConfig)]
    if value is None:
        value = next((field(part, name, -1) for part in parts if field(part, name, -1) != -1), default)
    return value[0] if isinstance(value, (list, tuple)) else int(value)


def makers(model: PreTrainedModel) -> dict[str, Callable[[], Tensor]]:
    """Random inputs by the name of the argument."""
    config = model.config
    generator = torch.Generator().manual_seed(1)
    vocabulary = min(field(config, "vocab_size", 99), 90)
    hidden, size, channels = (
        field(config, name, default) for name, default in (("hidden_size", 32), ("image_size", 32), ("num_channels", 3))
    )
    mels, frames = field(config, "num_mel_bins", 16), 2 * field(config, "max_source_positions", 32)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    def tokens() -> Tensor:
        ids = torch.randint(3, max(vocabulary, 4), (2, ROWS), generator=generator)
        end = getattr(config, "eos_token_id", None)
        if isinstance(end, int) and "SequenceClassification" in type(model).__name__:
            ids[torch.arange(2), torch.tensor(LENGTHS) - 1] = end
        return ids

    return {
        "input_ids": tokens,
        "decoder_input_ids": tokens,
        "inputs_embeds": lambda: numbers(2, ROWS, hidden),
        "pixel_values": lambda: numbers(2, channels, size, size),
        "pixel_values_videos": lambda: numbers(2, field(config, "num_frames", 2), channels, size, size),
        "input_features": lambda: numbers(2, mels, frames),
        "input_values": lambda: numbers(2, 4000),
        "hidden_states": lambda: numbers(2, ROWS, hidden),
        "encoder_hidden_states": lambda: numbers(2, ROWS, hidden),
        "past_values": lambda: numbers(2, field(config, "context_length", 32), field(config, "num_input_channels", 1)),
        "bbox": lambda: torch.randint(0, 9, (2, ROWS, 1), generator=generator).expand(-1, -1, 4).contiguous(),
        "image_embeds": lambda: numbers(2, ROWS, hidden),
        "query_embeds": lambda: numbers(2, ROWS, hidden),
    }


def inputs(model: PreTrainedModel) -> Iterator[dict[str, Any]]:
    """What the forward may take: first the least, then with one more argument; texts are padded."""
    wanted, known = inspect.signature(model.forward).parameters, makers(model)
    main = model.main_input_name if model.main_input_name in wanted else None
    chosen = main or next((name for name in known if name in wanted), "input_ids" if "args" in wanted else None)
    if chosen not in known:
        raise ValueError(f"no small input is known for {chosen or ', '.join(list(wanted)[:3])}")
    given: dict[str, Any] = {chosen: known[chosen]()}
    if "grid_thw" in wanted:
        patch = field(model.config, "patch_size", 8)
        width = field(model.config, "num_channels", 3) * field(model.config, "temporal_patch_size", 1) * patch * patch
        given = {chosen: torch.randn(16, width), "grid_thw": torch.tensor([[1, 4, 4]])}
    if chosen in ("input_ids", "inputs_embeds") and "attention_mask" in wanted:
        given["attention_mask"] = (torch.arange(ROWS) < torch.tensor(LENGTHS)[:, None]).long()
    if "decoder_input_ids" in wanted:
        given["decoder_input_ids"] = known["decoder_input_ids"]()
    needed = [name for name, p in wanted.items() if p.default is p.empty and name in known and name not in given]
    given.update((name, known[name]()) for name in needed)
    if type(model).__name__.endswith("MultipleChoice"):
        given = {name: value.unsqueeze(1) for name, value in given.items()}
    yield given
    for name in known:
        if name in wanted and name not in given and name != "inputs_embeds":
            yield {**given, name: known[name]()}
    if "attention_mask" in given:
        yield {name: value for name, value in given.items() if name != "attention_mask"}
