"""Training steps of the time-series transformer as a plain PyTorch loop: what `quest bench step` measures beside.

Beside the recipe's keys it is told "length", "channels" and "classes"; its series are random and as long as that.
"""

import math
import sys

import torch
import torch.nn.functional as F
from step_loop import attention, read_settings, take_steps
from torch import nn


class Layer(nn.Module):
    def __init__(self, s):
        super().__init__()
        dim, hidden = s["dim"], s["mlp_hidden"]
        self.heads, self.formulation, self.p = s["heads"], s["formulation"], s["dropout"]
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))
        self.up, self.down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.drop = nn.Dropout(self.p)

    def attend(self, x):
        batch, tokens, dim = x.shape
        q, k, v = (f(x).view(batch, tokens, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = attention(q, k, v, self.formulation, self.p if self.training else 0.0)
        return self.out(x.transpose(1, 2).reshape(batch, tokens, dim))

    def forward(self, x):
        x = self.norm1(x + self.drop(self.attend(x)))
        return self.norm2(x + self.drop(self.down(self.drop(F.gelu(self.up(x))))))


class Model(nn.Module):
    def __init__(self, s, channels, length, classes):
        super().__init__()
        dim = s["dim"]
        self.embed = nn.Conv1d(channels, dim, 3, padding=1, padding_mode="circular", bias=False)
        angles = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], -1).view(1, length, dim))
        self.reads_token = s["head"] == "class_token"
        if self.reads_token:
            self.cls = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.layers = nn.Sequential(*(Layer(s) for _ in range(s["depth"])))
        self.norm, self.drop = nn.LayerNorm(dim), nn.Dropout(s["dropout"])
        self.head = nn.Linear(dim if self.reads_token else length * dim, classes)

    def forward(self, series):
        x = self.drop(self.embed(series.transpose(1, 2)).transpose(1, 2) + self.positions)
        if self.reads_token:
            x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1)
        x = self.norm(self.layers(x))
        x = x[:, 0] if self.reads_token else x.flatten(1)
        return self.head(self.drop(F.gelu(x)))


def main():
    settings = read_settings()
    if settings["model"]["mask_padding"]:
        sys.exit("the PyTorch loop knows no masks")
    length, channels, classes = settings["length"], settings["channels"], settings["classes"]
    model = Model(settings["model"], channels, length, classes)
    series = torch.randn(settings["batch"], length, channels, device=settings["device"])
    labels = torch.randint(classes, (settings["batch"],), device=settings["device"])
    take_steps(settings, model, lambda: F.cross_entropy(model(series), labels))


main()
