"""Our ViT of DeiT-3 and CrossViT beside implementations of their own in plain PyTorch and float64, with the same
weights: logits, loss and every gradient.

The program in MODEL_STEP reads images, labels and the model's options from a safetensors file and weights from another,
and writes what it computed to a third.
"""

import os
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

# Float32 against float64, as a share of the largest element.
TOLERANCE = 2e-5
FORMULATIONS = ["standard", "quest", "qnorm", "qknorm_hs", "qknorm_ds", "qknorm", "elliptical", "elliptical_quest"]


class Formula(nn.Module):
    """softmax of the logits, times the values: [B, H, N, D] each. `before`: the values of the layer before, or None."""

    def __init__(self, name: str, heads: int, head_dim: int):
        super().__init__()
        self.name = name
        if name == "qknorm_hs":
            self.quest_log_gain = nn.Parameter(torch.randn(heads, 1))
        if name in ("qknorm_ds", "qknorm"):
            rows = 1 if name == "qknorm_ds" else heads
            self.quest_query_gain = nn.Parameter(torch.randn(rows, head_dim))
            self.quest_key_gain = nn.Parameter(torch.randn(rows, head_dim))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, before: Tensor | None) -> Tensor:
        if self.name in ("qnorm", "qknorm_hs", "qknorm_ds", "qknorm"):
            q = F.normalize(q, dim=-1)
        if self.name not in ("standard", "qnorm", "elliptical"):
            k = F.normalize(k, dim=-1)
        if self.name == "qknorm_hs":
            q = q * self.quest_log_gain.exp().unsqueeze(-1)
        if self.name in ("qknorm_ds", "qknorm"):
            q, k = q * self.quest_query_gain.unsqueeze(1), k * self.quest_key_gain.unsqueeze(1)
        if self.name in ("standard", "elliptical"):
            q = q * q.shape[-1] ** -0.5
        if self.name.startswith("elliptical") and before is not None:
            moved = (v - before).abs().mean(2, keepdim=True).detach()
            q = q * moved / moved.amax(-1, keepdim=True)
        return (q @ k.mT).softmax(-1) @ v


