"""Configs of Hugging Face models: each patched model gets its own, and saves which formulation it computes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from ._formulation import Formulation
from ._gains import gains_of

#: What is written into a saved config. transformers reads the first when it loads it, and refuses a name that nobody
#: has registered; the second is for this package.
MARKS = ("attn_implementation", "quest_attention")
INTERNAL = "_attn_implementation_internal"


def configs_of(module: nn.Module) -> Iterator[tuple[str, Any]]:
    from transformers import PreTrainedConfig

    for key, value in vars(module).items():
        if isinstance(value, PreTrainedConfig):
            yield key, value


def copied(config: Any, copies: dict[int, tuple[Any, Any]]) -> Any:
    """One copy for one config and for each of its parts, however many modules share it."""
    from transformers import PreTrainedConfig

    memo = {key: own for key, (_, own) in copies.items()}
    own = copy.deepcopy(config, memo)
    for value in memo.pop(id(memo), ()):  # deepcopy keeps the originals alive there
        if isinstance(value, PreTrainedConfig):
            copies.setdefault(id(value), (value, memo[id(value)]))
    return own


def mark(config: Any, formulation: Formulation, gains: list[str]) -> None:
    config.attn_implementation = formulation.name
    config.quest_attention = {"formulation": formulation.name, "gains": gains}


def unmark(config: Any) -> None:
    for name in MARKS:
        vars(config).pop(name, None)


def carry_over(original: Any, own: Any, at_start: dict[str, Any]) -> None:
    """What was changed in a model's own config meanwhile, say its vocabulary, goes into the one it gets back."""
    for name, value in vars(own).items():
        if name in MARKS or name == INTERNAL or name not in vars(original):
            continue
        if value is not at_start.get(name) and not hasattr(value, INTERNAL):
            vars(original)[name] = value


def give_own_configs(model: nn.Module, layers: set[nn.Module], formulation: Formulation) -> Callable[[], None]:
    """Layers that ask transformers' attention interface get a config that names the formulation; the rest of the model
    gets one that says what it said, so that masks stay those of the model's own attention.
    """
    asking: dict[int, tuple[Any, Any]] = {}
    others: dict[int, tuple[Any, Any]] = {}
    replaced = []
    for module in model.modules():
        for key, config in list(configs_of(module)):
            own = copied(config, asking if module in layers else others)
            replaced.append((module, key, config, own))
            setattr(module, key, own)
    for _, own in asking.values():
        setattr(own, INTERNAL, formulation.name)
    for _, own in others.values():
        if getattr(own, INTERNAL) not in (None, "sdpa", "eager"):
            setattr(own, INTERNAL, "sdpa")
    at_start = {id(own): dict(vars(own)) for _, own in others.values()}

    def undo() -> None:
        for module, key, original, own in replaced:
            if vars(module).get(key) is own:
                setattr(module, key, original)
        for original, own in others.values():
            carry_over(original, own, at_start[id(own)])

    return undo


def mark_models(model: nn.Module, formulation: Formulation) -> None:
    """After the gains have been added: what a later save_pretrained writes."""
    from transformers import PreTrainedModel

    for part in reversed(list(model.modules())):  # of several models with one config the outermost names the gains
        if isinstance(part, PreTrainedModel) and any(hasattr(module, "_quest_layer") for module in part.modules()):
            gains = [f"{layer}.{gain}" for layer, module in part.named_modules() for gain, _ in gains_of(module)]
            mark(part.config, formulation, gains)


def warn_of_mismatch(model: Any) -> None:
    """A checkpoint that was saved with one formulation and is used with another."""
    saved = vars(model.config).get("quest_attention")
    chosen = getattr(model.config, INTERNAL)
    if not saved or saved["formulation"] == chosen:
        return
    warnings.warn(
        f"{type(model).__name__} was saved with {saved['formulation']!r} attention and is loaded with {chosen!r}, for "
        f"which its weights were not trained; load it with attn_implementation={saved['formulation']!r} after "
        "quest_attention.register_hf(), or switch it with quest_attention.patch",
        stacklevel=4,
    )
