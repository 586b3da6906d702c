"""What patch, attn_implementation="quest" and use make of one model class of transformers."""

from __future__ import annotations

import copy
import math
import re
import warnings
from typing import Any, NamedTuple

import quest_attention
import torch
import torch.nn.functional as F
import transformers
from hf_inputs import inputs
from hf_zoo import SIZES, TooLarge, build, classes_of
from quest_attention._proof import Watch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

TOLERANCE = 1e-5  # of the standard formulation against the model's own attention
FORMULA_TOLERANCE = 1e-3  # of QUEST by the kernels against QUEST written out, through all layers of a model

#: quest: every layer that ran computes it. partly: those that do not are named. refused: an error says why.
KINDS = ("quest", "partly", "refused", "no attention", "not tried", "wrong")

#: Why a class was not tried.
REASONS = {
    "package": "need a package that the tests do not install, such as timm or scipy",
    "size": "are too large even with a small config",
    "config": "cannot be built from their default config made small",
    "input": "take no input known here; about two thirds are parts that the rest of their model feeds",
    "reach": "take an input that reaches none of their attention layers",
}


class Outcome(NamedTuple):
    cls: str
    family: str
    kind: str
    detail: str = ""
    layers: int = 0  # seen to compute QUEST
    by_name: str = ""  # what attn_implementation="quest" does: quest, refused or wrong
    reason: str = ""  # of REASONS


class Tried(NamedTuple):
    """A small model of a class, an input that it takes, and what it makes of it."""

    cls: type
    sizes: dict[str, int]
    model: Any
    given: dict[str, Any]
    own: list[Tensor]
    watch: Watch


class Oracle(TorchFunctionMode):
    """QUEST written out in place of torch's attention function."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = self.others = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.others += func is F.multi_head_attention_forward
        if func is not F.scaled_dot_product_attention:
            return func(*args, **(kwargs or {}))
        self.calls += 1
        return self.quest(*args, **(kwargs or {}))

    @staticmethod
    def quest(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False) -> Tensor:
        if enable_gqa:
            k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
        factor = 1.0 if scale is None else scale * math.sqrt(q.shape[-1])
        logits = factor * q @ (k / k.norm(dim=-1, keepdim=True).clamp(min=1e-30)).transpose(-1, -2)
        if is_causal:
            attn_mask = torch.ones(logits.shape[-2:], dtype=torch.bool).tril()
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            logits = logits.masked_fill(~attn_mask, -math.inf)
        elif attn_mask is not None:
            logits = logits + attn_mask
        return logits.softmax(-1).nan_to_num() @ v


def run(model: Any, given: dict[str, Any]) -> list[Tensor]:
    """The floating-point tensors of the output, without what stands at padded places."""
    torch.manual_seed(5)
    with torch.no_grad():
        out = model(**given)
    if hasattr(out, "items"):  # without the maps that some models give unasked where they compute them anyway
        out = {k: v for k, v in out.items() if k != "past_key_values" and not k.endswith("attentions")}
    mask = given.get("attention_mask")
    tensors = [x for x in tree_leaves(out) if isinstance(x, Tensor) and x.is_floating_point() and x.numel()]
    if not tensors:
        raise ValueError("its output has no floating-point tensor")
    if mask is not None:
        tensors = [x[mask.bool()] if x.shape[: mask.dim()] == mask.shape else x for x in tensors]
    return [x.nan_to_num(posinf=0.0, neginf=0.0) for x in tensors]


def distance(ours: list[Tensor], theirs: list[Tensor]) -> float:
    """The largest difference, of each tensor's largest number."""
    if [x.shape for x in ours] != [x.shape for x in theirs]:
        return math.inf
    pairs = zip(ours, theirs)
    return max((float((a - b).abs().max() / b.abs().max().clamp(min=1e-12)) for a, b in pairs), default=0.0)


def in_double(given: dict[str, Any]) -> dict[str, Any]:
    return {k: v.double() if isinstance(v, Tensor) and v.is_floating_point() else v for k, v in given.items()}


def standard_error(model: Any, given: dict[str, Any], own: list[Tensor]) -> float:
    """How far the model with patch(model, "standard") is from itself. Where the choice of experts or keys by rank flips
    in float32, float64 decides.
    """
    with quest_attention.patch(model, "standard"):
        error = distance(run(model, given), own)
    if error <= TOLERANCE:
        return error
    try:
        double = copy.deepcopy(model).double()
        expected = run(double, in_double(given))
        with quest_attention.patch(double, "standard"):
            return min(error, distance(run(double, in_double(given)), expected))
    except Exception:  # code that mixes the types
        return error


def generation_error(model: Any) -> float:
    """The logits of generate() with a cache after a padded prompt."""
    ids = torch.randint(3, 90, (2, 7), generator=torch.Generator().manual_seed(3))
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    options = dict(max_new_tokens=4, do_sample=False, output_logits=True, return_dict_in_generate=True)
    options |= dict(pad_token_id=0, eos_token_id=None, attention_mask=mask)
    with torch.no_grad():
        own = model.generate(ids, **options).logits
        with quest_attention.patch(model, "standard"):
            ours = model.generate(ids, **options).logits
    return distance(list(ours), list(own))


