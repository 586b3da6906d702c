"""Families of transformers that look their attention layers up in a table of classes, by the implementation's name."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from torch import nn

from ._layers import is_of_torch, plain_function, with_inner_code


def is_table(value: Any) -> bool:
    known = isinstance(value, dict) and "eager" in value
    return known and all(isinstance(cls, type) and issubclass(cls, nn.Module) for cls in value.values())


def globals_in_init(cls: type) -> Iterator[tuple[str, Any]]:
    """What the constructors of a class call by global names."""
    for owner in cls.__mro__:
        function = None if is_of_torch(owner) else plain_function(vars(owner).get("__init__"))
        if function is None:
            continue
        names = (name for code in with_inner_code(function.__code__) for name in code.co_names)
        yield from ((name, function.__globals__[name]) for name in names if name in function.__globals__)


@functools.cache
def tables_of(model: type) -> dict[str, dict[str, type]]:
    """The tables that building a model reads, by name. Models inside it have constructors, and checks, of their own."""
    from transformers import PreTrainedModel

    tables, seen, queue = {}, {model}, [model]
    while queue:
        for name, value in globals_in_init(queue.pop()):
            if is_table(value):
                tables[name] = value
            elif isinstance(value, type) and issubclass(value, nn.Module) and value not in seen:
                if not issubclass(value, PreTrainedModel) and value.__module__ == model.__module__:
                    seen.add(value)
                    queue.append(value)
    return tables


def missing_in_table(model: type, implementation: str) -> str | None:
    """Why a model cannot be built with an implementation of this name, if so."""
    for name, table in tables_of(model).items():
        if implementation not in table:
            return f"it looks its attention layers up in {name}, which knows {', '.join(map(repr, table))} alone"
    return None
