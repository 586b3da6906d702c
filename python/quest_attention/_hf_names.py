"""The formulations as names that transformers takes for ``attn_implementation``, and what keeps them honest."""

from __future__ import annotations

import functools
from typing import Any

from torch import nn

from ._configs import INTERNAL, MARKS, configs_of, mark, unmark, warn_of_mismatch
from ._formulation import FORMULATIONS, Formulation
from ._gains import gain_of, give_gains
from ._hf_options import EAGER_ONLY, hf_attention
from ._hf_tables import missing_in_table
from ._layers import asks_interface, calls_in, layers_that_cannot
from ._proof import FirstForward

REGISTERED: dict[str, Formulation] = {}


def register_formulation(formulation: Formulation) -> None:
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
        from transformers.modeling_utils import PreTrainedModel
    except ImportError as error:
        raise ImportError(
            "register_hf needs Hugging Face transformers 5 or later; install it with: pip install 'transformers>=5'"
        ) from error
    known = REGISTERED.get(formulation.name, FORMULATIONS.get(formulation.name))
    taken = formulation.name not in REGISTERED and formulation.name in AttentionInterface._global_mapping
    if taken or known not in (None, formulation):
        raise ValueError(
            f"the name {formulation.name!r} of this formulation is that of another attention implementation; give your "
            "Formulation another name"
        )
    REGISTERED[formulation.name] = formulation
    AttentionInterface.register(formulation.name, functools.partial(hf_attention, formulation))
    AttentionMaskInterface.register(formulation.name, hf_mask)
    if not hasattr(PreTrainedModel.post_init, "_of_quest"):
        guard(PreTrainedModel)


def hf_mask(*args: Any, config: Any = None, **kwargs: Any) -> Any:
    """The mask that a model makes for itself by default."""
    from transformers.masking_utils import eager_mask, sdpa_mask

    return (eager_mask if type(config) in EAGER_ONLY else sdpa_mask)(*args, config=config, **kwargs)


def register_hf() -> None:
    """Make every formulation an ``attn_implementation`` of transformers, by name.

    ``AutoModel.from_config(config, attn_implementation="quest")``, or ``model.set_attn_implementation("quest")`` and
    back again with ``"sdpa"``. A model whose attention does not ask transformers' attention interface, and would go on
    computing its own, is refused. Formulations with learned gains need them in the model: ``patch(model, "qknorm")``.
    """
    for formulation in FORMULATIONS.values():
        register_formulation(formulation)


