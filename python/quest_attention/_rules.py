"""The rules that the library's C++ follows, too: it is asked for them once, when the package is imported."""

from __future__ import annotations

import ctypes
import json
import weakref
from typing import Any

from ._library import CPU_LIBRARY

_library = ctypes.CDLL(str(CPU_LIBRARY))


def _of_another_version(wanted: str) -> ImportError:
    return ImportError(
        f"quest_attention asks for {wanted} and {CPU_LIBRARY} has none: it is of another version; "
        "reinstall both with: pip install --force-reinstall --no-deps . (in a clone of the project)"
    )


def _function(name: str, result: Any, *arguments: Any) -> Any:
    try:
        function = getattr(_library, name)
    except AttributeError as error:
        raise _of_another_version(name) from error
    function.restype = result
    function.argtypes = arguments
    return function


_figures = ctypes.POINTER(ctypes.c_double)
_rules = _function("quest_rules", ctypes.c_char_p)
_new = _function("quest_explosion_new", ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_int64)
_add = _function(
    "quest_explosion_add",
    ctypes.c_int64,
    *(ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p, ctypes.c_int64, _figures, _figures),
)
_text = _function("quest_explosion_text", ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64)
_delete = _function("quest_explosion_delete", None, ctypes.c_void_p)

#: version, formulations, learned_gains, obstacles, limits and explosion.
RULES: dict[str, Any] = json.loads(_rules().decode())
if "version" not in RULES:
    raise _of_another_version("its version")


class ExplosionDetector:
    """Tells of logits that grow as they do before a training diverges. A copy begins without what was added."""

    def __init__(self, least_logit: float, factor: float, within_steps: int) -> None:
        self._options = (least_logit, factor, within_steps)
        self._watch = _new(*self._options)
        weakref.finalize(self, _delete, self._watch)

    def __reduce__(self) -> tuple[Any, ...]:
        return ExplosionDetector, self._options

    def add(self, step: int, layer: str, max_logit: list[float], key_norm: list[float]) -> list[str]:
        """The warnings of one layer at one step. Steps come in their order, both lists have one entry per head."""
        heads = len(max_logit)
        figures = ctypes.c_double * heads
        found = _add(self._watch, step, layer.encode(), heads, figures(*max_logit), figures(*key_norm))
        return [_text(self._watch, index).decode() for index in range(found)]
