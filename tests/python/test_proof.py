"""A layer that patch reports as switched computes the formulation, or says so at its first forward."""

import copy
import functools
import warnings

import pytest
import quest_attention
import torch
import torch.distributed as dist
import torch.nn.functional as F
from inputs import assert_close, exact
from test_switch import encoder
from torch import nn
from torch.distributed.fsdp import FSDPModule, fully_shard

TOLERANCE = 1e-5


class Block(nn.Module):
    """nanoGPT's attention: two branches, and its own choice between them."""

    def __init__(self, flash, n_head=4, n_embd=32):
        super().__init__()
        self.n_head, self.n_embd, self.flash = n_head, n_embd, flash
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)

    def heads(self, x):
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        return [y.view(*x.shape[:2], self.n_head, -1).transpose(1, 2) for y in (q, k, v)]

    def forward(self, x):
        q, k, v = self.heads(x)
        if self.flash:
            y = F.scaled_dot_product_attention(q, k, v)
        else:
            y = F.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(x.shape))

    def quest(self, x):
        return self.c_proj(exact(*self.heads(x)).float().transpose(1, 2).reshape(x.shape))


class Helped(Block):
    """The call sits in a method of another name."""

    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    def forward(self, x):
        return self.c_proj(self.attend(*self.heads(x)).transpose(1, 2).reshape(x.shape))


class Processor:
    """What diffusers gives its attention modules; no module itself."""

    def __call__(self, owner, x):
        return owner.c_proj(F.scaled_dot_product_attention(*owner.heads(x)).transpose(1, 2).reshape(x.shape))


class Processed(Block):
    def __init__(self):
        super().__init__(flash=True)
        self.processor = Processor()

    def forward(self, x):
        return self.processor(self, x)


KERNELS = {"torch": F.scaled_dot_product_attention}


class Dispatched(Block):
    """Code from which nobody can read what it calls."""

    def forward(self, x):
        return self.c_proj(KERNELS["torch"](*self.heads(x)).transpose(1, 2).reshape(x.shape))


class MHSA(Block):
    def __init__(self):
        super().__init__(flash=False)

    def forward(self, x):
        q, k, v = self.heads(x)
        return self.c_proj(((q @ k.transpose(-2, -1)).softmax(-1) @ v).transpose(1, 2).reshape(x.shape))


