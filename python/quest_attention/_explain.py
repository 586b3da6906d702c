"""What will run, layer by layer, and why not the fused kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ._attention import attention, observers
from ._call import Call
from ._configs import INTERNAL
from ._layers import attention_layers, calls_in, why_not
from ._paths import OBSTACLES, check_by_library, has_forward_gradient, obstacle_to_fusing, takes_float32
from ._proof import watch_call


@dataclass
class Explanation:
    """One line per call or layer; print it."""

    layers: dict[str, str]

    def __str__(self) -> str:
        return "\n".join(f"{name}: {line}" for name, line in self.layers.items())


def logit(call: Call) -> str:
    q = "q/|q|" if call.normalize_q else "q"
    k = "k/|k|" if call.normalize_k else "k"
    gain = "" if call.gain is None else "gain · "
    scale = "" if call.scale == 1.0 else f"{call.scale:.4g} · "
    return f"softmax({scale}{gain}{q} · {k})"


def path_of(call: Call, lse: Tensor | None) -> str:
    device = call.q.device.type
    if lse is not None:
        narrow = "; rows of float32, because their width is no multiple of a word" if takes_float32(call) else ""
        return f"the fused kernels for {device}{narrow}"
    reason = obstacle_to_fusing(call) or "path='reference' asks for it"
    return f"the plain formula, with memory that grows with Nq·Nk: {reason}"


def line_for(call: Call, lse: Tensor | None) -> str:
    return f"{logit(call)} by {path_of(call, lse)}"


@contextmanager
def observed() -> Iterator[list[tuple[Call, Tensor | None]]]:
    calls: list[tuple[Call, Tensor | None]] = []

    def observe(call: Call, lse: Tensor | None) -> None:
        calls.append((call, lse))

    observers.append(observe)
    try:
        yield calls
    finally:
        observers.remove(observe)


def explain_call(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Explanation:
    """The call is made with tensors that have shapes and no numbers: it costs nothing, and raises as the call would."""
    from torch._subclasses.fake_tensor import FakeTensorMode  # brings torch._dynamo along

    mode = FakeTensorMode()

    def fake(x: Any) -> Any:
        return mode.from_tensor(x.detach()) if isinstance(x, Tensor) else x

    tensors, rest = [fake(x) for x in (q, k, v)], {name: fake(value) for name, value in options.items()}
    with mode, observed() as calls, torch.no_grad():
        attention(*tensors, **rest)
    ((call, lse),) = calls
    check_by_library(call)
    line = line_for(call, lse)
    real = call._replace(q=q, k=k, v=v, gain=None, mask=None)
    if lse is not None and has_forward_gradient(real):
        line = f"{logit(call)} by the plain formula: {OBSTACLES['forward_gradient']}"
    return Explanation({"attention": line})


def standing(module: nn.Module) -> str:
    """What a layer computes as it is, by its code and its config."""
    layer = getattr(module, "_quest_layer", None)
    if layer is not None:
        seen = "seen to compute it" if layer.is_proven else "not yet run; it raises if it does not compute it"
        return f"{layer.formulation.name!r} by patch, {seen}"
    calls = calls_in(module)
    if calls.interface:
        from ._hf_names import REGISTERED

        name = getattr(getattr(module, "config", None), INTERNAL, None)
        if name in REGISTERED:
            return f"{name!r} by attn_implementation"
        return f"standard by transformers' {name!r}; patch switches it"
    if calls.torch_attention:
        return "standard by torch's attention function; patch or use switches it"
    return f"standard or its own: {why_not(module)}"


def explain_model(model: nn.Module, example: Any) -> Explanation:
    names = {module: name or type(model).__name__ for name, module in model.named_modules()}
    layers = list(attention_layers(model))

    def as_they_stand() -> dict[str, str]:
        return {names[layer]: f"{type(layer).__name__} computes {standing(layer)}" for layer in layers}

    if example is None:
        return Explanation(as_they_stand() or {type(model).__name__: "no attention layer was found by name or code"})
    running: list[str] = []

    def leave(module: nn.Module, args: Any, out: Any) -> None:
        running.pop()

    handles = [layer.register_forward_pre_hook(lambda m, args: running.append(names[m])) for layer in layers]
    handles += [layer.register_forward_hook(leave, always_call=True) for layer in layers]
    made: dict[str, str] = {}

    def observe(call: Call, lse: Tensor | None) -> None:
        made[running[-1] if running else type(model).__name__] = line_for(call, lse)

    observers.append(observe)
    try:
        watch = watch_call(model, example)
    finally:
        observers.remove(observe)
        for handle in handles:
            handle.remove()
    lines = as_they_stand()
    for name, line in made.items():
        lines[name] = f"{lines.get(name, type(model).__name__ + ' computes attention')}: {line}"
    for name, (module, calls_torch) in watch.found.items():
        lines.setdefault(
            name or type(model).__name__,
            f"{type(module).__name__} computes standard by {'torch' if calls_torch else 'its own softmax'}",
        )
    return Explanation(lines)


def explain(model_or_q: nn.Module | Tensor, *args: Any, **options: Any) -> Explanation:
    """What will run, and why not the fused kernels.

    ``explain(model)`` says of each attention layer what it computes as it is, and by which way; ``explain(model,
    example)`` calls the model once, without gradients, and says by which path, too. ``explain(q, k, v, ...)``, with the
    arguments of ``quest_attention.attention``, says which path that call would take, without computing it.
    """
    if isinstance(model_or_q, nn.Module):
        if len(args) > 1 or options:
            raise TypeError("explain takes a model and one example: a tensor, a tuple of arguments, or a dictionary")
        return explain_model(model_or_q, args[0] if args else None)
    return explain_call(model_or_q, *args, **options)
