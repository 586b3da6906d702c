"""What the PyTorch loops that `quest bench step` measures beside have in common: optimiser, clipping, taking turns.

A loop imports it, makes its model and calls take_steps(). Its settings are JSON in the only argument: the recipe's keys by
section, "device", "threads", "batch", and what its task adds. For every line of standard input it takes as many steps as
the line says, and answers with the seconds they took.
"""

import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


def read_settings():
    settings = json.loads(sys.argv[1])
    torch.set_num_threads(settings["threads"])
    if settings["model"]["formulation"] not in ("quest", "standard"):
        sys.exit("the PyTorch loops know the formulations quest and standard")
    return settings


def attention(q, k, v, formulation, dropout=0.0):
    if formulation == "quest":
        return F.scaled_dot_product_attention(q, F.normalize(k, dim=-1), v, dropout_p=dropout, scale=1.0)
    return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)


def make_optimizer(model, options):
    decayed = [p for p in model.parameters() if p.ndim > 1 or options["decay_all"]]
    others = [p for p in model.parameters() if p.ndim <= 1 and not options["decay_all"]]
    groups = [{"params": decayed, "weight_decay": options["weight_decay"]}, {"params": others, "weight_decay": 0.0}]
    groups = [group for group in groups if group["params"]]
    name, lr = options["name"], options["lr"]
    if name == "sgd":
        return torch.optim.SGD(groups, lr, options["momentum"], nesterov=options["nesterov"])
    kinds = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "radam": torch.optim.RAdam}
    if name not in kinds:
        sys.exit(f"torch.optim has no {name}")
    return kinds[name](groups, lr, (options["beta1"], options["beta2"]), options["eps"])


def clip(model, options):
    if options["clip_each"] > 0:
        for parameter in model.parameters():
            nn.utils.clip_grad_norm_(parameter, options["clip_each"])
    if options["clip_norm"] > 0:
        nn.utils.clip_grad_norm_(model.parameters(), options["clip_norm"])


def take_steps(settings, model, loss):
    """`loss` returns the mean loss of the batch, which is on the settings' device, as the model is."""
    model.to(settings["device"]).train()
    optimizer = make_optimizer(model, settings["optimizer"])
    kind = torch.device(settings["device"]).type
    passes = settings["train"]["accumulate"]
    in_bfloat16 = settings["train"]["precision"] == "bfloat16"

    def step():
        optimizer.zero_grad()
        for _ in range(passes):
            with torch.autocast(kind, torch.bfloat16, enabled=in_bfloat16):
                total = loss() / passes
            total.backward()
        clip(model, settings["optimizer"])
        optimizer.step()
        return total.item()

    for line in sys.stdin:
        begin = time.perf_counter()
        for _ in range(int(line)):
            step()
        if kind == "cuda":
            torch.cuda.synchronize()
        print(time.perf_counter() - begin, flush=True)
