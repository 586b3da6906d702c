"""Training steps of a vision transformer as a plain PyTorch loop: what `quest bench train` measures beside.

Reads its settings as JSON from the only argument. For every line of standard input it takes as many steps as the line
says and answers with the seconds they took.
"""

import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads, quest):
        super().__init__()
        self.heads, self.quest = heads, quest
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        batch, tokens, dim = x.shape
        q, k, v = self.qkv(x).reshape(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.quest:
            x = F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v, scale=1.0)
        else:
            x = F.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(batch, tokens, dim))


class Block(nn.Module):
    def __init__(self, dim, heads, hidden, quest):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim, heads, quest)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, s):
        super().__init__()
        dim = s["dim"]
        self.patch_embed = nn.Conv2d(1, dim, s["patch_size"], s["patch_size"])
        patches = (s["image_size"] // s["patch_size"]) ** 2
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.pos_embed = nn.Parameter(torch.randn(1, patches + 1, dim) * 0.02)
        hidden = int(dim * s["mlp_ratio"])
        self.blocks = nn.Sequential(*(Block(dim, s["heads"], hidden, s["quest"]) for _ in range(s["depth"])))
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Linear(dim, s["classes"])

    def forward(self, images):
        x = self.patch_embed(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


def main():
    settings = json.loads(sys.argv[1])
    torch.set_num_threads(settings["threads"])
    model = ViT(settings).train()
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": decayed}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-4, weight_decay=0.05)
    side = settings["image_size"]
    images = torch.randn(settings["batch"], 1, side, side)
    labels = torch.randint(settings["classes"], (settings["batch"],))
    for line in sys.stdin:
        begin = time.perf_counter()
        for _ in range(int(line)):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            if settings["clip_norm"] > 0:
                nn.utils.clip_grad_norm_(model.parameters(), settings["clip_norm"])
            optimizer.step()
            loss.item()
        print(time.perf_counter() - begin, flush=True)


main()
