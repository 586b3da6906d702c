#!/usr/bin/env python3
"""Reads every #include of src/, include/ and tools/ and names those that go up the layers.   Usage: includes.py SOURCE_DIR"""

import functools
import re
import sys
from pathlib import Path

# A layer is a folder of src/. It includes itself, the layers named here and what they may include.
BELOW = {
    "base": (),
    "formulation": (),
    "recipe": ("base",),
    "terminal": ("base",),
    "kernels": ("base",),
    "ops/rules": ("formulation", "kernels"),
    "ops": ("ops/rules",),
    "attention": ("ops",),
    "nn": ("attention",),
    "models": ("nn", "recipe"),
    "data/formats": ("base",),
    "data/weights": ("data/formats",),
    "data": ("data/weights", "recipe", "kernels"),
    "data/sets": ("data",),
    "data/augment": ("data",),
    "metrics": ("base", "kernels"),
    "train/run": ("ops/rules", "recipe"),
    "train/monitor": ("train/run", "nn"),
    "train": ("train/monitor", "metrics", "models", "data"),
    "eval": ("train", "data/augment", "data/sets"),
    "paper": ("train/run", "recipe"),
    "report/charts": ("base",),
    "report": ("report/charts", "paper"),
    "domains": ("eval", "report"),
    "domains/*": ("domains", "terminal"),
    "app": ("domains", "terminal"),
    "bench": ("app",),
    "cli": ("bench",),
    "tools": ("kernels",),
}
TORCH_FREE = {"base", "formulation", "recipe", "terminal", "kernels", "ops/rules", "data/formats", "train/run", "paper",
              "report/charts", "report", "tools"}

# Folders and files that are not named after their layer.
PLACES = {
    "formulation.cpp": "formulation",
    "quest/formulation.h": "formulation",
    "quest/export.h": "formulation",
    "quest": "attention",
    "quest/nn": "nn",
    "quest/models": "models",
}
QUOTED_FOREIGN = ("hwy/",)
TORCH = re.compile(r"(ATen|torch|c10|caffe2)/")
SOURCES = {".h", ".hpp", ".cpp", ".cu", ".cuh", ".in"}
INCLUDE = re.compile(r"""\s*\#\s*include\s*([<"])([^>"]+)[>"]""", re.VERBOSE)


@functools.cache
def may_include(layer: str) -> frozenset[str]:
    return frozenset({layer}).union(*(may_include(below) for below in BELOW[layer]))


def layer_of(path: str) -> str | None:
    """Of a path as an include names it: "train/run/run_log.h". Domains keep their names: "domains/images"."""
    parts = path.split("/")
    if parts[0] == "domains" and len(parts) > 2:
        return "/".join(parts[:2])
    for length in range(len(parts), 0, -1):
        place = "/".join(parts[:length])
        if place in PLACES or (place in BELOW and length < len(parts)):
            return PLACES.get(place, place)
    return None


def in_table(layer: str) -> str:
    return "domains/*" if layer.startswith("domains/") else layer


def problem(path: str, bracket: str, target: str) -> str | None:
    """What is wrong with a file, named from its include root, including the target."""
    layer = layer_of(path)
    if layer is None:
        return "belongs to no layer; put it into a folder of a layer, or add the layer to tests/style/includes.py"
    if TORCH.match(target):
        if layer in TORCH_FREE:
            return f"{layer} -> torch: {layer} is built without torch; take pointers and sizes, or move the file up"
        return None
    to = layer_of(target)
    if bracket == "<" and not target.startswith("quest/"):
        return None
    if target.startswith("tests/"):
        return f"{layer} -> tests: what a program needs is no part of its tests; move {target} to src/ or tools/"
    if to is None:
        if target.startswith(QUOTED_FOREIGN):
            return None
        return f'expected "layer/file.h" of this project or <file> of another, got "{target}"'
    if path.startswith("quest/") and not target.startswith("quest/"):
        return f"{layer} -> {to}: public headers are installed without src/; declare what is needed in include/quest/"
    if to.startswith("domains/") and to != layer:
        advice = "what two domains need moves down" if layer.startswith("domains/") else "ask domains/domain.h for it"
        return f"{layer} -> {to}: a domain is known to its own folder alone; {advice}"
    allowed = may_include(in_table(layer))
    if in_table(to) not in allowed:
        below = ", ".join(sorted(allowed - {in_table(layer)})) or "no other layer"
        return f"{layer} -> {to}: {layer} may include {below}; move what it needs down, or this file up"
    return None


def own_header(root: Path, include_root: Path, source: Path) -> str | None:
    header = source.with_suffix(".h")
    if source.suffix == ".cpp" and (root / header).exists():
        return header.relative_to(include_root).as_posix()
    return None


def violations(root: Path) -> list[str]:
    found = []
    for folder, include_root in (("src", "src"), ("include", "include"), ("tools", ".")):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            source = file.relative_to(root)
            own = own_header(root, Path(include_root), source)
            is_first = True
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                bracket, target = match.groups()
                if is_first and own and target != own:
                    found.append(f'{source}:{number}: expected "{own}" first, which shows that it compiles alone; '
                                 f"got {target}")
                is_first = False
                wrong = problem(source.relative_to(include_root).as_posix(), bracket, target)
                if wrong:
                    found.append(f"{source}:{number}: {wrong}")
    return found


def check_table() -> None:
    for layer in TORCH_FREE:
        if not may_include(layer) <= TORCH_FREE:
            sys.exit(f"tests/style/includes.py: {layer} is to need no torch, but may include "
                     f"{', '.join(sorted(may_include(layer) - TORCH_FREE))}; correct BELOW or TORCH_FREE")


if __name__ == "__main__":
    check_table()
    found = violations(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
