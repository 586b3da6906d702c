"""Inputs for small models of transformers: random, by the arguments' names, in the shapes that families give them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel

ROWS, LENGTHS = 9, (9, 6)
PATCHES = (1, 4, 4)  # of an image or film: frames, rows, columns

Makers = dict[str, list[Callable[[], Any]]]  # by argument: the most common shape first


def parts_of(config: PreTrainedConfig) -> list[PreTrainedConfig]:
    return [part for part in vars(config).values() if isinstance(part, PreTrainedConfig)]


def field(config: PreTrainedConfig, name: str, default: int) -> int:
    """The value of a field in a config or in the first part that has it."""
    value = getattr(config, name, None)
    if value is None:
        values = (field(part, name, -1) for part in parts_of(config))
        value = next((found for found in values if found != -1), default)
    return value[0] if isinstance(value, (list, tuple)) else int(value)


def size_of(config: PreTrainedConfig, default: int = 32) -> tuple[int, int]:
    """Height and width of the images that a model takes."""
    value = getattr(config, "image_size", None)
    if value is None:
        return next((size_of(part, default) for part in parts_of(config)), (default, default))
    if isinstance(value, dict):
        return value["height"], value["width"]
    return (int(value), int(value)) if isinstance(value, int) else (int(value[0]), int(value[-1]))


def texts(model: PreTrainedModel, generator: torch.Generator) -> Makers:
    config = model.config
    vocabulary = max(min(field(config, "vocab_size", 99), 90), 4)
    books = next((field(config, name, 0) for name in ("num_codebooks", "num_channels") if field(config, name, 0)), 1)

    def ids(*shape: int) -> Tensor:
        return torch.randint(3, vocabulary, shape, generator=generator)

    def sentences() -> Tensor:
        made = ids(2, ROWS)
        end = getattr(config, "eos_token_id", None)
        if isinstance(end, int) and "SequenceClassification" in type(model).__name__:
            made[torch.arange(2), torch.tensor(LENGTHS) - 1] = end
        return made

    def boxes() -> Tensor:
        corners = torch.randint(0, 9, (2, ROWS, 1), generator=generator)
        return corners.expand(-1, -1, 4).contiguous()

    alike = ("context_input_ids", "qformer_input_ids", "task_inputs")
    return {
        "input_ids": [
            sentences,
            lambda: ids(2, ROWS, books),
            lambda: ids(2 * books, ROWS),
            lambda: ids(2, books, ROWS),
            lambda: ids(2, ROWS, books + 1),
        ],
        "decoder_input_ids": [sentences, lambda: ids(2, ROWS, books), lambda: ids(2 * books, ROWS)],
        "entity_ids": [lambda: ids(2, 2)],
        "entity_position_ids": [lambda: torch.arange(ROWS).expand(2, 2, -1)],
        "bbox": [boxes, lambda: boxes().float() / 9],
        **{name: [lambda: ids(2, ROWS)] for name in alike},
    }


def with_pictures(model: PreTrainedModel, known: Makers) -> Iterator[Tensor]:
    """Texts that begin with as many places for an image as the model may make of one."""
    config = model.config
    token = max(field(config, name, -1) for name in ("image_token_id", "image_token_index"))
    if token == -1:
        return
    for places in (math.prod(PATCHES), math.prod(PATCHES) // 4, field(config, "num_query_tokens", 32)):
        text = known["input_ids"][0]()
        yield torch.cat([torch.full((2, places), token), text.where(text != token, 3)], 1)


def images(model: PreTrainedModel, numbers: Callable[..., Tensor]) -> Makers:
    config = model.config
    channels, patch = field(config, "num_channels", 3), field(config, "patch_size", 8)
    channels = channels if channels in (1, 3, 4) else 3
    height, width = size_of(config)
    frames, count = field(config, "num_frames", 2), math.prod(PATCHES)
    shapes = [(2, channels, height, width), (2, frames, channels, height, width), (1, 2, channels, height, width)]
    rows = [(count, channels * patch * patch), (2, count, channels * patch * patch)]
    if "spatial_shapes" in inspect.signature(model.forward).parameters:
        shapes.insert(0, rows.pop())
    return {
        "pixel_values": [lambda shape=shape: numbers(*shape) for shape in (*shapes, *rows, (2, channels, 128, 128))],
        "pixel_values_videos": [lambda: numbers(2, frames, channels, height, width)],
        "image": [lambda: numbers(2, channels, height, width)],
        "pixel_mask": [lambda: torch.ones(2, height, width, dtype=torch.long)],
        "pixel_attention_mask": [lambda: torch.ones(2, count, dtype=torch.long)],
        "spatial_shapes": [lambda: torch.tensor([PATCHES[1:]] * 2)],
        "pixel_position_ids": [lambda: torch.cartesian_prod(*map(torch.arange, PATCHES[1:])).expand(2, -1, -1)],
        "merge_sizes": [lambda: torch.ones(1, dtype=torch.long)],
        "prompt_pixel_values": [lambda: numbers(2, channels, height, width)],
        "prompt_masks": [lambda: numbers(2, channels, height, width)],
        "flattened_patches": [lambda: numbers(2, ROWS, 2 + channels * patch * patch).abs().ceil()],
        "bool_masked_pos": [lambda: torch.arange(count).expand(2, -1) % 2 == 0],
        "visual_feats": [lambda: numbers(2, ROWS, field(config, "visual_feat_dim", 32))],
        "visual_pos": [lambda: numbers(2, ROWS, 4).sigmoid()],
    }


def sounds(model: PreTrainedModel, numbers: Callable[..., Tensor]) -> Makers:
    config = model.config
    mels, frames = field(config, "num_mel_bins", 16), 2 * field(config, "max_source_positions", 32)
    wide = field(config, "feature_projection_input_dim", mels)
    lengths = (field(config, "max_length", frames), field(config, "spec_size", frames))
    shapes = [(2, mels, frames), (2, frames, mels), (2, frames, wide), (2, 1, lengths[1], mels)]
    shapes.append((2, frames, field(config, "input_feat_per_channel", mels)))
    return {
        "input_features": [lambda shape=shape: numbers(*shape) for shape in shapes],
        "input_features_mask": [lambda: torch.ones(2, frames, dtype=torch.long)],
        "input_values": [
            lambda: numbers(2, 4000), lambda: numbers(2, 1, 3840), lambda: numbers(2, 3840),
            lambda: numbers(2, lengths[0], mels), lambda: numbers(2, ROWS, mels), lambda: numbers(2, 12000),
            lambda: numbers(2, ROWS, field(config, "hidden_size", 32)),
        ],
        "decoder_input_values": [lambda: numbers(2, ROWS, mels)],
        "audio_values": [lambda: numbers(2, 1, 3840)],
        "rewards": [lambda: numbers(2, ROWS, 1)],
        "returns_to_go": [lambda: numbers(2, ROWS, 1)],
        "timesteps": [lambda: torch.arange(ROWS).expand(2, -1)],
        "states": [lambda: numbers(2, ROWS, field(config, "state_dim", 17))],
        "actions": [lambda: numbers(2, ROWS, field(config, "act_dim", 4))],
        "spectrogram": [lambda: numbers(2, ROWS, field(config, "model_in_dim", mels))],
    }  # fmt: skip


def series(model: PreTrainedModel, numbers: Callable[..., Tensor]) -> Makers:
    """Of numbers over time, with what is known of each moment, before and after."""
    config = model.config
    lags = getattr(config, "lags_sequence", None) or [0]
    past, channels = field(config, "context_length", 32) + max(lags), field(config, "num_input_channels", 1)
    ahead, known = field(config, "prediction_length", 4), field(config, "num_time_features", 1)
    return {
        "past_values": [lambda: numbers(2, past, channels), lambda: numbers(2, past), lambda: [numbers(past)] * 2],
        "past_time_features": [lambda: numbers(2, past, known)],
        "past_observed_mask": [lambda: torch.ones(2, past)],
        "future_values": [lambda: numbers(2, ahead)],
        "future_time_features": [lambda: numbers(2, ahead, known)],
        "past_values_padding": [lambda: torch.zeros(2, past, dtype=torch.long)],
        "freq": [lambda: torch.zeros(2, 1, dtype=torch.long)],
    }


def inner(model: PreTrainedModel, numbers: Callable[..., Tensor]) -> Makers:
    """What the parts of a model hand each other."""
    hidden = field(model.config, "d_model", field(model.config, "hidden_size", 32))
    square = [lambda: numbers(2, field(model.config, "num_channels", 3), 32, 32)]
    rows = [lambda: numbers(2, ROWS, field(model.config, "hidden_size", 32)), lambda: numbers(2, ROWS, hidden)]
    alike = ("encoder_hidden_states", "image_embeds", "query_embeds", "inputs_embeds", "context", "noise_embeds",
             "context_hidden_states", "action_embeds")  # fmt: skip
    return {
        **dict.fromkeys(alike, rows),
        "hidden_states": rows + square,
        "state": [lambda: numbers(2, field(model.config, "max_state_dim", 32))],
        "num_patches": [lambda: ROWS],
        "inputs": [
            lambda: torch.arange(2 * ROWS).reshape(2, ROWS),
            lambda: numbers(2, ROWS, hidden),
            *square,
            lambda: numbers(2, 4000),
        ],
    }


def makers(model: PreTrainedModel) -> Makers:
    generator = torch.Generator().manual_seed(1)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    made = texts(model, generator)
    for kind in (images, sounds, series, inner):
        made |= kind(model, numbers)
    return made


def padding() -> Tensor:
    return (torch.arange(ROWS) < torch.tensor(LENGTHS)[:, None]).long()


def of_patches(model: PreTrainedModel, chosen: str, grid: str, others: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Images cut into patches, all in one list, and how many rows and columns each image has."""
    config = model.config
    channels, patch = field(config, "num_channels", field(config, "in_channels", 3)), field(config, "patch_size", 8)
    depth, count = field(config, "temporal_patch_size", 1), math.prod(PATCHES)
    size = channels * patch * patch
    cut = (count, channels, patch, patch)
    for shape in ((count, depth * size), cut, (1, *cut), (count, 2 * depth * size)):
        yield {**others, chosen: torch.randn(shape), grid: torch.tensor([PATCHES])}


