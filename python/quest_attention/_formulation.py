"""The formulations as switches of one formula:

logit_ij = scale * sum_d gain[h, d] * q'_i[d] * k'_j[d],   q' = q or q/|q|,   k' = k or k/|k|
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import Literal

from ._rules import RULES

GainAxes = Literal["none", "head", "dim", "head_and_dim"]


@dataclass(frozen=True)
class Formulation:
    """Which sides are normalised, the scale, and what its gain looks like.

    ``gain_axes`` other than ``"none"`` means that a gain is required; ``gain_is_learned`` tells whether it receives
    gradients or is an estimate.
    """

    name: str
    normalize_q: bool = False
    normalize_k: bool = False
    divide_by_sqrt_dim: bool = False
    gain_axes: GainAxes = "none"
    gain_is_learned: bool = False

    @property
    def needs_gain(self) -> bool:
        return self.gain_axes != "none"

    def default_scale(self, head_dim: int) -> float:
        return 1.0 / math.sqrt(head_dim) if self.divide_by_sqrt_dim and head_dim > 0 else 1.0


FORMULATIONS: dict[str, Formulation] = {rule["name"]: Formulation(**rule) for rule in RULES["formulations"]}


def find_formulation(formulation: str | Formulation) -> Formulation:
    """The formulation of that name; a ValueError lists the known names and the nearest one."""
    if isinstance(formulation, Formulation):
        return formulation
    if not isinstance(formulation, str):
        raise TypeError(
            f"formulation must be a name or a Formulation, got {type(formulation).__name__}; a model is switched by "
            "quest_attention.patch(model, formulation)"
        )
    if formulation not in FORMULATIONS:
        nearest = difflib.get_close_matches(formulation, FORMULATIONS, n=1)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        raise ValueError(f"formulation must be one of {', '.join(FORMULATIONS)}, got {formulation!r}{hint}")
    return FORMULATIONS[formulation]
