"""By what to multiply the queries of each head when its keys are normalised, from calls of attention on an example."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ._attention import observers
from ._call import Call
from ._fold import outputs_dimension
from ._paths import run, statistics_of

CORRECTIONS = [2.0 ** (step / 8) for step in range(-12, 13)]  # of the mean key norm, 1 among them


def mean_key_norms(call: Call, lse: Tensor | None) -> Tensor:
    """Per head, over the keys that any query sees, over sqrt(dim); 1 where there are none."""
    stats = statistics_of(call, lse)
    norms = stats.k_norm.repeat_interleave(call.q.shape[1] // call.k.shape[1], 1)
    is_seen = stats.key_mass > 0
    mean = (is_seen * norms).sum((0, 2)) / is_seen.sum((0, 2)) / call.q.shape[3] ** 0.5
    return torch.where(mean > 0, mean, 1.0)


def output_changes(call: Call, means: Tensor) -> Tensor:
    """[corrections, heads]: by how much outputs change, squared, where keys are normalised and queries multiplied."""
    scale = call.scale * call.q.shape[3] ** 0.5
    wanted = run(call, "automatic")[0].float()
    changes = []
    for correction in CORRECTIONS:
        gain = (correction * means).unsqueeze(1)
        out = run(call._replace(normalize_k=True, scale=scale, gain=gain), "automatic")[0]
        changes.append((out.float() - wanted).square().sum((0, 2, 3)))
    return torch.stack(changes)


class Recorder:
    """Follows the calls of attention in the layers of a model."""

    def __init__(self, layers: dict[str, nn.Module]) -> None:
        self.layers = layers
        self.queries: dict[str, Tensor] = {}  # of each layer's first call
        self.outputs: dict[str, dict[nn.Module, Tensor]] = {name: {} for name in layers}
        self.fits: dict[str, tuple[Tensor, Tensor]] = {}  # mean norms; changes by correction and head
        self._is_fitting = False
        self._at_work: list[str] = []

    def observe(self, call: Call, lse: Tensor | None) -> None:
        if not self._at_work:
            return
        name = self._at_work[-1]
        self.queries.setdefault(name, call.q)
        if self._is_fitting:
            means, changes = self.fits[name] if name in self.fits else (mean_key_norms(call, lse), 0.0)
            self.fits[name] = (means, changes + output_changes(call, means))

    def factors(self, layer: str, is_shared: bool) -> Tensor:
        means, changes = self.fits[layer]
        if is_shared:
            means, changes = means.mean().expand_as(means), changes.sum(1, keepdim=True)
        return means * torch.tensor(CORRECTIONS, device=means.device)[changes.argmin(0)]

    def keep_output(self, name: str) -> Callable[..., None]:
        def keep(module: nn.Module, args: Any, output: Any) -> None:
            self.outputs[name].setdefault(module, output)

        return keep

    def enter(self, name: str) -> Callable[..., None]:
        return lambda module, args: self._at_work.append(name)

    def leave(self, module: nn.Module, args: Any, output: Any) -> None:
        self._at_work.pop()

    @contextmanager
    def recording(self, is_fitting: bool = False) -> Iterator[None]:
        self._is_fitting = is_fitting
        with ExitStack() as stack:
            for name, layer in self.layers.items():
                stack.callback(layer.register_forward_pre_hook(self.enter(name)).remove)
                stack.callback(layer.register_forward_hook(self.leave, always_call=True).remove)
                for part in layer.modules() if is_fitting else ():
                    if outputs_dimension(part) is not None:
                        stack.callback(part.register_forward_hook(self.keep_output(name)).remove)
            observers.append(self.observe)
            stack.callback(observers.remove, self.observe)
            yield