def by_name(tried: Tried, patched: list[Tensor]) -> str:
    """What the model does when it is built with attn_implementation="quest"."""
    try:
        named = build(tried.cls, tried.sizes, attn_implementation="quest")
        named.load_state_dict(tried.model.state_dict())
        out = run(named, tried.given)
    except Exception as error:
        if "attn_implementation='quest'" in str(error):
            return "refused"
        return f"wrong: by name {type(error).__name__}: {message(error)}"
    error = distance(out, patched)
    return "quest" if error <= FORMULA_TOLERANCE else f"wrong: by name off by {error:.2g}"


def fault_of_use(model: Any, given: dict[str, Any], patched: list[Tensor]) -> str | None:
    """use("quest") does the same as patch, or it warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with quest_attention.use("quest"):
            out = run(model, given)
    said = any("use('quest') did not reach all" in str(one.message) for one in caught)
    error = distance(out, patched)
    return None if said or error <= FORMULA_TOLERANCE else f"use() off by {error:.2g} without a warning"


def fault_of_generation(cls: type, model: Any, given: dict[str, Any]) -> str | None:
    if not cls.__name__.endswith("ForCausalLM") or "input_ids" not in given:
        return None
    try:
        error = generation_error(model)
    except Exception as refusal:
        return f"generate(): {message(refusal)}" if "quest" in str(refusal) else None
    return f"generate() off by {error:.2g}" if error > 10 * TOLERANCE else None


def message(error: BaseException) -> str:
    return re.sub(r"\s+", " ", str(error))[:300]


def refused(tried: Tried, refusal: Exception) -> dict:
    said, named = str(refusal), by_name(tried, tried.own)
    if said.endswith("attention interface") and not tried.watch.found:
        return dict(kind="no attention", by_name=named)
    ways = ("attention interface\n  ", "attn_implementation='standard'", "was switched to")
    clear = any(part in said for part in ways)
    if clear and named == "refused" or "attn_implementation='standard'" in said:
        return dict(kind="refused", detail=message(refusal), by_name="refused")
    return dict(kind="wrong", detail=f"{type(refusal).__name__}: {message(refusal)}; by name: {named}", by_name=named)


def switched(tried: Tried) -> dict:
    model, given = tried.model, tried.given
    with warnings.catch_warnings(record=True), quest_attention.patch(model, "quest") as report:
        warnings.simplefilter("always")
        quest = run(model, given)
        layers = len(report.proven)
    if not layers and not report.unchanged:
        return dict(kind="not tried", detail="the input reaches none of its attention layers", reason="reach")
    with Oracle() as oracle:
        expected = run(model, given)
    faults: list[str | None] = []
    error = distance(quest, expected)
    if oracle.calls and not oracle.others and not report.unchanged and error > FORMULA_TOLERANCE:
        faults.append(f"QUEST is off by {error:.2g} from the formula")
    if distance(run(model, given), tried.own) > 0.1 * TOLERANCE:
        faults.append("undo() does not restore it")
    named = by_name(tried, quest)
    faults += [named if named.startswith("wrong") else None, fault_of_use(model, given, quest)]
    faults.append(fault_of_generation(tried.cls, model, given))
    known = [fault for fault in faults if fault is not None]
    if known:
        return dict(kind="wrong", detail="; ".join(known), layers=layers, by_name=named)
    detail = "; ".join(f"{name}: {why}" for name, why in list(report.unchanged.items())[:1])
    return dict(kind="partly" if report.unchanged else "quest", detail=detail, layers=layers, by_name=named)


def first_run(model: Any) -> tuple[dict[str, Any], list[Tensor], Watch]:
    """The first of the known inputs that the model takes, what it makes of it, and the attention seen in it."""
    first: Exception | None = None
    for given in inputs(model):
        try:
            watch = Watch(model)
            with watch.active():
                own = run(model, given)
            if distance(run(model, given), own) > 0.1 * TOLERANCE:
                raise ValueError("its output changes from call to call")
            return given, own, watch
        except Exception as error:
            first = first or error
    assert first is not None
    raise first


def not_tried(cls: type, family: str, error: Exception, was_built: bool) -> Outcome:
    reason = "input" if was_built else "config"
    if isinstance(error, ImportError):
        reason = "package"
    if isinstance(error, TooLarge):
        reason = "size"
    return Outcome(cls.__name__, family, "not tried", f"{type(error).__name__}: {message(error)}", reason=reason)


def first_that_runs(cls: type, family: str) -> Tried | Outcome:
    """The smallest model of a class that takes a known input, or why there is none."""
    failed: Outcome | None = None
    for sizes in SIZES:
        model = None
        try:
            model = build(cls, sizes)
            return Tried(cls, sizes, model, *first_run(model))
        except Exception as error:
            outcome = not_tried(cls, family, error, model is not None)
            if failed is None or failed.reason == "config" and outcome.reason == "input":
                failed = outcome
            if failed.reason == "package":
                break
    assert failed is not None
    return failed


def check(cls: type, family: str) -> Outcome:
    tried = first_that_runs(cls, family)
    if isinstance(tried, Outcome):
        return tried
    try:
        error = standard_error(tried.model, tried.given, tried.own)
    except Exception as refusal:
        return Outcome(cls.__name__, family, **refused(tried, refusal))
    if error > TOLERANCE:
        return Outcome(cls.__name__, family, "wrong", f"standard is off by {error:.2g}")
    return Outcome(cls.__name__, family, **switched(tried))


def sweep(families: list[str]) -> list[Outcome]:
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    quest_attention.register_hf()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [check(cls, family) for family in families for cls in classes_of(family)]
