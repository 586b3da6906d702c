"""Watches the attention of a model while it trains."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from ._attention import observers
from ._call import Call
from ._formulation import FORMULATIONS
from ._layers import attention_layers, why_not
from ._paths import statistics_of
from ._rules import RULES, ExplosionDetector
from ._summary import FIELDS, summarize
from ._switch import Switch, switch_is_active

if TYPE_CHECKING:
    import pandas


class ExplosionWarning(UserWarning):
    """The largest logit of a head keeps growing: training is about to diverge.

    Lower the learning rate, or bound the logits with ``quest_attention.patch(model, "quest")``.
    """


class Record(NamedTuple):
    step: int
    layer: str
    values: Tensor  # [heads, fields], on the device of the model


class Monitor:
    """What ``monitor`` collected. A step is one call of the model in training mode."""

    def __init__(self, every: int, every_sequence: int, detector: ExplosionDetector | None) -> None:
        self.every = every
        self.every_sequence = every_sequence
        self.step = -1
        self.is_sampling = False
        self.records: list[Record] = []
        self._layers: list[str] = []
        self._ran: dict[str, nn.Module] = {}
        self._own_switch = ExitStack()
        self._detector = detector
        self._not_finite: set[str] = set()

    def observe(self, call: Call, lse: Tensor | None) -> None:
        if not self.is_sampling or call.q.numel() == 0 or call.k.numel() == 0:
            return
        part = call.every_nth_sequence(self.every_sequence)
        stats = statistics_of(part, None if lse is None else lse[..., :: self.every_sequence, :, :])
        with torch.no_grad():
            self.records.append(Record(self.step, self._layers[-1], summarize(part, stats)))

    def check(self, detector: ExplosionDetector) -> None:
        """Warns of the logits of this step that have grown too much, and of a layer's first that are not finite."""
        first = len(self.records)
        while first > 0 and self.records[first - 1].step == self.step:
            first -= 1
        for step, layer, values in self.records[first:]:
            logits, _, key_norms, entropies, _ = values.t().tolist()
            messages = detector.add(step, layer, logits, key_norms)
            # NaN is never the largest, but the entropy has it. Minus infinity alone: no query of the head sees a key.
            broken = [head for head, logit in enumerate(logits) if logit == math.inf or math.isnan(entropies[head])]
            if broken and layer not in self._not_finite:
                self._not_finite.add(layer)
                head = broken[0]
                messages.append(
                    f"layer {layer} head {head}: logits are not finite at step {step}, key norm {key_norms[head]:.1f}"
                )
            for message in messages:
                warnings.warn(message, ExplosionWarning, stacklevel=2)

    def unrecorded(self) -> dict[str, str]:
        """The attention layers that ran at a step that was looked at and left no record, with the reason."""
        recorded = {record.layer for record in self.records}
        return {
            name: why_not(module) or f"{type(module).__name__} did not call torch's attention or quest_attention's"
            for name, module in self._ran.items()
            if not any(layer == name or layer.startswith(f"{name}.") for layer in recorded)
        }

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """step, layer, head and the five figures, one tuple per head."""
        for step, layer, values in self.records:
            for head, figures in enumerate(values.tolist()):
                yield (step, layer, head, *figures)

    def to_frame(self) -> pandas.DataFrame:
        """A data frame with columns step, layer, head, max_logit, q_norm, k_norm, entropy, sink."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_frame needs pandas; install it with: pip install pandas") from error
        return pandas.DataFrame(list(self.rows()), columns=["step", "layer", "head", *FIELDS])

    def plot(self, field: str = "max_logit", path: str | None = None) -> Any:
        """One line per layer: the field's largest value over the heads (for entropy the smallest), by step.

        Returns the matplotlib figure, and saves it where ``path`` is given.
        """
        if field not in FIELDS:
            raise ValueError(f"field must be one of {', '.join(FIELDS)}, got {field!r}")
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError("plot needs matplotlib; install it with: pip install matplotlib") from error
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.add_subplot(xlabel="step", ylabel=field)
        index = FIELDS.index(field)
        lines: dict[str, tuple[list[int], list[float]]] = {}
        for step, layer, values in self.records:
            steps, heights = lines.setdefault(layer, ([], []))
            steps.append(step)
            heights.append((values[:, index].min() if field == "entropy" else values[:, index].max()).item())
        for layer, (steps, heights) in lines.items():
            axes.plot(steps, heights, label=layer)
        if lines:
            axes.legend(fontsize="small")
        if path is not None:
            figure.savefig(path)
        return figure

    def to_tensorboard(self, log_dir: str) -> None:
        """Writes ``attention/<field>/<layer>/head<i>`` scalars for TensorBoard."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ImportError("to_tensorboard needs tensorboard; install it with: pip install tensorboard") from error
        with SummaryWriter(log_dir) as writer:
            for step, layer, head, *figures in self.rows():
                for name, value in zip(FIELDS, figures):
                    writer.add_scalar(f"attention/{name}/{layer}/head{head}", value, step)


