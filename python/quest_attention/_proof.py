"""Proof that a switched layer reaches the operators: calls are counted, and a layer that makes none raises."""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from ._attention import observers
from ._call import Call
from ._configs import INTERNAL
from ._formulation import Formulation
from ._gains import gain_of, gains_of
from ._layers import calls_in
from ._switch import MULTI_HEAD, SDPA, Switch
from ._watch import SOFTMAX, OwnSoftmax


class Seen(threading.local):
    calls = 0  # of attention, in this thread
    depth = 0  # of switched layers at work


SEEN = Seen()


def count(call: Call, lse: Tensor | None) -> None:
    if not torch.compiler.is_compiling():
        SEEN.calls += 1


observers.append(count)


class LayerSwitch(Switch):
    """A switch that notices where a layer computes a softmax by itself."""

    saw_softmax = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in SOFTMAX:
            self.saw_softmax = True
        return super().__torch_function__(func, types, args, kwargs)


def why_not_reached(module: nn.Module, saw_softmax: bool) -> str:
    if saw_softmax or (calls_in(module).softmax and not calls_in(module).interface):
        return "it computed its softmax itself; set the option that makes it call F.scaled_dot_product_attention"
    return (
        "it called neither F.scaled_dot_product_attention nor transformers' attention interface (scripted code and "
        "other libraries' kernels are out of reach); set the option that makes it call one"
    )


@dataclass
class SwitchedLayer:
    """What a switched module knows of itself."""

    formulation: Formulation
    name: str
    asks_interface: bool
    is_proven: bool = False
    has_warned: bool = False

    def switch(self, module: nn.Module) -> contextlib.AbstractContextManager[Any]:
        if self.asks_interface:
            return contextlib.nullcontext()
        kind = Switch if torch.compiler.is_compiling() else LayerSwitch
        return kind(self.formulation, gain_of(module))

    def run(self, module: nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            with self.switch(module):
                return forward(*args, **kwargs)
        before = SEEN.calls
        SEEN.depth += 1
        try:
            with self.switch(module) as switch:
                out = forward(*args, **kwargs)
        finally:
            SEEN.depth -= 1
        if SEEN.calls == before:
            self.check(module, getattr(switch, "saw_softmax", False))
        self.is_proven = True
        if not self.has_warned and self.formulation.gain_is_learned and module.training and torch.is_grad_enabled():
            self.warn_of_frozen_gains(module)
        return out

    def check(self, module: nn.Module, saw_softmax: bool) -> None:
        if self.is_proven and not saw_softmax:
            return  # a layer that had nothing to attend to this time
        raise RuntimeError(
            f"{self.name or 'the model'} ({type(module).__name__}) was switched to {self.formulation.name!r} and its "
            f"forward did not compute it: {why_not_reached(module, saw_softmax)}, or call quest_attention.attention in "
            "its forward"
        )

    def warn_of_frozen_gains(self, module: nn.Module) -> None:
        frozen = [name for name, gain in gains_of(module) if not gain.requires_grad]
        if not frozen:
            return
        self.has_warned = True
        warnings.warn(
            f"the gains of {self.name or 'the model'} ({', '.join(frozen)}) are frozen and will not be learned: peft "
            "freezes whatever is no adapter; after get_peft_model, set requires_grad_(True) on the parameters whose "
            "names contain 'quest_', and save them beside the adapter",
            stacklevel=3,
        )


@functools.cache
def switched_class(cls: type[nn.Module]) -> type[nn.Module]:
    """A subclass whose forward runs as its SwitchedLayer says. It keeps the name: the model prints as before."""

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        layer = self.__dict__.get("_quest_layer")
        if layer is None:  # undone after the module had been wrapped or had changed its class
            return cls.forward(self, *args, **kwargs)
        return layer.run(self, cls.forward.__get__(self), args, kwargs)

    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (cls,), {"forward": forward, "_is_of_quest": True, **names})