def heads_of(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


class SelfAttention(Formula):
    def __init__(self, name: str, dim: int, heads: int):
        super().__init__(name, heads, dim // heads)
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
        q, k, v = (heads_of(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        return self.proj(super().forward(q, k, v, before).transpose(1, 2).flatten(2)), v.detach()


class ClassAttention(Formula):
    def __init__(self, name: str, dim: int, heads: int):
        super().__init__(name, heads, dim // heads)
        self.heads = heads
        self.wq, self.wk, self.wv, self.proj = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x: Tensor, before: Tensor | None) -> Tensor:
        q, k, v = (heads_of(y, self.heads) for y in (self.wq(x[:, :1]), self.wk(x), self.wv(x)))
        return self.proj(super().forward(q, k, v, before).transpose(1, 2).flatten(2))


class Scale(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return self.gamma * x


class Mlp(nn.Module):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, name: str, dim: int, heads: int, hidden: int, scaled: bool = False):
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(dim, eps=1e-6) for _ in range(2))
        self.attn = SelfAttention(name, dim, heads)
        self.mlp = Mlp(dim, hidden)
        self.ls1, self.ls2 = (Scale(dim) if scaled else nn.Identity() for _ in range(2))

    def forward(self, x: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
        attended, values = self.attn(self.norm1(x), before)
        x = x + self.ls1(attended)
        return x + self.ls2(self.mlp(self.norm2(x))), values


class Patches(nn.Module):
    """One convolution, or three with ReLU between them."""

    def __init__(self, channels: int, patch: int, dim: int, three: bool):
        super().__init__()
        self.proj = nn.Conv2d(channels, dim, patch, patch)
        if three:
            rest = {12: [(3, 3, 0), (3, 1, 1)], 16: [(3, 2, 1), (3, 2, 1)]}[patch]
            self.proj = nn.Sequential(
                nn.Conv2d(channels, dim // 4, 7, 4, 3),
                nn.ReLU(),
                nn.Conv2d(dim // 4, dim // 2, *rest[0]),
                nn.ReLU(),
                nn.Conv2d(dim // 2, dim, *rest[1]),
            )

    def forward(self, images: Tensor) -> Tensor:
        return self.proj(images).flatten(2).mT


class DeiT3(nn.Module):
    SIZES = {"model": "vit", "image_size": 30, "channels": 3, "classes": 7}
    KEYS = {"model.patch_size": 7, "model.dim": 24, "model.depth": 3, "model.heads": 3, "model.layer_scale": 0.1,
            "model.class_token_position": "false"}

    def __init__(self, formulation: str):
        super().__init__()
        self.cls_token = nn.Parameter(torch.randn(1, 1, 24))
        self.pos_embed = nn.Parameter(torch.randn(1, 16, 24))
        self.patch_embed = Patches(3, 7, 24, three=False)
        self.blocks = nn.ModuleList(Block(formulation, 24, 3, 96, scaled=True) for _ in range(3))
        self.norm = nn.LayerNorm(24, eps=1e-6)
        self.head = nn.Linear(24, 7)

    def forward(self, images: Tensor) -> Tensor:
        x = self.patch_embed(images) + self.pos_embed
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1)
        values = None
        for block in self.blocks:
            x, values = block(x, values)
        return self.head(self.norm(x)[:, 0])


class Fusion(nn.Module):
    def __init__(self, name: str, dim: int, heads: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = ClassAttention(name, dim, heads)

    def forward(self, x: Tensor, before: Tensor | None) -> Tensor:
        return x[:, :1] + self.attn(self.norm1(x), before)


def projection(start: int, end: int) -> nn.Sequential:
    return nn.Sequential(nn.LayerNorm(start, eps=1e-6), nn.GELU(), nn.Linear(start, end))


class Stage(nn.Module):
    def __init__(self, name: str, dims: list[int], heads: list[int], depths: list[int], ratio: int):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.ModuleList(Block(name, dim, head, ratio * dim) for _ in range(depth))
            for dim, head, depth in zip(dims, heads, depths)
        )
        self.projs = nn.ModuleList([projection(dims[0], dims[1]), projection(dims[1], dims[0])])
        self.fusion = nn.ModuleList([Fusion(name, dims[1], heads[1]), Fusion(name, dims[0], heads[0])])
        self.revert_projs = nn.ModuleList([projection(dims[1], dims[0]), projection(dims[0], dims[1])])

    def forward(self, tokens: list[Tensor], values: list[Tensor | None]) -> list[Tensor]:
        tokens = list(tokens)
        for i, blocks in enumerate(self.blocks):
            for block in blocks:
                tokens[i], values[i] = block(tokens[i], values[i])
        out = []
        for i in range(2):
            sequence = torch.cat([self.projs[i](tokens[i][:, :1]), tokens[1 - i][:, 1:]], 1)
            fused = self.fusion[i](sequence, values[1 - i])
            out.append(torch.cat([self.revert_projs[i](fused), tokens[i][:, 1:]], 1))
        return out


class CrossViT(nn.Module):
    SIZES = {"model": "cross_vit", "image_size": 36, "channels": 3, "classes": 7}
    DIMS, HEADS, DEPTHS = [16, 24], [2, 3], [1, 2]

    def __init__(self, formulation: str, three: bool):
        super().__init__()
        self.KEYS = {"model.coarse_image_size": 32, "model.stages": 2, "model.mlp_ratio": 3,
                     "model.three_convolutions": str(three).lower()}
        for i, branch in enumerate(("fine", "coarse")):
            self.KEYS[f"model.{branch}_dim"] = self.DIMS[i]
            self.KEYS[f"model.{branch}_heads"] = self.HEADS[i]
            self.KEYS[f"model.{branch}_depth"] = self.DEPTHS[i]
        self.cls_token = nn.ParameterList(torch.randn(1, 1, dim) for dim in self.DIMS)
        self.pos_embed = nn.ParameterList(torch.randn(1, n, dim) for n, dim in zip((10, 5), self.DIMS))
        self.patch_embed = nn.ModuleList(Patches(3, p, dim, three) for p, dim in zip((12, 16), self.DIMS))
        self.blocks = nn.ModuleList(Stage(formulation, self.DIMS, self.HEADS, self.DEPTHS, 3) for _ in range(2))
        self.norm = nn.ModuleList(nn.LayerNorm(dim, eps=1e-6) for dim in self.DIMS)
        self.head = nn.ModuleList(nn.Linear(dim, 7) for dim in self.DIMS)

    def forward(self, images: Tensor) -> Tensor:
        seen = [images, F.interpolate(images, (32, 32), mode="bicubic", align_corners=False)]
        tokens = []
        for i in range(2):
            patches = self.patch_embed[i](seen[i])
            tokens.append(torch.cat([self.cls_token[i].expand(len(images), -1, -1), patches], 1) + self.pos_embed[i])
        values = [None, None]
        for stage in self.blocks:
            tokens = stage(tokens, values)
        return sum(self.head[i](self.norm[i](tokens[i])[:, 0]) for i in range(2)) / 2


def expect_equal_step(model: nn.Module, formulation: str, folder: Path) -> None:
    with torch.no_grad():  # away from the starts, where biases are 0 and attention is flat
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    size = model.SIZES["image_size"]
    images, labels = torch.randn(6, 3, size, size), torch.randint(0, 7, (6,))
    save_file({name: p.detach() for name, p in model.named_parameters()}, folder / "weights")
    metadata = {**model.SIZES, **model.KEYS, "model.formulation": formulation}
    save_file({"images": images, "labels": labels}, folder / "batch", {key: str(x) for key, x in metadata.items()})
    subprocess.run([os.environ["MODEL_STEP"], *(folder / name for name in ("batch", "weights", "out"))], check=True)
    actual = load_file(folder / "out")

    model = model.double()
    logits = model(images.double())
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    expected = {"logits": logits.detach(), "loss": loss.detach()}
    expected |= {f"grad.{name}": parameter.grad for name, parameter in model.named_parameters()}
    assert actual.keys() == expected.keys()
    for name, tensor in expected.items():
        assert actual[name].shape == tensor.shape, name
        # A bias of keys moves all logits of a row alike: where keys are not normalised its gradient is 0.
        largest = expected[name.replace("wk.bias", "wv.bias")].abs().max()
        error = (actual[name].double() - tensor).abs().max() / largest
        assert error < TOLERANCE, f"{name}: {error:.1e} of its largest element"


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_deit3(formulation: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    expect_equal_step(DeiT3(formulation), formulation, tmp_path)


@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_cross_vit(formulation: str, three: bool, tmp_path: Path) -> None:
    torch.manual_seed(2)
    expect_equal_step(CrossViT(formulation, three), formulation, tmp_path)
