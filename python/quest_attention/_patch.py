"""Switches the attention layers of a model in place, and back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from ._configs import give_own_configs, mark_models
from ._formulation import Formulation, find_formulation
from ._gains import gain_of, give_gains, remove_gains
from ._hf_names import note_eager_only, register_formulation
from ._layers import asks_interface, can_be_switched, layers_that_cannot
from ._proof import SwitchedLayer, Watch, switch_layer, watch_call

Undo = Callable[[], None]


@dataclass
class Patch:
    """What ``patch`` did: layer names with what was changed, or why nothing was. ``undo()`` takes it back.

    As a context manager it is undone when the block ends.
    """

    formulation: Formulation
    changed: dict[str, str] = field(default_factory=dict)
    unchanged: dict[str, str] = field(default_factory=dict)
    _layers: dict[str, SwitchedLayer] = field(default_factory=dict, repr=False)
    _undo: list[Undo] = field(default_factory=list, repr=False)

    @property
    def proven(self) -> list[str]:
        """The layers that have been seen to compute the formulation; each is at its first forward, or it raises."""
        return [name for name, layer in self._layers.items() if layer.is_proven]

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def __str__(self) -> str:
        lines = [f"{len(self.changed)} attention layers compute {self.formulation.name!r}"]
        waiting = len(self.changed) - len(self.proven)
        if waiting:
            lines[0] += f", {waiting} of them not yet run; a layer that does not compute it raises when it is"
        lines += [f"  {name or '(the model)'}: {what}" for name, what in self.changed.items()]
        lines += [f"  not {name or '(the model)'}: {why}" for name, why in self.unchanged.items()]
        return "\n".join(lines)


def set_attribute(module: nn.Module, name: str, value: object) -> Undo:
    before = getattr(module, name)
    setattr(module, name, value)
    return lambda: setattr(module, name, before)


def hf_models(model: nn.Module) -> Iterator[nn.Module]:
    """The outermost models of transformers."""
    if hasattr(model, "set_attn_implementation"):
        yield model
        return
    for child in model.children():
        yield from hf_models(child)


def close_fast_paths(module: nn.Module) -> list[Undo]:
    """The inference kernels of nn.Transformer compute attention themselves, without asking any function."""
    undo = []
    if isinstance(module, nn.TransformerEncoderLayer):
        undo.append(set_attribute(module, "activation_relu_or_gelu", 0))
    if isinstance(module, nn.TransformerEncoder):
        undo.append(set_attribute(module, "use_nested_tensor", False))
    return undo


def patch(model: nn.Module, formulation: str | Formulation = "quest", *, verify: Any = None) -> Patch:
    """Switch every attention layer of a model that can be switched, in place.

    These can: ``nn.MultiheadAttention`` (and so the ``nn.Transformer`` layers), modules whose code calls
    ``F.scaled_dot_product_attention`` (timm's and their like), and layers of Hugging Face transformers that ask its
    attention interface. Parameters keep their names; formulations with learned gains add ``quest_log_gain``, or
    ``quest_query_gain`` and ``quest_key_gain``, to each layer, so patch before you make the optimiser. Print the result
    to see what was changed and what was not; its ``undo()`` restores the model.

    Each layer proves itself: one that does not reach the operators raises at its first forward, and attention that the
    model computes outside the switched layers is warned of. A compiled model cannot tell: give an example.

    Args:
        model: the model, or a part of it.
        formulation: a name of ``quest_attention.FORMULATIONS``, or a ``Formulation`` of your own.
        verify: an example input (a tensor, a tuple of arguments, or a dictionary of them), with which the model is
            called at once and without gradients. Every layer must then have computed the formulation, and layers that
            only the call can find are switched, too.
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
        check_unpatched(model)
        switch_all(model, result)
        if verify is not None:
            verify_by(model, verify, result)
        if not result.changed:
            found = "".join(f"\n  {name or type(model).__name__}: {why}" for name, why in result.unchanged.items())
            raise ValueError(
                f"{type(model).__name__} has no attention layer that patch can switch: no nn.MultiheadAttention, no "
                "module that calls F.scaled_dot_product_attention, no Hugging Face model whose layers ask its "
                f"attention interface{found}"
            )
        for part in hf_models(model):
            mark_models(part, chosen)
        if verify is None:
            watch_first_forward(model, result)
    except BaseException:
        result.undo()
        raise
    return result


def check_unpatched(model: nn.Module) -> None:
    for name, module in model.named_modules():
        if hasattr(module, "_quest_layer") or gain_of(module) is not None:
            raise ValueError(f"{name or 'the model'} is patched already; undo() that patch first")


def switch_all(model: nn.Module, result: Patch) -> None:
    result.unchanged.update((name, reason) for name, _, reason in layers_that_cannot(model))
    asking = {module for module in model.modules() if asks_interface(module)}
    if asking:
        register_formulation(result.formulation)
        note_eager_only(model)
    if asking or any(hf_models(model)):
        result._undo.append(give_own_configs(model, asking, result.formulation))
    for name, module in model.named_modules():
        result._undo += close_fast_paths(module)
        if module in asking or (can_be_switched(module) and not asks_interface(module)):
            switch_one(name, module, result, module in asking)


def switch_one(name: str, module: nn.Module, result: Patch, asks: bool) -> None:
    chosen = result.formulation
    if chosen.needs_gain:
        give_gains(name, module, chosen)
        result._undo.append(lambda: remove_gains(module))
    if getattr(module, "fused_attn", None) is False:
        result._undo.append(set_attribute(module, "fused_attn", True))
    layer = SwitchedLayer(chosen, name, asks)
    result._undo.append(switch_layer(module, layer))
    result._layers[name] = layer
    result.changed[name] = type(module).__name__
    result.unchanged.pop(name, None)


def note_outside(watch: Watch, result: Patch) -> list[str]:
    """Writes what the watch has found outside the switched layers into the report; returns what is new there."""
    new = []
    hows = {True: "calls torch's attention in a way that its code does not show", False: "computes its softmax itself"}
    for name, (module, calls_torch) in watch.found.items():
        if name not in result.unchanged and name not in result.changed:
            how = hows[calls_torch]
            result.unchanged[name] = f"{type(module).__name__} {how}; call quest_attention.attention in its forward"
            new.append(name)
    return new


def verify_by(model: nn.Module, example: Any, result: Patch) -> None:
    watch = watch_call(model, example)
    found = [(name, module) for name, (module, calls_torch) in watch.found.items() if calls_torch]
    for name, module in found:
        if name not in result.changed:
            switch_one(name, module, result, asks=False)
    if found:
        watch = watch_call(model, example)
    note_outside(watch, result)
    waiting = [name for name in result.changed if name not in result.proven]
    if waiting:
        raise ValueError(
            f"the example given as verify= did not reach {len(waiting)} of {len(result.changed)} switched layers: "
            f"{', '.join(waiting[:5])}{', …' if len(waiting) > 5 else ''}; give an example that uses them, or patch "
            "the part of the model that it uses"
        )


def watch_first_forward(model: nn.Module, result: Patch) -> None:
    """Warns, once, of attention outside the switched layers."""
    running: list[Any] = []

    def begin(module: nn.Module, args: Any) -> None:
        if running or torch.compiler.is_compiling():
            return
        watch = Watch(model)
        context = watch.active()
        context.__enter__()
        running.extend((watch, context))

    def end(module: nn.Module, args: Any, out: Any) -> None:
        if not running or torch.compiler.is_compiling():
            return
        watch, context = running
        context.__exit__(None, None, None)
        stop()
        outside = note_outside(watch, result)
        if outside:
            warnings.warn(
                f"{type(model).__name__} computes attention outside the layers that patch has switched to "
                f"{result.formulation.name!r}: {', '.join(f'{name}: {result.unchanged[name]}' for name in outside)}",
                stacklevel=2,
            )

    handles = [model.register_forward_pre_hook(begin, prepend=True), model.register_forward_hook(end, always_call=True)]

    def stop() -> None:
        for handle in handles:
            handle.remove()

    result._undo.append(stop)