def switch_layer(module: nn.Module, layer: SwitchedLayer) -> Callable[[], None]:
    """Lets the module's forward run as the layer says; returns what takes that back.

    A forward that was set on the module itself, as accelerate does, is wrapped where it is.
    """
    cls = type(module)
    switched = switched_class(cls)
    own = vars(module).get("forward")
    module._quest_layer = layer  # type: ignore[assignment]
    if own is None:
        module.__class__ = switched

    def forward(*args: Any, **kwargs: Any) -> Any:
        assert own is not None
        if vars(module).get("_quest_layer") is None:
            return own(*args, **kwargs)
        return layer.run(module, own, args, kwargs)

    if own is not None:
        module.forward = functools.wraps(own)(forward) if hasattr(own, "__name__") else forward

    def undo() -> None:
        del module._quest_layer
        if vars(module).get("forward") is forward:
            module.forward = own  # type: ignore[assignment]
        if type(module) is switched:  # fully_shard and parametrizations derive a class of their own
            module.__class__ = cls

    return undo


class FirstForward:
    """Hooks of a layer that was switched by a name in its config: its first forward must reach the operator."""

    def __init__(self, name: str, is_switched: Callable[[nn.Module], bool]) -> None:
        self.name = name
        self.is_switched = is_switched
        self.before = 0

    def watch(self, module: nn.Module) -> None:
        module.register_forward_pre_hook(self.begin)
        module.register_forward_hook(self.end)

    def begin(self, module: nn.Module, args: Any) -> None:
        if not torch.compiler.is_compiling():
            self.before = SEEN.calls

    def end(self, module: nn.Module, args: Any, out: Any) -> None:
        if torch.compiler.is_compiling() or not self.is_switched(module):
            return
        if SEEN.calls == self.before:
            given = getattr(module.config, INTERNAL)
            raise RuntimeError(
                f"{self.name} ({type(module).__name__}) has attn_implementation={given!r} "
                f"and its forward did not compute it: {why_not_reached(module, False)}, or use "
                "attn_implementation='eager' for this model"
            )
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for key, hook in list(hooks.items()):
                if getattr(hook, "__self__", None) is self:
                    del hooks[key]


class Watch(TorchFunctionMode):
    """Finds attention that is computed outside the switched layers: calls of torch's functions, and a softmax whose
    result is multiplied by values.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.names = {id(module): name for name, module in model.named_modules()}
        self.at_work: list[nn.Module] = []
        self.found: dict[str, tuple[nn.Module, bool]] = {}  # name: module, and whether it called torch's attention
        self.own = OwnSoftmax()

    def note(self, calls_torch: bool) -> None:
        known = [module for module in self.at_work if id(module) in self.names]
        if known and SEEN.depth == 0:
            self.found.setdefault(self.names[id(known[-1])], (known[-1], calls_torch))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if SEEN.depth > 0:
            return func(*args, **kwargs)
        if func is SDPA or func is MULTI_HEAD:
            self.note(True)
        elif self.own.is_attention(func, args):
            self.note(False)
        out = func(*args, **kwargs)
        self.own.follow(func, args, out)
        return out

    @contextlib.contextmanager
    def active(self) -> Iterator[Watch]:
        enter = register_module_forward_pre_hook(lambda module, args: self.at_work.append(module))
        leave = register_module_forward_hook(lambda module, args, out: self.leave(module), always_call=True)
        try:
            with self:
                yield self
        finally:
            enter.remove()
            leave.remove()

    def leave(self, module: nn.Module) -> None:
        if module in self.at_work:
            del self.at_work[len(self.at_work) - 1 - self.at_work[::-1].index(module) :]


def as_call(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example, (tuple, list)):
        return tuple(example), {}
    if hasattr(example, "keys"):
        return (), {key: example[key] for key in example.keys()}
    return (example,), {}


@contextlib.contextmanager
def in_evaluation(model: nn.Module) -> Iterator[None]:
    """No gradients, no dropout and no running statistics, and the random generators as they were."""
    training = [module for module in model.modules() if module.training]
    try:
        model.eval()
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            yield
    finally:
        for module in training:
            module.training = True


def watch_call(model: nn.Module, example: Any) -> Watch:
    """What one call of the model shows."""
    args, kwargs = as_call(example)
    watch = Watch(model)
    with in_evaluation(model), watch.active():
        model(*args, **kwargs)
    return watch