def first_of(model: PreTrainedModel, wanted: Any, known: Makers) -> str:
    named = model.main_input_name if isinstance(model.main_input_name, str) else model.main_input_name[0]
    main = named if named in wanted else None
    chosen = main or next((name for name in known if name in wanted), "input_ids" if "args" in wanted else None)
    if chosen not in known:
        raise ValueError(f"no small input is known for {chosen or ', '.join(list(wanted)[:3])}")
    return chosen


def inputs(model: PreTrainedModel) -> Iterator[dict[str, Any]]:
    """What the forward may take: the least first, then with one more argument, then other shapes; texts are padded."""
    wanted, known = inspect.signature(model.forward).parameters, makers(model)
    chosen = first_of(model, wanted, known)
    required = [name for name, p in wanted.items() if p.default is p.empty and name in known]
    grid = next((name for name in ("grid_thw", "image_grid_thw") if name in wanted), None)
    if grid is not None and (wanted[grid].default is inspect.Parameter.empty or "Vision" in type(model).__name__):
        yield from of_patches(model, chosen, grid, {name: known[name][0]() for name in required if name != chosen})
    given: dict[str, Any] = {chosen: known[chosen][0]()}
    if chosen in ("input_ids", "inputs_embeds") and "attention_mask" in wanted:
        given["attention_mask"] = padding()
    if "decoder_input_ids" in wanted:
        given["decoder_input_ids"] = known["decoder_input_ids"][0]()
    given.update((name, known[name][0]()) for name in required if name not in given)
    if type(model).__name__.endswith("MultipleChoice"):
        given = {name: value.unsqueeze(1) for name, value in given.items()}
    yield given
    more = [name for name in known if name in wanted and name not in given and name != "inputs_embeds"]
    yield from ({**given, name: make()} for name in more for make in known[name])
    bare = {name: value for name, value in given.items() if name != "attention_mask"}
    if "attention_mask" in given:
        yield bare
    if "use_cache" in wanted:
        yield {**given, "use_cache": False}
    if "decoder_input_ids" in given:
        others = known["decoder_input_ids"][1:]
        yield from ({**bare, "decoder_input_ids": make()} for make in others)
        both = zip(known[chosen], others)
        yield from ({**bare, chosen: make(), "decoder_input_ids": other()} for make, other in both)
    if "input_ids" in wanted and "pixel_values" in wanted:
        pictures = {"pixel_values": known["pixel_values"][0]()}
        yield from ({**bare, **pictures, "input_ids": ids} for ids in with_pictures(model, known))
    everything = {name: known[name][0]() for name in more}
    yield from ({**bare, chosen: make()} for make in known[chosen][1:])
    yield from ({**bare, **everything, chosen: make()} for make in known[chosen] if everything)
    if "inputs_embeds" in wanted and chosen != "inputs_embeds":
        others = {name: value for name, value in given.items() if name != chosen}
        yield {**others, "inputs_embeds": known["inputs_embeds"][0]()}