def guard(pretrained: Any) -> None:
    """From now on a model is checked where transformers has built or switched it."""
    post_init, set_implementation = pretrained.post_init, pretrained.set_attn_implementation
    correct_implementation = pretrained.get_correct_attn_implementation

    @functools.wraps(correct_implementation)
    def checked_correct(self: Any, requested_attention: str | None, *args: Any, **kwargs: Any) -> Any:
        if requested_attention in REGISTERED:
            reason = missing_in_table(type(self), requested_attention)
            if reason is None and not self._can_set_attn_implementation():
                reason = does_not_ask("its attention layers do")
            if reason is not None:
                raise ValueError(refusal(self, requested_attention, reason))
        if requested_attention in REGISTERED and not self._supports_sdpa:
            EAGER_ONLY.add(type(self.config))
        return correct_implementation(self, requested_attention, *args, **kwargs)

    @functools.wraps(post_init)
    def checked_post_init(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = post_init(self, *args, **kwargs)
        check_built(self)
        return out

    @functools.wraps(set_implementation)
    def checked_set(self: Any, attn_implementation: Any, *args: Any, **kwargs: Any) -> Any:
        if any(hasattr(module, "_quest_layer") for module in self.modules()):
            raise ValueError(
                f"{type(self).__name__} is patched; undo() the patch before "
                f"set_attn_implementation({attn_implementation!r})"
            )
        before = {id(config): (config, getattr(config, INTERNAL)) for config in configs_in(self)}
        out = set_implementation(self, attn_implementation, *args, **kwargs)
        try:
            check_set(self, attn_implementation)
        except ValueError:
            for config, name in before.values():
                setattr(config, INTERNAL, name)
            raise
        for part in parts_of(self):
            note(part)
        prove_layers(self)
        return out

    checked_post_init._of_quest = True  # type: ignore[attr-defined]
    pretrained.post_init, pretrained.set_attn_implementation = checked_post_init, checked_set
    pretrained.get_correct_attn_implementation = checked_correct


def parts_of(model: nn.Module) -> list[Any]:
    """The models of transformers that it consists of, itself among them."""
    from transformers import PreTrainedModel

    return [part for part in model.modules() if isinstance(part, PreTrainedModel)]


def note_eager_only(model: nn.Module) -> None:
    EAGER_ONLY.update(type(part.config) for part in parts_of(model) if not part._supports_sdpa)


def check_set(model: Any, asked: Any) -> None:
    if isinstance(asked, str) and asked in REGISTERED and getattr(model.config, INTERNAL) != asked:
        raise ValueError(refusal(model, asked, does_not_ask("its attention layers do")))
    for part in parts_of(model):
        check_asking(part)


def configs_in(model: nn.Module) -> list[Any]:
    return [config for module in model.modules() for _, config in configs_of(module)]


def note(model: Any) -> None:
    """The config says which formulation its model computes, for save_pretrained."""
    formulation = REGISTERED.get(getattr(model.config, INTERNAL))
    if formulation is not None:
        saved = vars(model.config).get(MARKS[1]) or {}
        mark(model.config, formulation, saved.get("gains", []))
    else:
        unmark(model.config)


def check_built(model: Any) -> None:
    warn_of_mismatch(model)
    check_asking(model)
    formulation = REGISTERED.get(getattr(model.config, INTERNAL))
    if formulation is not None:
        restore_gains(model, formulation)
        note(model)
        prove_layers(model)


def is_switched(module: Any) -> bool:
    """By a name in its config, and not by patch."""
    name = getattr(getattr(module, "config", None), INTERNAL, None)
    return name in REGISTERED and not hasattr(module, "_quest_layer")


def prove_layers(model: nn.Module) -> None:
    for name, module in model.named_modules():
        hooks = module._forward_hooks.values()
        known = any(isinstance(getattr(hook, "__self__", None), FirstForward) for hook in hooks)
        if asks_interface(module) and is_switched(module) and not known:
            FirstForward(name, is_switched).watch(module)


def restore_gains(model: Any, formulation: Formulation) -> None:
    """The gains that the config says its checkpoint has, so that from_pretrained finds a place for them."""
    saved = vars(model.config).get(MARKS[1]) or {}
    owners = {gain.rpartition(".")[0] for gain in saved.get("gains", []) if saved["formulation"] == formulation.name}
    for name, module in model.named_modules():
        if gain_of(module) is None and asks_interface(module) and any(same_layer(name, owner) for owner in owners):
            give_gains(name, module, formulation)


def same_layer(name: str, other: str) -> bool:
    """A layer may be named from the model or from a part of it."""
    return f".{name}".endswith(f".{other}") or f".{other}".endswith(f".{name}")


def check_asking(model: Any) -> None:
    """Raises where a model was given one of these names and has attention that does not ask for it."""
    given = getattr(model.config, INTERNAL)
    if given not in REGISTERED:
        return
    unasking = [(name, module) for name, module, _ in layers_that_cannot(model) if calls_in(module).softmax]
    unasking += [(name, module) for name, module in model.named_modules() if calls_torch_alone(module)]
    if not unasking:
        return
    layer, module = unasking[0]
    several = f" and {len(unasking) - 1} more" if len(unasking) > 1 else ""
    reason = does_not_ask(f"its layer {layer} ({type(module).__name__}){several} does")
    raise ValueError(refusal(model, given, reason))


def does_not_ask(who_does: str) -> str:
    return f"{who_does} not ask transformers' attention interface and would go on computing its own attention"


def refusal(model: Any, name: str, reason: str) -> str:
    return (
        f"{type(model).__name__} cannot take attn_implementation={name!r}: {reason}; build it with the default and see "
        f"what quest_attention.patch(model, {name!r}) can switch"
    )


def calls_torch_alone(module: nn.Module) -> bool:
    calls = calls_in(module)
    return calls.torch_attention and not calls.interface