class Router(nn.Module):
    """Of experts: a softmax that is no attention."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(32, 4)

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        return x * weights.sum(-1, keepdim=True) + 0.0 * chosen.sum()


@pytest.fixture
def x():
    return torch.randn(2, 7, 32, generator=torch.Generator().manual_seed(0))


def test_a_branch_of_its_own_raises_at_its_first_forward(x):
    model = nn.Sequential(Block(flash=True), Block(flash=False))
    report = quest_attention.patch(model)
    assert list(report.changed) == ["0", "1"] and report.proven == []
    said = r"1 \(Block\) was switched to 'quest' and its forward did not compute it: it computed its softmax itself"
    with pytest.raises(RuntimeError, match=said):
        model(x)
    assert report.proven == ["0"]
    with pytest.raises(RuntimeError, match="1 \\(Block\\) was switched"):
        model(x)
    report.undo()
    model(x)


def test_a_branch_taken_later_raises_too(x):
    model = nn.Sequential(Block(flash=True))
    with quest_attention.patch(model):
        assert_close(model(x), model[0].quest(x), TOLERANCE)
        model[0].flash = False
        with pytest.raises(RuntimeError, match="computed its softmax itself"):
            model(x)


@pytest.mark.parametrize("make", [lambda: Helped(True), Processed])
def test_calls_in_helpers_are_found(make, x):
    model = nn.Sequential(make())
    with quest_attention.patch(model) as report:
        assert list(report.changed) == ["0"] and not report.unchanged
        assert_close(model(x), model[0].quest(x), TOLERANCE)


def test_an_example_finds_what_the_code_does_not_show(x):
    model = nn.Sequential(Block(True), Dispatched(True))
    with quest_attention.patch(model) as report:
        assert list(report.changed) == ["0"]
        with pytest.warns(
            UserWarning, match="attention outside the layers that patch has switched to 'quest': 1: Dispatch"
        ):
            model(x)
        assert "calls torch's attention in a way that its code does not show" in report.unchanged["1"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model(x)
    with quest_attention.patch(model, verify=x) as report:
        assert list(report.changed) == report.proven == ["0", "1"] and not report.unchanged
        assert_close(model(x), model[1].quest(model[0].quest(x)), TOLERANCE)
    assert not any(hasattr(module, "_quest_layer") for module in model.modules())


def test_verify_refuses_what_it_cannot_prove(x):
    model = nn.Sequential(Block(True), nn.ModuleDict({"unused": Block(True)}))
    model.forward = lambda x: model[0](x)
    with pytest.raises(
        ValueError, match=r"did not reach 1 of 2 switched layers: 1.unused; give an example that uses them"
    ):
        quest_attention.patch(model, verify=(x,))
    with pytest.raises(RuntimeError, match=r"the model \(Block\) was switched"):
        quest_attention.patch(Block(False), verify={"x": x})
    assert type(model[0]) is Block and not hasattr(model[0], "_quest_layer")


def test_verify_leaves_model_and_generator_alone(x):
    model = nn.Sequential(Block(True), nn.Dropout(0.5), nn.BatchNorm1d(7))
    before, generator = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    quest_attention.patch(model, verify=x)
    assert all(torch.equal(model.state_dict()[key], value) for key, value in before.items())
    assert torch.equal(torch.get_rng_state(), generator) and all(module.training for module in model.modules())


def test_attention_that_is_not_switched_is_named(x):
    model = nn.ModuleDict({"torch": nn.MultiheadAttention(32, 4), "own": MHSA(), "router": Router()})
    report = quest_attention.patch(model)
    assert list(report.changed) == ["torch"] and list(report.unchanged) == ["own"]
    assert report.unchanged["own"].startswith("MHSA computes its softmax itself")


def accelerated(module):
    """What accelerate's hooks do: the forward becomes an attribute of the module."""
    old = module.forward

    @functools.wraps(old)
    def forward(*args, **kwargs):
        return old(*args, **kwargs)

    module._old_forward, module.forward = old, forward
    return module


@pytest.mark.parametrize("first", ["hooks", "patch"])
def test_a_forward_set_on_the_module(first, x):
    block = Block(True)
    model = nn.Sequential(accelerated(block) if first == "hooks" else block)
    expected = model(x)
    report = quest_attention.patch(model)
    if first == "patch":
        accelerated(block)
    assert_close(model(x), block.quest(x), TOLERANCE)
    report.undo()
    assert torch.equal(model(x), expected)


def test_undo_after_fully_shard(x):
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        model = Block(True)
        expected = model(x)
        report = quest_attention.patch(model)
        fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
        assert model(x).shape == x.shape and report.proven == [""]
        report.undo()
        assert isinstance(model, FSDPModule)
        assert_close(model(x), expected, TOLERANCE)
    finally:
        dist.destroy_process_group()


def test_frozen_gains_are_told_of(x):
    model = nn.Sequential(Block(True))
    quest_attention.patch(model, "qknorm")
    for parameter in model.parameters():  # as peft does with whatever is no adapter
        parameter.requires_grad_(False)
    with pytest.warns(UserWarning, match=r"gains of 0 \(quest_query_gain, quest_key_gain\) are frozen.*peft"):
        model(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(x)


@pytest.mark.parametrize(
    "make", [lambda: Block(False), MHSA, lambda: torch.jit.trace(Block(True).eval(), torch.randn(2, 7, 32)), Router]
)
def test_use_tells_what_it_did_not_reach(make, x):
    model = make()
    with pytest.warns(UserWarning, match=r"use\('quest'\) did not reach all"), quest_attention.use("quest"):
        model(x)


def test_use_is_silent_where_it_reached_all(x):
    model = nn.Sequential(Block(True), Router(), encoder(False))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quest_attention.use("quest"):
            model(x)
    with (
        pytest.warns(UserWarning, match="code in the block computed attention by itself"),
        quest_attention.use("quest"),
    ):
        nn.Sequential(Block(True), MHSA())(x)


def test_compiled_within_use(x):
    torch._dynamo.reset()
    compiled = torch.compile(Block(True), backend="aot_eager", fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for _ in range(3):
            with quest_attention.use("quest"):
                out = compiled(x)
            assert_close(out, compiled._orig_mod.quest(x), TOLERANCE)
