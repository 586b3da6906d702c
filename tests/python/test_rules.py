"""The tables of cases that the C++ library is tested with, too: formulations, gains, paths, growing logits."""

import json
import math
import pickle
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest
import quest_attention
import torch
from quest_attention import FORMULATIONS, _library, _paths
from quest_attention._call import CAUSAL_LOWER_RIGHT, CAUSAL_NONE, Call
from quest_attention._gains import add_gains, gain_of
from quest_attention._rules import RULES, ExplosionDetector
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad


def table(name):
    return json.loads((Path(__file__).parents[1] / "rules" / name).read_text())


EXPLOSIONS, CALLS, GAINS = table("explosions.json"), table("calls.json"), table("formulations.json")
SWITCHES = ("name", "normalize_q", "normalize_k", "divide_by_sqrt_dim", "gain_axes", "gain_is_learned")


def test_formulations():
    rows = GAINS["formulations"]
    assert list(FORMULATIONS) == [row["name"] for row in rows]
    for row in rows:
        formulation = FORMULATIONS[row["name"]]
        assert {name: getattr(formulation, name) for name in SWITCHES} == {name: row[name] for name in SWITCHES}
        assert formulation.default_scale(GAINS["dim"]) == row["scale"]


LEARNED = [row for row in GAINS["formulations"] if "parameters" in row]


@pytest.mark.parametrize("row", LEARNED, ids=lambda row: row["name"])
def test_learned_gains(row):
    module = nn.Module()
    add_gains(module, FORMULATIONS[row["name"]], GAINS["heads"], GAINS["dim"])
    parameters = dict(module.named_parameters())
    assert parameters.keys() == row["parameters"].keys()
    for name, expected in row["parameters"].items():
        assert list(parameters[name].shape) == expected["shape"]
        assert torch.equal(parameters[name], torch.full_like(parameters[name], expected["start"]))
        nn.init.constant_(parameters[name], 7.0)
    gain = gain_of(module)
    torch.testing.assert_close(gain, torch.full_like(gain, row["gain_where_parameters_are_7"]))


@pytest.mark.parametrize("case", table("gain_shapes.json")["cases"], ids=json.dumps)
def test_gain_shapes(case):
    torch.manual_seed(1)
    x = torch.randn(1, case["heads"], 6, case["dim"])
    shape = case["shape"]
    gain = None if shape is None else torch.arange(1.0, 1.0 + math.prod(shape)).reshape(shape)
    if case["as"] is None:
        with pytest.raises(ValueError, match="gain"):
            quest_attention.attention(x, x, x, formulation=case["formulation"], gain=gain)
        return
    out, expected = (
        quest_attention.attention(x, x, x, formulation=case["formulation"], gain=one)
        for one in (gain, gain.reshape(case["as"]))
    )
    assert torch.equal(out, expected)


def warnings_of(case):
    defaults = {name: RULES["explosion"][name] for name in ("least_logit", "factor", "within_steps")}
    detector = ExplosionDetector(**{**defaults, **case.get("options", {})})
    found = []
    for index, logits in enumerate(zip(*case["max_logit"]), 1):
        logits = [float(logit) for logit in logits]
        norms = [EXPLOSIONS["key_norm_per_logit"] * logit for logit in logits]
        step = index * case["every"]
        found += [{"step": step, "text": text} for text in detector.add(step, EXPLOSIONS["layer"], logits, norms)]
    return found


@pytest.mark.parametrize("case", EXPLOSIONS["cases"], ids=lambda case: case["name"])
def test_explosions(case):
    assert warnings_of(case) == case["warnings"]


def test_a_copied_detector_begins_anew():
    detector = ExplosionDetector(25.0, 2.0, 200)
    for step, logit in enumerate([10.0, 10.0, 10.0, 10.0, 60.0]):
        detector.add(step, "0", [logit], [1.0])
    copy = pickle.loads(pickle.dumps(detector))
    assert copy.add(5, "0", [60.0], [1.0]) == [] != detector.add(5, "0", [60.0], [1.0])


class OfAnotherDevice(torch.Tensor):
    """Claims to be on a device that this process may not have."""

    device = torch.device("xpu")


def call_of(facts):
    """The call that a row of the table describes, without data."""
    dtype = getattr(torch, facts["type"])
    device = "meta" if facts["device"] == "other" else facts["device"]
    queries, keys = facts["queries"], facts["keys"]

    def tensor(*shape, dtype=dtype):
        made = torch.empty(shape, dtype=dtype, device=device)
        return made.as_subclass(OfAnotherDevice) if facts["device"] == "other" else made

    offsets = tensor(2, dtype=torch.int64) if facts["is_packed"] else None
    return Call(
        tensor(1, 2, queries, facts["dim"]),
        tensor(1, 2, keys, facts["dim"]),
        tensor(1, 2, keys, facts["value_dim"]),
        gain=None,
        mask=tensor(queries, keys) if facts["has_mask"] else None,
        key_lengths=tensor(1, dtype=torch.int64) if facts["has_key_lengths"] else None,
        cu_seqlens_q=offsets,
        cu_seqlens_k=offsets,
        dropout_seed=None,
        normalize_q=False,
        normalize_k=True,
        scale=1.0,
        causal=CAUSAL_LOWER_RIGHT if facts["is_causal_to_last"] else CAUSAL_NONE,
        dropout_p=0.0,
    )


def answers(facts):
    with ExitStack() as stack:
        stack.enter_context(FakeTensorMode() if facts["device"] == "cuda" else nullcontext())
        call = call_of(facts)
        if facts["has_forward_gradient"]:
            stack.enter_context(forward_ad.dual_level())
            call = call._replace(k=forward_ad.make_dual(call.k, torch.zeros_like(call.k)))
        if not facts["transform_is_active"]:
            return _paths.takes_float32(call), _paths.obstacle_to_fusing(call)
        found = []

        def within_a_transform(row):
            found.append((_paths.takes_float32(call), _paths.obstacle_to_fusing(call)))
            return row

        torch.func.vmap(within_a_transform)(torch.zeros(3))
        return found[0]


@pytest.mark.parametrize("case", CALLS["cases"], ids=lambda case: json.dumps(case["call"]))
def test_calls(case, monkeypatch):
    facts = {**CALLS["unless_told"], **case["call"]}
    for module in (_paths, _library):
        monkeypatch.setattr(module, "HAS_CUDA_LIBRARY", facts["has_cuda_operators"])
    assert answers(facts) == (case["takes_float32"], case["obstacle"])


def test_every_obstacle_is_looked_for():
    assert _paths.OBSTACLES.keys() == _paths.STANDS_BEFORE.keys()


def test_a_level_of_forward_mode_without_a_tangent_is_no_obstacle():
    q = torch.randn(1, 1, 3, 4)
    with forward_ad.dual_level():
        out = quest_attention.attention(q, q, q, path="fused")
    assert torch.equal(out, quest_attention.attention(q, q, q))
