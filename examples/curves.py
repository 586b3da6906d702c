"""Training curves as a table."""

from __future__ import annotations

from collections.abc import Sequence

ROWS = 10


def print_curves(title: str, curves: dict[str, Sequence[float]]) -> None:
    """One row per tenth of the steps: the mean over that tenth, one column per curve."""
    steps = min(map(len, curves.values()))
    print(f"{title}, mean over the steps before")
    print("  step" + "".join(f"{name:>12}" for name in curves))
    for row in range(min(ROWS, steps)):
        begin, end = row * steps // ROWS, max((row + 1) * steps // ROWS, row * steps // ROWS + 1)
        means = [sum(curve[begin:end]) / (end - begin) for curve in curves.values()]
        print(f"{end:6d}" + "".join(f"{mean:12.4f}" for mean in means))
