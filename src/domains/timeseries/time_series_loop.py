"""Epochs of the time-series experiment as a plain PyTorch loop: what `quest bench timeseries` measures beside.

Reads its settings as JSON from the only argument. For every line of standard input it trains as many epochs as the line
says, each followed by an evaluation, and answers with the seconds they took.
"""

import json
import math
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    def __init__(self, s):
        super().__init__()
        dim, hidden = s["dim"], s["mlp_hidden"]
        self.heads, self.quest, self.p = s["heads"], s["formulation"] == "quest", s["dropout"]
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))
        self.up, self.down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.drop = nn.Dropout(self.p)

    def attend(self, x):
        batch, tokens, dim = x.shape
        q, k, v = (f(x).view(batch, tokens, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        p = self.p if self.training else 0.0
        if self.quest:
            x = F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v, dropout_p=p, scale=1.0)
        else:
            x = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
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
        self.cls = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.layers = nn.Sequential(*(Layer(s) for _ in range(s["depth"])))
        self.norm, self.drop = nn.LayerNorm(dim), nn.Dropout(s["dropout"])
        self.head = nn.Linear(dim, classes)

    def forward(self, series):
        x = self.drop(self.embed(series.transpose(1, 2)).transpose(1, 2) + self.positions)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1)
        x = self.norm(self.layers(x))[:, 0]
        return self.head(self.drop(F.gelu(x)))


def load(part):
    cases, length, channels = part["shape"]
    values = torch.from_file(part["values"], size=cases * length * channels).view(cases, length, channels)
    return values, torch.from_file(part["labels"], size=cases, dtype=torch.int64)


def train_epoch(model, optimizer, values, labels, settings):
    model.train()
    for chosen in torch.randperm(len(labels)).split(settings["batch"]):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(values[chosen]), labels[chosen])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings["clip_norm"])
        optimizer.step()
        loss.item()


@torch.no_grad()
def evaluate(model, values, labels, settings):
    model.eval()
    right = 0
    for series, truth in zip(values.split(settings["evaluation_batch"]), labels.split(settings["evaluation_batch"])):
        right += (model(series).argmax(1) == truth).sum().item()
    return right / len(labels)


def main():
    settings = json.loads(sys.argv[1])
    torch.set_num_threads(settings["threads"])
    train, test = load(settings["train"]), load(settings["test"])
    length, channels = train[0].shape[1:]
    model = Model(settings, channels, length, settings["classes"])
    optimizer = torch.optim.RAdam(model.parameters(), lr=settings["lr"])
    for line in sys.stdin:
        begin = time.perf_counter()
        for _ in range(int(line)):
            train_epoch(model, optimizer, *train, settings)
            evaluate(model, *test, settings)
        print(time.perf_counter() - begin, flush=True)


main()
