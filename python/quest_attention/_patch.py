"""Switches the attention layers of a model in place, and back."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from ._formulation import Formulation, find_formulation
from ._gains import add_gains, gain_of, remove_gains
from ._huggingface import register_formulation
from ._switch import Switch

Undo = Callable[[], None]


@dataclass
class Patch:
    """What ``patch`` did: layer names with what was changed, or why nothing was. ``undo()`` takes it back.

    As a context manager it is undone when the block ends.
    """

    formulation: Formulation
    changed: dict[str, str] = field(default_factory=dict)
    unchanged: dict[str, str] = field(default_factory=dict)
    _undo: list[Undo] = field(default_factory=list, repr=False)

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def __str__(self) -> str:
        lines = [f"{len(self.changed)} attention layers compute {self.formulation.name!r}"]
        lines += [f"  {name or '(the model)'}: {what}" for name, what in self.changed.items()]
        lines += [f"  not {name or '(the model)'}: {why}" for name, why in self.unchanged.items()]
        return "\n".join(lines)


@functools.cache
def switched_class(cls: type[nn.Module]) -> type[nn.Module]:
    """A subclass whose forward runs within the switch. It keeps the name, so that the model prints as before."""

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        with Switch(self._quest_formulation, gain_of(self)):
            return cls.forward(self, *args, **kwargs)

    return type(
        cls.__name__, (cls,), {"forward": forward, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    )


def set_attribute(module: nn.Module, name: str, value: object) -> Undo:
    before = getattr(module, name)
    setattr(module, name, value)
    return lambda: setattr(module, name, before)


def mentions(module: nn.Module, name: str) -> bool:
    """The module's own forward looks up that name."""
    code = getattr(inspect.unwrap(type(module).forward), "__code__", None)
    return code is not None and name in code.co_names


def calls_torch_attention(module: nn.Module) -> bool:
    return isinstance(module, nn.MultiheadAttention) or mentions(module, "scaled_dot_product_attention")


def calls_hf_interface(module: nn.Module) -> bool:
    return mentions(module, "ALL_ATTENTION_FUNCTIONS")


def looks_like_attention(module: nn.Module) -> bool:
    return "attention" in type(module).__name__.lower() or type(module).__name__.endswith("Attn")


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
    dim = first_of(module, "head_dim", "attention_head_size") or (width // heads if heads and width else None)
    return (heads, dim) if heads and dim else None


def switch_layer(module: nn.Module, formulation: Formulation) -> Undo:
    cls = type(module)
    module._quest_formulation = formulation  # type: ignore[assignment]
    module.__class__ = switched_class(cls)

    def undo() -> None:
        module.__class__ = cls
        del module._quest_formulation

    return undo


def give_gains(module: nn.Module, formulation: Formulation) -> Undo | str:
    """Adds learned gains, or says why it cannot."""
    shape = heads_and_dim(module)
    if shape is None:
        return "has no num_heads and head_dim by which to size its gain"
    add_gains(module, formulation, *shape)
    return lambda: remove_gains(module)


def hf_models(model: nn.Module) -> Iterator[nn.Module]:
    """The outermost models of transformers."""
    if hasattr(model, "set_attn_implementation"):
        yield model
        return
    for child in model.children():
        yield from hf_models(child)


def set_hf_implementation(model: Any, name: str) -> Undo:
    before = model.config._attn_implementation
    model.set_attn_implementation(name)
    return lambda: model.set_attn_implementation(before)


def close_fast_paths(module: nn.Module) -> list[Undo]:
    """The inference kernels of nn.Transformer compute attention themselves, without asking any function."""
    undo = []
    if isinstance(module, nn.TransformerEncoderLayer):
        undo.append(set_attribute(module, "activation_relu_or_gelu", 0))
    if isinstance(module, nn.TransformerEncoder):
        undo.append(set_attribute(module, "use_nested_tensor", False))
    return undo


def patch(model: nn.Module, formulation: str | Formulation = "quest") -> Patch:
    """Switch every attention layer of a model that can be switched, in place.

    These can: ``nn.MultiheadAttention`` (and so the ``nn.Transformer`` layers), modules whose forward calls
    ``F.scaled_dot_product_attention`` (timm's and their like), and models of Hugging Face transformers. Parameters keep
    their names; formulations with learned gains add ``quest_log_gain``, or ``quest_query_gain`` and ``quest_key_gain``,
    to each layer, so patch before you make the optimiser. Print the result to see what was changed and what was not;
    its ``undo()`` restores the model.
    """
    if not isinstance(model, nn.Module):
        given = repr(model) if isinstance(model, str) else type(model).__name__
        raise TypeError(
            f"model must be a torch.nn.Module, got {given}; write patch(model, 'quest'), or use('quest') to switch "
            "whatever runs in a block"
        )
    chosen = find_formulation(formulation)
    if chosen.needs_gain and not chosen.gain_is_learned:
        raise ValueError(
            f"patch cannot estimate the gain that {chosen.name!r} takes from the data; call quest_attention.attention "
            "with gain= in the model's own code"
        )
    result = Patch(chosen)
    try:
        _switch_all(model, result)
        if not result.changed:
            found = "".join(f"\n  {name or type(model).__name__}: {why}" for name, why in result.unchanged.items())
            raise ValueError(
                f"{type(model).__name__} has no attention layer that patch can switch: no nn.MultiheadAttention, no "
                f"module that calls F.scaled_dot_product_attention, no Hugging Face model{found}"
            )
    except BaseException:
        result.undo()
        raise
    return result


def _switch_all(model: nn.Module, result: Patch) -> None:
    chosen = result.formulation
    of_hf = set()
    for part in hf_models(model):
        if any(calls_hf_interface(module) for module in part.modules()):
            register_formulation(chosen)
            result._undo.append(set_hf_implementation(part, chosen.name))
            of_hf.update(module for module in part.modules() if calls_hf_interface(module))
    for name, module in model.named_modules():
        if hasattr(module, "_quest_formulation") or gain_of(module) is not None:
            raise ValueError(f"{name or 'the model'} is patched already; undo() that patch first")
        result._undo += close_fast_paths(module)
        if module not in of_hf and not calls_torch_attention(module):
            inner = any(
                child is not module and (child in of_hf or calls_torch_attention(child)) for child in module.modules()
            )
            if looks_like_attention(module) and not inner:
                result.unchanged[name] = (
                    f"{type(module).__name__} computes its softmax itself; "
                    "call quest_attention.attention in its forward"
                )
            continue
        if chosen.needs_gain:
            given = give_gains(module, chosen)
            if isinstance(given, str):
                raise ValueError(f"{name or type(model).__name__} ({type(module).__name__}) {given}")
            result._undo.append(given)
        if getattr(module, "fused_attn", None) is False:
            result._undo.append(set_attribute(module, "fused_attn", True))
        if module not in of_hf:
            result._undo.append(switch_layer(module, chosen))
        result.changed[name] = type(module).__name__
