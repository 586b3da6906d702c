"""The spurious-attention training as a plain PyTorch loop, one process per core, for `quest bench step`.

Reads its settings as JSON from the only argument, prints the trainings per second of all processes together.
"""

import json
import math
import multiprocessing
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

REAL, CLASSES = 10, 10
WIDTH = REAL + CLASSES


def draw_samples(samples, tokens):
    real = torch.randn(samples, tokens, REAL)
    answer = torch.normal(10.0, 2.0, (samples,)).int().clamp(0, tokens - 1).long()
    s = torch.randn(REAL, REAL)
    biased = (torch.rand(samples) < 0.5)[:, None]
    near_b = s @ torch.randn(REAL) + math.sqrt(0.1) * torch.randn(samples, REAL)
    rows = torch.arange(samples)
    real[rows, answer] = torch.where(biased, near_b, torch.randn(samples, REAL) @ s.T)
    classes = torch.randint(CLASSES, (samples, tokens))
    return torch.cat([real, F.one_hot(classes, CLASSES)], -1), classes[rows, answer]


class Attention(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.normalize_q, self.normalize_k = settings["normalize_q"], settings["normalize_k"]
        self.scale = settings["scale"]
        self.gain = settings["gain"]
        if self.gain == "logarithm":
            self.log_gain = nn.Parameter(torch.tensor(math.log(10.0)))
        if self.gain == "per_dim":
            self.query_gain, self.key_gain = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        if self.normalize_q:
            q = F.normalize(q, dim=-1)
        if self.normalize_k:
            k = F.normalize(k, dim=-1)
        if self.gain == "logarithm":
            q = q * self.log_gain.clamp_max(math.log(100.0)).exp()
        if self.gain == "per_dim":
            q, k = q * self.query_gain, k * self.key_gain
        return F.scaled_dot_product_attention(q, k, v, scale=self.scale)


class Classifier(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.listing = settings["wiring"] == "algorithm"
        self.cls = nn.Parameter(0.02 * torch.randn(1, 1, WIDTH))
        self.positions = nn.Parameter(0.02 * torch.randn(settings["tokens"] + 1, WIDTH))
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention(settings)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))
        self.final_norm = nn.Identity() if self.listing else nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.positions
        if self.listing:
            y = x + self.norm2(self.norm1(x) + self.attention(x))
            y = x + self.mlp(y)
        else:
            y = x + self.attention(self.norm1(x))
            y = y + self.mlp(self.norm2(y))
        return self.head(self.final_norm(y[:, 0]))


def training_steps(model, optimizer, inputs, labels, batch):
    while True:
        for chosen in torch.randperm(len(inputs)).split(batch):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs[chosen]), labels[chosen]).backward()
            optimizer.step()
            yield


def steps_per_second(settings):
    torch.set_num_threads(1)
    model = Classifier(settings)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0025, weight_decay=0.02)
    steps = training_steps(model, optimizer, *draw_samples(settings["samples"], settings["tokens"]), settings["batch"])
    for _ in range(20):
        next(steps)
    count, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < settings["seconds"]:
        next(steps)
        count += 1
    return count / elapsed


def main():
    settings = json.loads(sys.argv[1])
    processes = settings["processes"]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        rates = pool.map(steps_per_second, [settings] * processes, chunksize=1)
    print(sum(rates) / (settings["epochs"] * math.ceil(settings["samples"] / settings["batch"])))


if __name__ == "__main__":
    main()
