"""Small models of the classes of transformers: configs shrunk by the names of their fields."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import torch
import transformers.models
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

LARGEST = 40_000_000  # parameters

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
    "vocab_size_per_layer_input": 99, "hidden_size_per_layer_input": 8, "encoder_hash_byte_group_vocab": 99,
    "global_head_dim": 16, "out_hidden_size": 32, "entity_vocab_size": 99, "entity_emb_size": 32,
    "d_latents": 32, "num_latents": 8, "audio_vocab_size": 99, "swiglu_intermediate_size": 48,
    "decoder_hidden_size": 64, "upsample_initial_channel": 64, "decoder_dim": 64, "base_channels": 32,
    "latent_channels": 32, "num_embeddings": 99, "ffn_hidden_size": 48, "zero_expert_num": 2,
    "expert_ffn_hidden_size": 16, "projector_hidden_size": 32, "adapter_in_dim": 32, "adapter_out_dim": 32,
    "text_hidden_size": 32, "moe_hidden_size": 16, "t2u_encoder_ffn_dim": 48, "t2u_decoder_ffn_dim": 48,
    "speech_encoder_intermediate_size": 48, "unit_hifi_gan_vocab_size": 99, "unit_embed_dim": 32, "num_filters": 4,
    "encoder_hidden_size": 32, "upsample_groups": 32, "output_channels": 32, "cross_hidden_size": 32,
    "cross_num_attention_heads": 4, "cross_num_key_value_heads": 4, "cross_head_dim": 8,
    "num_sliding_attention_heads": 4, "lru_width": 32, "fpn_hidden_size": 32, "moe_topk": 2,
    "reassemble_hidden_size": 32,
}  # fmt: skip

#: Fewer layers, experts and words alone, for families whose widths depend on each other.
FEWER = {
    name: value for name, value in SMALL.items()
    if name.endswith(("layers", "layer", "experts", "depth", "vocab_size", "positions", "embeddings"))
}  # fmt: skip
SIZES = (SMALL, FEWER)

#: For fields whose default is no number, so that the default config builds no model.
MISSING = {
    "head_dim": 8, "image_token_id": 5, "image_token_index": 5, "n_group": 1, "n_routed_experts": 4,
    "n_shared_experts": 1, "num_experts_per_tok": 2, "num_key_value_heads": 4,
    "pad_token_id": 0, "prediction_length": 4, "topk_group": 1, "vocab_size": 99,
}  # fmt: skip
#: Backbones of detection models, in place of timm's, which is not asked for.
RESNET = {"model_type": "resnet", "embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}
LAST_STAGE = {"use_timm_backbone": False, "backbone": None, "backbone_config": {**RESNET, "out_features": ["stage4"]}}
THREE_STAGES = {**LAST_STAGE, "backbone_config": {**RESNET, "out_features": ["stage2", "stage3", "stage4"]}}
MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 16, "mamba_chunk_size": 8}
QFORMER = {"use_qformer_text_input": True}

#: By the config's model_type: what the names of its fields do not tell.
SPECIAL = {
    "align_vision_model": {"width_coefficient": 0.25, "depth_coefficient": 0.25},
    "bailing_hybrid": {"num_expert_group": 1},
    "bamba": {"attn_layer_indices": [1], **MAMBA},
    "beit": {"num_hidden_layers": 4, "out_indices": [1, 2, 3, 4]},
    "blip_2": QFORMER,
    "blip_2_qformer": QFORMER,
    "bridgetower": {"hidden_size": 64},
    "bridgetower_text_model": {"hidden_size": 64},
    "bridgetower_vision_model": {"hidden_size": 64},
    "chameleon": {"vocabulary_map": {"<image>": 5}},
    "conditional_detr": LAST_STAGE,
    "dab-detr": LAST_STAGE,
    "deformable_detr": THREE_STAGES,
    "detr": LAST_STAGE,
    "diffusion_gemma_text": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 16},
    "donut-swin": {"image_size": 128},
    "dpt": {"num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3]},
    "efficientnet": {"width_coefficient": 0.25, "depth_coefficient": 0.25},
    "emu3": {"vocabulary_map": {"<image>": 5}},
    "ernie4_5_vl_moe_text": {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]},
    },
    "exaone4_5_vision": {"window_size": 32},
    "glm4v_moe_text": {
        "rope_parameters": {
            "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5, "mrope_section": [1, 1, 0],
        },
    },
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"], **MAMBA},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1},
    "layoutlmv3": {"coordinate_size": 4, "shape_size": 8},
    "levit": {"image_size": 64, "patch_size": 16},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "lilt": {"hidden_size": 48},
    "llama4_vision_model": {
        "intermediate_size": 128, "projector_input_dim": 32, "projector_output_dim": 32, "vision_output_dim": 32,
    },
    "mamba2": {"num_heads": 8, "n_groups": 1, "state_size": 16, "chunk_size": 8},
    "maskformer-swin": {"image_size": 128},
    "minimax_m3_vl_text": {"layer_types": ["minimax_m3_sparse"] * 2, "index_block_size": 4, "index_topk_blocks": 1},
    "mistral4": {"head_dim": 16},
    "mobilevitv2": {"image_size": 128},
    "moonshine_streaming": {"num_key_value_heads": 4, "num_attention_heads": 4},
    "owlv2": {"projection_dim": 32},
    "owlvit": {"projection_dim": 32},
    "qwen2_5_omni_vision_encoder": {"window_size": 32},
    "qwen2_5_vl": {"window_size": 32},
    "qwen2_5_vl_vision": {"window_size": 32},
    "qwen3_omni_moe_talker_text": {"shared_expert_intermediate_size": 16},
    "qwen4_exp_text": {
        "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 8, "indexer_budget": 4,
        "indexer_compress_ratio": 2,
    },
    "recurrent_gemma": {"num_hidden_layers": 3, "lru_width": 32},
    "reformer": {"axial_pos_embds_dim": [16, 16], "axial_pos_shape": [8, 8]},
    "sam2_hiera_det_model": {"hidden_size": 96, "image_size": [128, 128]},
    "sam2_vision_model": {"backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]]},
    "shieldgemma2": {"yes_token_index": 4, "no_token_index": 5},
    "step3p5": {"sliding_window": 4},
    "swin": {"image_size": 128},
    "table-transformer": LAST_STAGE,
    "xmod": {"default_language": "en_XX"},
    "zamba": {"num_hidden_layers": 3, "layers_block_type": ["mamba", "hybrid", "hybrid"]},
    "zamba2": {"layers_block_type": ["mamba", "hybrid"], "num_mem_blocks": 1, "use_mem_rope": False},
}  # fmt: skip


class TooLarge(ValueError):
    pass


def small_value(name: str, value: Any, sizes: dict[str, int]) -> Any:
    """What a config's field becomes in a small model: the same where it is none of the above."""
    if name.endswith("_token_id") and isinstance(value, int) and value >= 90:
        return 90 + len(name) % 8  # the vocabulary has become small
    if value is None and name in MISSING:
        return MISSING[name]
    if name == "depths" and isinstance(value, (list, tuple)):
        return type(value)([1] * len(value))
    if name == "rope_parameters" and isinstance(value, dict) and value.get("rope_theta", 0) is None:
        return {**value, "rope_theta": 10000.0}
    if isinstance(value, int) and not isinstance(value, bool) and value > sizes.get(name, value):
        return sizes[name]
    return value


