"""Learned gains as parameters of a layer.

| formulation | parameters | shape | start | gain |
| --- | --- | --- | --- | --- |
| qknorm_hs | quest_log_gain | [H, 1] | log 10 | its exponential, at most 100 |
| qknorm_ds | quest_query_gain, quest_key_gain | [1, D] | 1 | their product |
| qknorm | quest_query_gain, quest_key_gain | [H, D] | 1 | their product |
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from ._formulation import Formulation

FIRST_HEAD_GAIN, MOST_HEAD_GAIN = 10.0, 100.0
LOG_GAIN, QUERY_GAIN, KEY_GAIN = GAIN_NAMES = "quest_log_gain", "quest_query_gain", "quest_key_gain"


def _keep_gains_without_saved_ones(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """A checkpoint of the model before it was switched has no gains: those of the model stay."""
    for name in GAIN_NAMES:
        parameter = getattr(module, name, None)
        if parameter is not None:
            state.setdefault(prefix + name, parameter.detach())


def add_gains(module: nn.Module, formulation: Formulation, heads: int, dim: int) -> None:
    device = next((parameter.device for parameter in module.parameters()), None)
    if formulation.gain_axes == "head":
        start = torch.full((heads, 1), math.log(FIRST_HEAD_GAIN), device=device)
        module.register_parameter(LOG_GAIN, nn.Parameter(start))
    else:
        shape = (1 if formulation.gain_axes == "dim" else heads, dim)
        for name in (QUERY_GAIN, KEY_GAIN):
            module.register_parameter(name, nn.Parameter(torch.ones(shape, device=device)))
    module._quest_gain_hook = module.register_load_state_dict_pre_hook(_keep_gains_without_saved_ones)  # type: ignore[assignment]


def remove_gains(module: nn.Module) -> None:
    for name in GAIN_NAMES:
        if hasattr(module, name):
            delattr(module, name)
    if hasattr(module, "_quest_gain_hook"):
        module._quest_gain_hook.remove()  # type: ignore[operator]
        del module._quest_gain_hook


def gain_of(module: nn.Module) -> Tensor | None:
    log_gain = getattr(module, LOG_GAIN, None)
    if log_gain is not None:
        return log_gain.clamp(max=math.log(MOST_HEAD_GAIN)).exp()
    query_gain = getattr(module, QUERY_GAIN, None)
    return None if query_gain is None else query_gain * getattr(module, KEY_GAIN)
