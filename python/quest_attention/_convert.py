"""Switches a trained model to QUEST where it costs least: what the norms of its keys did, its queries do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ._factors import Recorder
from ._fold import QueryProjection, find_projection, projection_of_multihead
from ._formulation import FORMULATIONS, Formulation, find_formulation
from ._gains import add_gains, remove_gains
from ._patch import Patch, patch

ROUNDING = 1e-3  # of float32 models, from the inputs to the queries of the last layer


@dataclass
class Conversion:
    """What ``convert`` did. ``undo()`` makes the model compute standard attention again, with what it learnt since.

    ``loss`` is that of the example: ``standard`` before, ``converted`` now, ``switched`` without the factors. Where the
    example gives none, they say by how much the outputs differ from those before, relative to their size.
    """

    patch: Patch
    factors: dict[str, Tensor]  #: by layer, one per head, of its queries
    loss: dict[str, float]
    is_loss: bool
    _projections: dict[str, QueryProjection] = field(repr=False, default_factory=dict)

    def undo(self) -> None:
        for name, projection in self._projections.items():
            projection.multiply(1.0 / self.factors[name])
        self._projections.clear()
        self.patch.undo()

    def __str__(self) -> str:
        everything = torch.cat(list(self.factors.values()))
        head = (
            f"{len(self.factors)} attention layers converted to {self.patch.formulation.name!r}: queries multiplied by "
            f"{everything.min():.3g} to {everything.max():.3g}"
        )
        standard, converted, switched = (self.loss[name] for name in ("standard", "converted", "switched"))
        if self.is_loss:
            change = (
                f"loss on the example: {standard:.4g} with standard attention, "
                f"{converted:.4g} converted ({converted - standard:+.4g}), "
                f"{switched:.4g} switched without the factors ({switched - standard:+.4g})"
            )
        else:
            change = (
                f"outputs on the example differ by {100 * converted:.3g} % from those of standard attention, by "
                f"{100 * switched:.3g} % where switched without the factors; give loss= to see the loss"
            )
        left = [f"  not {name}: {why}" for name, why in self.patch.unchanged.items()]
        return "\n".join([head, change, *left])


def run(model: nn.Module, example: Any) -> Any:
    if isinstance(example, Mapping):
        return model(**example)
    return model(*example) if isinstance(example, (tuple, list)) else model(example)


def first_tensor(output: Any) -> Tensor:
    if isinstance(output, Tensor):
        return output
    parts = output.values() if isinstance(output, Mapping) else output
    return next(first_tensor(part) for part in parts if part is not None)


def given_loss(output: Any) -> Tensor | None:
    loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
    return loss if isinstance(loss, Tensor) and loss.numel() == 1 else None


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


class Judge:
    """The loss of the example, or where there is none the distance of its outputs from the first that are seen."""

    def __init__(self, model: nn.Module, example: Any, loss: Callable[[Any], Tensor] | None) -> None:
        self.model, self.example, self.loss = model, example, loss or given_loss
        self.first: Tensor | None = None
        self.is_loss = True

    def __call__(self) -> float:
        output = run(self.model, self.example)
        loss = self.loss(output)
        self.is_loss = loss is not None
        if loss is not None:
            return float(loss)
        values = first_tensor(output).float()
        if self.first is None:
            self.first = values
        return float((values - self.first).norm() / self.first.norm())


def tolerance_of(query: Tensor) -> float:
    return max(ROUNDING, 8 * torch.finfo(query.dtype).eps)


def projections_of(layers: dict[str, nn.Module], seen: Recorder) -> dict[str, QueryProjection]:
    found = {}
    for name, layer in layers.items():
        if name not in seen.queries:
            raise ValueError(
                f"{name or 'the model'} ({type(layer).__name__}) computed no attention on the example; give an example "
                "that reaches every attention layer"
            )
        queries = seen.queries[name]
        if isinstance(layer, nn.MultiheadAttention):
            found[name] = projection_of_multihead(layer)
            continue
        projection = find_projection(queries, seen.outputs[name], tolerance_of(queries))
        if projection is None:
            raise ValueError(
                f"{name or 'the model'} ({type(layer).__name__}) has no linear layer or norm whose outputs are its "
                "queries, head by head: something else stands between, or the example has fewer than four tokens; "
                "switch it with quest_attention.patch and train it on"
            )
        found[name] = projection
    return found


def check_folded(expected: Recorder, folded: Recorder, factors: dict[str, Tensor]) -> None:
    """The queries behind the projections are the factors times what they were behind a gain of those factors."""
    for name, layer in expected.layers.items():
        before, after = expected.queries[name], folded.queries[name]
        wanted = before.float() * factors[name].to(before.device)[:, None, None]
        difference = (after.float() - wanted).abs().amax()
        if not difference <= 10 * tolerance_of(before) * wanted.abs().amax():
            raise ValueError(
                f"{name or 'the model'} ({type(layer).__name__}) does not make its queries as its "
                "projection's weights say: they are computed anew, shared with another layer or wrapped; merge what "
                "wraps them, or switch the model with quest_attention.patch and train it on"
            )


@contextmanager
def gains(layers: dict[str, nn.Module], factors: dict[str, Tensor], dims: dict[str, int]) -> Iterator[None]:
    """The factors as gains of the layers, whose projections stay."""
    rule = FORMULATIONS["qknorm"]
    with ExitStack() as stack:
        for name, layer in layers.items():
            add_gains(layer, rule, len(factors[name]), dims[name])
            stack.callback(remove_gains, layer)
            layer.quest_query_gain.copy_(factors[name].unsqueeze(1).expand(-1, dims[name]))  # type: ignore[operator]
        yield


def check_convertible(formulation: Formulation) -> None:
    if (
        not formulation.normalize_k
        or formulation.normalize_q
        or formulation.divide_by_sqrt_dim
        or formulation.needs_gain
    ):
        raise ValueError(
            f"convert folds the norms of the keys into the queries, which {formulation.name!r} does not want: keys "
            f"alone normalised, no scale, no gain; switch with patch(model, {formulation.name!r}) instead"
        )


def convert(
    model: nn.Module,
    example: Any,
    formulation: str | Formulation = "quest",
    *,
    loss: Callable[[Any], Tensor] | None = None,
) -> Conversion:
    """Switch a model that was trained with standard attention, so that it goes on as nearly as it can.

    Standard logits are q·k/sqrt(D), QUEST's q·k/|k|: where all keys of a head have the same norm, queries multiplied by
    that norm over sqrt(D) make them the same. ``convert`` patches the model and multiplies each head of the query
    projections by its mean key norm over sqrt(D), times that power of 2 between -1.5 and 1.5, in steps of 1/8, which
    changes the head's outputs on the example least. No parameter is added. What remains is the spread of the norms
    within a head, which training has to make up for: the result, which is printed too, says what it costs.

    Args:
        model: with parameters that were trained with standard attention; convert before you make the optimiser.
        example: what the model is called with: a tensor, a tuple of arguments, or a mapping of keyword arguments. The
            more of the data it shows, the better: a batch of the training, with labels where the model takes them.
        formulation: ``quest``, or one of your own that normalises keys alone.
        loss: of the model's output; without it ``output.loss`` where there is one.
    """
    chosen = find_formulation(formulation)
    check_convertible(chosen)
    judge = Judge(model, example, loss)
    with evaluating(model):
        with patch(model, "standard") as report:
            layers = {name: model.get_submodule(name) for name in report.changed}
            seen = Recorder(layers)
            with seen.recording(is_fitting=True):
                losses = {"standard": judge()}
        projections = projections_of(layers, seen)
        dims = {name: projection.dim for name, projection in projections.items()}
        factors = {name: seen.factors(name, found.is_shared) for name, found in projections.items()}
        switched = patch(model, chosen)
        kept = {parameter: parameter.detach().clone() for p in projections.values() for parameter in p.parameters()}
        try:
            losses["switched"] = judge()
            expected, folded = Recorder(layers), Recorder(layers)
            with gains(layers, factors, dims), expected.recording():
                judge()
            for name, projection in projections.items():
                projection.multiply(factors[name])
            with folded.recording():
                losses["converted"] = judge()
            check_folded(expected, folded, factors)
        except BaseException:
            with torch.no_grad():
                for parameter, values in kept.items():
                    parameter.copy_(values)
            switched.undo()
            raise
    result = Conversion(switched, factors, losses, judge.is_loss, projections)
    print(result)
    return result
