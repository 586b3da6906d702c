"""Optimisers and schedules against torch.optim in float64.   Usage: test_torch.py TRAJECTORIES"""

import math
import subprocess
import sys

import torch
from torch.optim import lr_scheduler

STEPS = 100
ELEMENTS = 37


def parameters_after(make_optimizer, make_scheduler=None):
    index = torch.arange(ELEMENTS, dtype=torch.float64)
    value = torch.sin(1.0 + 2.3 * index).float().double().requires_grad_()
    optimizer = make_optimizer([value])
    scheduler = make_scheduler(optimizer) if make_scheduler else None
    for t in range(STEPS):
        wave = 0.3 * index + 0.7 * t
        value.grad = (torch.sin(wave) + 0.1 * torch.cos(5.0 * wave)).float().double()
        optimizer.step()
        if scheduler:
            scheduler.step()
    return value.tolist()


def rates(make_scheduler, lr=0.1):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    scheduler = make_scheduler(optimizer)
    result = []
    for _ in range(STEPS):
        result.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return result


def warm_cosine(optimizer):
    warm = lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=20)
    cosine = lr_scheduler.CosineAnnealingLR(optimizer, STEPS - 20, eta_min=1e-3)
    return lr_scheduler.SequentialLR(optimizer, [warm, cosine], [20])


def one_cycle(peak, **options):
    return lambda optimizer: lr_scheduler.OneCycleLR(optimizer, peak, total_steps=STEPS, **options)


optim = torch.optim
EXPECTED = {
    "adamw": lambda: parameters_after(lambda p: optim.AdamW(p, 0.01, weight_decay=0.05)),
    "adam": lambda: parameters_after(lambda p: optim.Adam(p, 0.01, betas=(0.8, 0.99), weight_decay=0.05)),
    "radam": lambda: parameters_after(lambda p: optim.RAdam(p, 0.01, weight_decay=0.05)),
    "radam_soon": lambda: parameters_after(lambda p: optim.RAdam(p, 0.01, betas=(0.9, 0.9))),
    "sgd": lambda: parameters_after(lambda p: optim.SGD(p, 0.01, momentum=0.9, weight_decay=0.05)),
    "sgd_plain": lambda: parameters_after(lambda p: optim.SGD(p, 0.01)),
    "sgd_nesterov": lambda: parameters_after(
        lambda p: optim.SGD(p, 0.01, momentum=0.9, weight_decay=0.05, nesterov=True)
    ),
    "adamw_one_cycle": lambda: parameters_after(lambda p: optim.AdamW(p, 0.01, weight_decay=0.05), one_cycle(0.01)),
    "cosine": lambda: rates(lambda o: lr_scheduler.CosineAnnealingLR(o, STEPS, eta_min=1e-3)),
    "cosine_warm": lambda: rates(warm_cosine),
    "polynomial": lambda: rates(lambda o: lr_scheduler.PolynomialLR(o, STEPS, power=2.0)),
    "one_cycle": lambda: rates(one_cycle(0.1)),
    "one_cycle_own": lambda: rates(one_cycle(0.1, pct_start=0.04, div_factor=10, final_div_factor=100)),
}


def main():
    lines = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines()
    printed = {line.split()[0]: [float(x) for x in line.split()[1:]] for line in lines}
    assert printed.keys() == EXPECTED.keys(), printed.keys() ^ EXPECTED.keys()
    failed = False
    for name, expected in EXPECTED.items():
        ours, theirs = printed[name], expected()
        assert len(ours) == len(theirs), name
        worst = max(abs(a - b) for a, b in zip(ours, theirs))
        print(f"{name}: largest difference {worst:.1e}")
        failed |= not (math.isfinite(worst) and worst <= 1e-6)
    sys.exit(failed)


main()
