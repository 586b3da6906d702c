"""Tries every model class of the installed transformers and writes docs/huggingface.md.

Usage: hf_page.py [--write] [family …]      prints the page, or what was found of these families; --write keeps it
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
import transformers
from hf_conformance import KINDS, REASONS, Outcome, sweep
from hf_zoo import families

PAGE = Path(__file__).parents[2] / "docs" / "huggingface.md"
MEANING = {
    "quest": "`patch` switches every attention layer that the input reaches",
    "partly": "`patch` switches some and names the others",
    "refused": "an error says why",
    "no attention": "nothing to switch, as the error says",
    "not tried": "by the reason, and with the message of the first in its family below:",
    "wrong": "must be none",
}
HEAD = """\
# Models of Hugging Face transformers

What [`patch`, `use` and `register_hf`](python.md#switch-a-model) make of every model class of transformers {version}.
Each is built small from its default config, with random weights, on the CPU; {tried} of {all} classes with a forward of
their own could be tried:

{counts}

"Computes QUEST" means, for each class:

- with `patch(model, "standard")` the outputs are those of the model's own attention within 1e-5 of the largest number,
  with padding and sliding windows where the model has them, and so are the logits of `generate()` with a cache;
- with `patch(model, "quest")` every switched layer that ran was seen to reach the operator, and where the model calls
  torch's attention function, the outputs are those of the formula written out in its place;
- after `undo()` the outputs are what they were;
- `use("quest")` gives the same, or warns of what it did not reach;
- `attn_implementation="quest"`, in the column "by name", gives the same or is refused.

By family, in classes:

| family | {kinds} | by name | remark |
| --- | {rules} | --- | --- |
{rows}

The test `python_conformance` tries all of them again; none may be wrong, and none of these may be lost.
`python tests/python/hf_page.py --write` writes this page.
"""


def try_all(names: list[str], processes: int = 2) -> list[Outcome]:
    """Families are handed out in small lots; a process is fresh, so that its torch has one thread."""
    lots = [names[start : start + 6] for start in range(0, len(names), 6)]
    with ProcessPoolExecutor(processes, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        return [found for lot in pool.map(sweep, lots) for found in lot]


def remark(outcomes: list[Outcome]) -> str:
    """Why not all of a family's classes compute QUEST, by the first that does not."""
    for kind in ("wrong", "partly", "refused", "not tried"):
        for found in outcomes:
            if found.kind == kind:
                text = re.sub(r"\S*no attention layer that patch can switch:.* interface ", "", found.detail)
                text = re.sub(r"^(\w+ has )", "", text).split("; call quest")[0].split("; use attn")[0]
                return f"{kind}: {found.cls}: {text[:110]}".replace("|", "\\|").strip()
    return ""


def row(family: str, outcomes: list[Outcome]) -> str:
    counts = collections.Counter(found.kind for found in outcomes)
    names = sorted({found.by_name.split(":")[0] for found in outcomes if found.by_name})
    cells = [str(counts[kind] or "") for kind in KINDS if kind != "wrong"]
    return f"| {family} | {' | '.join(cells)} | {', '.join(names)} | {remark(outcomes)} |"


def page(outcomes: list[Outcome]) -> str:
    by_family: dict[str, list[Outcome]] = {}
    for found in outcomes:
        by_family.setdefault(found.family, []).append(found)
    counts = collections.Counter(found.kind for found in outcomes)
    kinds = [kind for kind in KINDS if kind != "wrong"]
    reasons = collections.Counter(found.reason for found in outcomes)
    lines = [f"- {counts[kind]} {kind}: {MEANING[kind]}" for kind in KINDS]
    where = KINDS.index("not tried") + 1
    lines[where:where] = [f"  - {reasons[reason]} {what}" for reason, what in REASONS.items() if reasons[reason]]
    return HEAD.format(
        version=transformers.__version__,
        all=len(outcomes),
        tried=len(outcomes) - counts["not tried"],
        counts="\n".join(lines),
        kinds=" | ".join(kinds),
        rules=" | ".join("---:" for _ in kinds),
        rows="\n".join(row(family, found) for family, found in by_family.items()),
    )


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("families", nargs="*")
    options = parser.parse_args()
    outcomes = try_all(options.families or families())
    if options.families:
        print("\n".join(f"{f.kind:12} {f.by_name[:8]:8} {f.layers:3} {f.cls}: {f.detail}" for f in outcomes))
    else:
        print(page(outcomes))
    if options.write:
        PAGE.write_text(page(outcomes))
    return int(any(found.kind == "wrong" for found in outcomes))


if __name__ == "__main__":
    sys.exit(main())
