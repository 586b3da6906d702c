"""Learned gains as parameters of a layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ._formulation import Formulation, GainAxes
from ._rules import RULES


@dataclass(frozen=True)
class LearnedGain:
    axes: GainAxes
    parameters: list[str]  # each [H or 1, D or 1]
    varies_by_head: bool
    varies_by_dim: bool
    is_exponential: bool  # the gain is the product of the parameters' exponentials; otherwise of the parameters
    start: float  # of each parameter
    most: float | None  # what a larger parameter counts as


LEARNED_GAINS: dict[str, LearnedGain] = {rule["axes"]: LearnedGain(**rule) for rule in RULES["learned_gains"]}
GAIN_NAMES = list(dict.fromkeys(name for rule in LEARNED_GAINS.values() for name in rule.parameters))


def _keep_gains_without_saved_ones(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """A checkpoint of the model before it was switched has no gains: those of the model stay."""
    for name in GAIN_NAMES:
        parameter = getattr(module, name, None)
        if parameter is not None:
            state.setdefault(prefix + name, parameter.detach())


def add_gains(module: nn.Module, formulation: Formulation, heads: int, dim: int) -> None:
    device = next((parameter.device for parameter in module.parameters()), None)
    rule = LEARNED_GAINS[formulation.gain_axes]
    shape = (heads if rule.varies_by_head else 1, dim if rule.varies_by_dim else 1)
    for name in rule.parameters:
        module.register_parameter(name, nn.Parameter(torch.full(shape, rule.start, device=device)))
    module._quest_gain_hook = module.register_load_state_dict_pre_hook(_keep_gains_without_saved_ones)  # type: ignore[assignment]


def first_of(owner: object, *names: str) -> int | None:
    return next((value for name in names if isinstance(value := getattr(owner, name, None), int)), None)


def heads_and_dim(module: nn.Module) -> tuple[int, int] | None:
    """How many heads a layer has and how wide they are, by the names in use for that."""
    config = getattr(module, "config", None)
    heads = first_of(module, "num_heads", "num_attention_heads", "n_head", "n_heads") or first_of(
        config, "num_attention_heads", "n_head"
    )
    width = first_of(module, "embed_dim", "hidden_size", "n_embd", "dim") or first_of(config, "hidden_size", "n_embd")
    projection = getattr(module, "qkv", None)
    if width is None and isinstance(projection, nn.Linear):
        width = projection.in_features
    dim = first_of(module, "qk_head_dim", "head_dim", "attention_head_size")
    dim = dim or (width // heads if heads and width else None)
    return (heads, dim) if heads and dim else None


def give_gains(name: str, module: nn.Module, formulation: Formulation) -> None:
    shape = heads_and_dim(module)
    if shape is None:
        raise ValueError(
            f"{name or 'the model'} ({type(module).__name__}) has no num_heads and head_dim by which to size its gain"
        )
    add_gains(module, formulation, *shape)


def remove_gains(module: nn.Module) -> None:
    for name in GAIN_NAMES:
        if hasattr(module, name):
            delattr(module, name)
    if hasattr(module, "_quest_gain_hook"):
        module._quest_gain_hook.remove()  # type: ignore[operator]
        del module._quest_gain_hook


def gains_of(module: nn.Module) -> list[tuple[str, nn.Parameter]]:
    return [(name, gain) for name in GAIN_NAMES if (gain := getattr(module, name, None)) is not None]


def gain_of(module: nn.Module) -> Tensor | None:
    for rule in LEARNED_GAINS.values():
        if getattr(module, rule.parameters[0], None) is None:
            continue
        gain: Tensor | None = None
        for name in rule.parameters:
            factor = getattr(module, name)
            factor = factor if rule.most is None else factor.clamp(max=rule.most)
            factor = factor.exp() if rule.is_exponential else factor
            gain = factor if gain is None else gain * factor
        return gain
    return None