def small_config(cls: type[PreTrainedConfig], sizes: dict[str, int]) -> PreTrainedConfig:
    return rebuilt(cls(), sizes)


def has_sections(config: PreTrainedConfig) -> bool:
    """Its rotary embedding has a section for each axis of an image, which must add up to half a head."""
    name = type(config).__module__.replace("configuration_", "modeling_")
    return "mrope_section" in inspect.getsource(importlib.import_module(name)) if "modeling_" in name else False


def with_sections(rope: dict[str, Any]) -> dict[str, Any]:
    if rope and all(isinstance(value, dict) for value in rope.values()):  # of each kind of layers
        return {kind: with_sections(value) for kind, value in rope.items()}
    return {"rope_type": "default", "rope_theta": 10000.0, **rope, "mrope_section": [2, 1, 1]}


def stages_of(config: PreTrainedConfig, changed: dict[str, Any]) -> dict[str, Any]:
    """Which stages of a backbone are its outputs: as many as before, of the few that are left."""
    indices = list(config._out_indices)
    layers = changed.get("num_hidden_layers")
    if layers is None:
        return {"out_indices": indices}
    return {"num_hidden_layers": max(layers, len(indices)), "out_indices": [i + 1 for i in range(len(indices))]}


def chosen_by_parent(config: PreTrainedConfig) -> dict[str, Any]:
    """The switches and counts of a part that are not its own defaults."""
    default = vars(type(config)())
    chosen = {name: value for name, value in vars(config).items() if isinstance(value, int) and name[0] != "_"}
    return {name: value for name, value in chosen.items() if default.get(name) != value}


def rebuilt(config: PreTrainedConfig, sizes: dict[str, int], inner: bool = False) -> PreTrainedConfig:
    """The config with these fields small, made anew, so that what is derived from them follows."""
    known = vars(config)
    inside = {name: part for name, part in known.items() if isinstance(part, PreTrainedConfig)}
    parts = {name: rebuilt(part, sizes, inner=True) for name, part in inside.items()}
    small = {name: small_value(name, value, sizes) for name, value in known.items() if name not in parts}
    changed = {name: value for name, value in small.items() if value is not known[name]}
    if inner:
        changed = {**chosen_by_parent(config), **changed}
    if isinstance(known.get("depths"), (list, tuple)):
        changed.pop("embed_dim", None)  # it grows from stage to stage, as the heads do
    if "num_hidden_layers" in changed and isinstance(known.get("layer_types"), (list, tuple)):
        kinds, layers = list(dict.fromkeys(known["layer_types"])), changed["num_hidden_layers"]
        changed["layer_types"] = (kinds + kinds[-1:] * layers)[:layers]
    if known.get("num_key_value_heads", -1) == known.get("num_attention_heads") and "num_attention_heads" in changed:
        changed["num_key_value_heads"] = changed["num_attention_heads"]
    if isinstance(known.get("rope_parameters"), dict) and has_sections(config):
        changed["rope_parameters"] = with_sections(known["rope_parameters"])
    if known.get("_out_indices"):
        changed.update(stages_of(config, changed))
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
        and cls.forward is not nn.Module.forward
    ]  # fmt: skip


def build(cls: type[PreTrainedModel], sizes: dict[str, int] = SMALL, **options: Any) -> PreTrainedModel:
    """A model with random weights whose attention is far from uniform."""
    config, again = small_config(cls.config_class, sizes), small_config(cls.config_class, sizes)
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in cls._from_config(again).parameters())
    if size > LARGEST:
        raise TooLarge(f"{size / 1e6:.0f} million parameters even with a small config")
    torch.manual_seed(0)
    model = cls._from_config(config, **options).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and any(part in name.lower() for part in ("q", "key", "attn", "attention", "k_")):
                parameter.mul_(4)
            if not parameter.isfinite().all():
                parameter.zero_()
    return model
