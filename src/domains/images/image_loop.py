"""Training steps of a vision transformer as a plain PyTorch loop: what `quest bench step` measures beside.

Beside the recipe's keys it is told "image_size", "channels" and "classes"; its images are random.
"""

import torch
import torch.nn.functional as F
from step_loop import attention, read_settings, take_steps
from torch import nn


class Attention(nn.Module):
    def __init__(self, s):
        super().__init__()
        dim = s["dim"]
        self.heads, self.formulation = s["heads"], s["formulation"]
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.drop = nn.Dropout(s["dropout"])

    def forward(self, x):
        batch, tokens, dim = x.shape
        q, k, v = self.qkv(x).reshape(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = attention(q, k, v, self.formulation)
        return self.drop(self.proj(x.transpose(1, 2).reshape(batch, tokens, dim)))


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.p == 0.0 or not self.training:
            return x
        return x * x.new_empty(len(x), 1, 1).bernoulli_(1 - self.p).div_(1 - self.p)


class Block(nn.Module):
    def __init__(self, s, drop_path):
        super().__init__()
        dim, hidden, p = s["dim"], round(s["dim"] * s["mlp_ratio"]), s["dropout"]
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(s)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = nn.Sequential(
            nn.Linear(dim, hidden), nn.GELU(), nn.Dropout(p), nn.Linear(hidden, dim), nn.Dropout(p)
        )
        self.drop_path = DropPath(drop_path)

    def forward(self, x):
        x = x + self.drop_path(self.attn(self.norm1(x)))
        return x + self.drop_path(self.mlp(self.norm2(x)))


class ViT(nn.Module):
    def __init__(self, s, image_size, channels, classes):
        super().__init__()
        dim, depth, patch = s["dim"], s["depth"], s["patch_size"]
        self.reads_mean = s["pooling"] == "mean"
        self.patch_embed = nn.Conv2d(channels, dim, patch, patch)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.pos_embed = nn.Parameter(torch.randn(1, (image_size // patch) ** 2 + 1, dim) * 0.02)
        self.pos_drop = nn.Dropout(s["dropout"])
        self.blocks = nn.Sequential(*(Block(s, s["drop_path"] * i / max(1, depth - 1)) for i in range(depth)))
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Linear(dim, classes)

    def forward(self, images):
        x = self.patch_embed(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        x = self.norm(self.blocks(self.pos_drop(x)))
        return self.head(x[:, 1:].mean(1) if self.reads_mean else x[:, 0])


def main():
    settings = read_settings()
    side, channels, classes = settings["image_size"], settings["channels"], settings["classes"]
    model = ViT(settings["model"], side, channels, classes)
    images = torch.randn(settings["batch"], channels, side, side, device=settings["device"])
    labels = torch.randint(classes, (settings["batch"],), device=settings["device"])
    smoothing = settings["data"]["label_smoothing"]
    take_steps(settings, model, lambda: F.cross_entropy(model(images), labels, label_smoothing=smoothing))


main()