def follow(model: nn.Module, watch: Monitor) -> list[Any]:
    """Hooks that tell the monitor which layer is at work, and when a step begins and ends."""

    def enter(name: str, is_attention: bool) -> Callable[..., None]:
        def begin_layer(module: nn.Module, args: Any) -> None:
            watch._layers.append(name)
            if is_attention and watch.is_sampling:
                watch._ran[name] = module

        return begin_layer

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        watch._layers.pop()

    def begin(module: nn.Module, args: Any) -> None:
        watch.step += module.training
        watch.is_sampling = module.training and watch.step % watch.every == 0
        if watch.is_sampling and not switch_is_active():
            watch._own_switch.enter_context(Switch(FORMULATIONS["standard"]))

    def end(module: nn.Module, args: Any, output: Any) -> None:
        watch._own_switch.close()
        if watch.is_sampling and watch._detector is not None:
            watch.check(watch._detector)
        # Layers may run outside the model's own call, too: checkpointing computes them again in the backward.
        watch.is_sampling = False

    handles = [model.register_forward_pre_hook(begin), model.register_forward_hook(end, always_call=True)]
    attention = set(attention_layers(model))
    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(enter(name or type(model).__name__, module in attention)))
        handles.append(module.register_forward_hook(leave, always_call=True))
    return handles


def warn_of_unrecorded(model: nn.Module, watch: Monitor) -> None:
    unrecorded = watch.unrecorded()
    if unrecorded:
        names = "".join(f"\n  {name}: {reason}" for name, reason in unrecorded.items())
        warnings.warn(f"monitor recorded nothing of {len(unrecorded)} attention layers that ran:{names}", stacklevel=4)
    elif watch.step >= 0 and not watch.records:
        warnings.warn(
            f"monitor recorded nothing: {type(model).__name__} made no call of torch's attention or quest_attention's "
            "at the steps that were looked at",
            stacklevel=4,
        )


@contextmanager
def monitor(
    model: nn.Module,
    *,
    every: int = 1,
    every_sequence: int = 4,
    warn: bool = True,
    least_logit: float = RULES["explosion"]["least_logit"],
    factor: float = RULES["explosion"]["factor"],
    within_steps: int = RULES["explosion"]["within_steps"],
) -> Iterator[Monitor]:
    """Collect, per step, layer and head: the largest logit, |q| and |k| of the pair behind it, entropy and sink score.

    Layers that call torch's attention functions, in whatever way they were switched, are watched. A layer that was not
    switched is computed by this package's ``standard`` meanwhile, which is the same function; where such layers are
    checkpointed, ``patch(model, "standard")`` first. Under ``torch.compile`` it costs a graph break, so not with
    ``fullgraph=True``. When the block ends, a warning names the attention layers that ran and left no record; so does
    the result's ``unrecorded()``.

    Args:
        model: the model whose calls in training mode are the steps.
        every: look at every n-th step.
        every_sequence: look at every n-th sequence of a batch; 1 looks at all and costs more.
        warn: give an :class:`ExplosionWarning` when the largest logit of a head has grown ``factor`` times within
            ``within_steps`` steps and is at least ``least_logit``, two looks in a row, or when it is not finite. A head
            is reported again when its logit has grown as much once more. On a GPU this waits for the device.
        least_logit: smaller logits are never reported: many double early in a healthy training.
        factor: by how much the logit has grown.
        within_steps: in how many steps; where they hold fewer than four looks, in four looks.
    """
    if every < 1 or every_sequence < 1:
        raise ValueError(f"every and every_sequence must be at least 1, got {every} and {every_sequence}")
    if not factor > 1 or within_steps < 1:
        raise ValueError(
            f"factor must be more than 1 and within_steps at least 1, got {factor} and {within_steps}; "
            "warn=False gives no warnings at all"
        )
    watch = Monitor(every, every_sequence, ExplosionDetector(least_logit, factor, within_steps) if warn else None)
    with ExitStack() as stack:
        for handle in follow(model, watch):
            stack.callback(handle.remove)
        observers.append(watch.observe)
        stack.callback(observers.remove, watch.observe)
        yield watch
    warn_of_unrecorded(model, watch)
