"""What the code of a module calls: torch's attention functions, transformers' attention interface, a softmax."""

from __future__ import annotations

import dis
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from torch import nn

TORCH_ATTENTION = {"scaled_dot_product_attention", "multi_head_attention_forward"}
PRODUCTS = {"matmul", "bmm", "baddbmm", "einsum"}
ATTENTION_NAME = re.compile(r"attention|attn|mhs?a$", re.IGNORECASE)


class Calls(NamedTuple):
    torch_attention: bool
    interface: bool  # of transformers
    softmax: bool
    products: int
    chooses: bool  # the best few of its softmax, as the router of experts does


def plain_function(function: Any) -> FunctionType | None:
    if isinstance(function, functools.partial):
        return plain_function(function.func)
    function = inspect.unwrap(getattr(function, "__func__", function))
    return function if isinstance(function, FunctionType) else None


def with_inner_code(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_inner_code(constant)


def is_of_torch(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in ("torch", "builtins")


def methods_named(cls: type, name: str, with_overridden: bool) -> Iterator[Any]:
    for owner in cls.__mro__:
        if name in vars(owner) and not is_of_torch(owner) and "_is_of_quest" not in vars(owner):
            method = vars(owner)[name]
            yield method.fget if isinstance(method, property) else method
            if not with_overridden:
                return


def helper_named(function: FunctionType, name: str) -> Any:
    """A function that the given one calls by a global name: of the same file, or of the same package where that is not
    transformers, whose files are large and lead everywhere.
    """
    helper = plain_function(function.__globals__.get(name))
    if helper is None:
        return None
    package, other = (f.__module__.partition(".")[0] for f in (function, helper))
    near = function.__module__ == helper.__module__ or (package == other and package not in ("torch", "transformers"))
    return helper if near else None


def reached_functions(cls: type[nn.Module], start: list[Any]) -> list[FunctionType]:
    """The functions that begin with ``start`` and go on with the methods and helpers called by name."""
    found: dict[FunctionType, None] = {}
    queue = [plain_function(function) for function in start]
    while queue:
        function = queue.pop()
        if function is None or function in found:
            continue
        found[function] = None
        for code in with_inner_code(function.__code__):
            for name in code.co_names:
                queue += map(plain_function, methods_named(cls, name, with_overridden="super" in code.co_names))
                queue.append(plain_function(helper_named(function, name)))
    return list(found)


def calls_of(cls: type[nn.Module], start: list[Any]) -> Calls:
    functions = reached_functions(cls, start)
    codes = [code for function in functions for code in with_inner_code(function.__code__)]
    names = {name for code in codes for name in code.co_names}
    softmax = any("softmax" in name.lower() and "log_softmax" not in name for name in names)
    products = 0
    if softmax:
        for code in codes:
            instructions = [i for i in dis.get_instructions(code) if i.argrepr in ("@", *PRODUCTS)]
            products += len(instructions) + sum(i.opname == "BINARY_MATRIX_MULTIPLY" for i in instructions)
    return Calls(bool(names & TORCH_ATTENTION), "ALL_ATTENTION_FUNCTIONS" in names, softmax, products, "topk" in names)


@functools.cache
def calls_of_class(cls: type[nn.Module]) -> Calls:
    return calls_of(cls, list(methods_named(cls, "forward", with_overridden=False)))


def own_processors(module: nn.Module) -> Iterator[Callable[..., Any]]:
    """Callables that the module holds and that are no modules, diffusers' processors for one."""
    for value in vars(module).values():
        if not isinstance(value, (nn.Module, type)) and callable(value) and not is_of_torch(type(value)):
            yield plain_function(value) or type(value).__call__


def calls_in(module: nn.Module) -> Calls:
    cls = type(module)
    if isinstance(module, nn.MultiheadAttention):
        return Calls(True, False, False, 0, False)
    known = calls_of_class(cls)
    if not (known.torch_attention or known.interface) and not is_of_torch(cls):
        processors = list(own_processors(module))
        if processors:
            more = calls_of(cls, processors)
            known = known._replace(torch_attention=more.torch_attention, interface=more.interface)
    if any(isinstance(child, nn.Softmax) for child in module.children()):
        known = known._replace(softmax=True)
    return known


def asks_interface(module: nn.Module) -> bool:
    return calls_in(module).interface


def can_be_switched(module: nn.Module) -> bool:
    calls = calls_in(module)
    return calls.torch_attention or calls.interface


def is_called_attention(module: nn.Module) -> bool:
    return bool(ATTENTION_NAME.search(type(module).__name__))


def why_not(module: nn.Module) -> str | None:
    """Why a module that looks like attention cannot be switched; None for one that does not look so."""
    if can_be_switched(module):
        return None
    calls, name = calls_in(module), type(module).__name__
    remedy = "call quest_attention.attention in its forward"
    if calls.softmax and (is_called_attention(module) or (calls.products > 1 and not calls.chooses)):
        return f"{name} computes its softmax itself; {remedy}"
    if is_called_attention(module) and not is_of_torch(type(module)):
        return (
            f"{name} has neither a softmax nor a call of torch's attention in its own code; if it reaches one by "
            "another way, patch(model, verify=example_input) finds it"
        )
    return None


def layers_that_cannot(model: nn.Module) -> Iterator[tuple[str, nn.Module, str]]:
    """Name, module and reason of what looks like attention and cannot be switched. A module that merely holds other
    such modules is not named beside them.
    """
    for name, module in model.named_modules():
        reason = why_not(module)
        inner = [child for child in module.modules() if child is not module] if reason is not None else []
        if reason is None or any(can_be_switched(child) for child in inner):
            continue
        if calls_in(module).softmax or not any(why_not(child) is not None for child in inner):
            yield name, module, reason


def attention_layers(model: nn.Module) -> Iterator[nn.Module]:
    """The innermost modules that compute attention, whether they can be switched or not."""
    found = [module for module in model.modules() if can_be_switched(module) or why_not(module) is not None]
    for module in found:
        if not any(child is not module and child in found for child in module.modules()):
            yield module
