"""The operators of the shared library with what PyTorch's transformations need to know about them.

``quest::attention`` and ``quest::attention_gradients`` wrap the library's forward and backward: shapes for tracing,
derivatives, and derivatives of derivatives through the formula. No arithmetic happens here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ._call import Call
from ._formula import attention_formula

_TENSORS = "Tensor q, Tensor k, Tensor v"
_OPTIONS = (
    "Tensor? gain, Tensor? mask, Tensor? key_lengths, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, "
    "Tensor? dropout_seed, bool normalize_q, bool normalize_k, float scale, int causal, float dropout_p"
)
_DIFFERENTIABLE = 5  # q, k, v, gain, mask

_library = torch.library.Library("quest", "FRAGMENT")
_library.define(
    f"attention({_TENSORS}, {_OPTIONS}) -> (Tensor out, Tensor lse)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_library.define(
    f"attention_gradients({_TENSORS}, {_OPTIONS}, Tensor grad_out, Tensor out, Tensor lse, bool gain_grad, "
    "bool mask_grad) -> (Tensor grad_q, Tensor grad_k, Tensor grad_v, Tensor grad_gain, Tensor grad_mask)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_library.define(
    "dropout(Tensor rows, SymInt keys, float dropout_p, Tensor dropout_seed) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _forward(*arguments: Any) -> tuple[Tensor, Tensor]:
    call = Call(*arguments)
    return torch.ops.quest.attention_forward(*call[:3], *call.common())


def _gradients(*arguments: Any) -> tuple[Tensor, ...]:
    call, (grad_out, out, lse, gain_grad, mask_grad) = Call(*arguments[:-5]), arguments[-5:]
    return torch.ops.quest.attention_backward(grad_out, *call[:3], out, lse, *call.common(), gain_grad, mask_grad)


def _dropout(rows: Tensor, keys: int, dropout_p: float, dropout_seed: Tensor) -> Tensor:
    return torch.ops.quest.dropout_factors(rows, keys, dropout_p, int(dropout_seed))


def _dropout_shape(rows: Tensor, keys: int, dropout_p: float, dropout_seed: Tensor) -> Tensor:
    return rows.new_empty((*rows.shape[:3], keys), dtype=torch.float32)


def _empty_in_order_of(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """On the CPU, heads lie within rows where they do so in the input."""
    batch, heads, rows, dim = shape
    if tensor.device.type == "cpu" and tensor.stride(1) < tensor.stride(2):
        return tensor.new_empty((batch, rows, heads, dim)).transpose(1, 2)
    return tensor.new_empty(shape)


def _forward_shapes(*arguments: Any) -> tuple[Tensor, Tensor]:
    call = Call(*arguments)
    rows = call.q.shape[:3]
    has_two_parts = call.mask is not None and call.mask.is_floating_point()
    lse = call.q.new_empty((2, *rows) if has_two_parts else rows, dtype=torch.float32)
    return _empty_in_order_of(call.q, (*rows, call.v.shape[3])), lse


def _gradient_shapes(*arguments: Any) -> tuple[Tensor, ...]:
    call, (gain_grad, mask_grad) = Call(*arguments[:-5]), arguments[-2:]

    def like(tensor: Tensor | None, wanted: bool) -> Tensor:
        if tensor is None or not wanted:
            return call.q.new_empty((0,), dtype=torch.float32)
        return tensor.new_empty(tensor.shape)

    return (
        *(_empty_in_order_of(tensor, tensor.shape) for tensor in call[:3]),
        like(call.gain, gain_grad),
        like(call.mask, mask_grad),
    )


def _save_forward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    call = Call(*inputs)
    ctx.save_for_backward(*call[:9], *output)
    ctx.settings = call[9:]
    ctx.mark_non_differentiable(output[1])


def _backward(ctx: Any, grad_out: Tensor, _grad_lse: Tensor | None) -> tuple[Tensor | None, ...]:
    *tensors, out, lse = ctx.saved_tensors
    needed = ctx.needs_input_grad[:_DIFFERENTIABLE]
    gradients = torch.ops.quest.attention_gradients(*tensors, *ctx.settings, grad_out, out, lse, needed[3], needed[4])
    wanted = [gradient if need else None for gradient, need in zip(gradients, needed)]
    return (*wanted, *[None] * (len(ctx.needs_input_grad) - _DIFFERENTIABLE))


def _save_gradients(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    call, grad_out = Call(*inputs[:-5]), inputs[-5]
    ctx.save_for_backward(*call[:9], grad_out)
    ctx.settings = call[9:]
    ctx.asked = (True, True, True, *inputs[-2:])


def _differentiable(tensor: Tensor) -> Tensor:
    # A view, because the same tensor may be passed as q, k and v and each wants its own gradient.
    return tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_()


def _double_backward(ctx: Any, *second: Tensor | None) -> tuple[Tensor | None, ...]:
    """Derivatives of the gradients, by differentiating the formula twice."""
    create_graph = torch.is_grad_enabled()
    *tensors, grad_out = ctx.saved_tensors
    with torch.enable_grad():
        grad_out = _differentiable(grad_out)
        leaves: list[Any] = [_differentiable(x) if asked else x for x, asked in zip(tensors, ctx.asked)]
        call = Call(*leaves, *tensors[_DIFFERENTIABLE:], *ctx.settings)
        asked = [index for index in range(_DIFFERENTIABLE) if ctx.asked[index]]
        inputs = [leaves[index] for index in asked]
        first = torch.autograd.grad(attention_formula(call), inputs, grad_out, create_graph=True)
        known = [(gradient, second[index]) for gradient, index in zip(first, asked) if second[index] is not None]
        results = torch.autograd.grad(
            [gradient for gradient, _ in known],
            [*inputs, grad_out],
            [weight for _, weight in known],
            allow_unused=True,
            create_graph=create_graph,
        )
    answer: list[Tensor | None] = [None] * len(ctx.needs_input_grad)
    for index, result in zip([*asked, len(Call._fields)], results):
        answer[index] = result
    return tuple(answer)


_library.impl("attention", _forward, "CompositeExplicitAutograd")
_library.impl("attention_gradients", _gradients, "CompositeExplicitAutograd")
_library.impl("dropout", _dropout, "CompositeExplicitAutograd")
torch.library.register_fake("quest::dropout", _dropout_shape, lib=_library)
torch.library.register_fake("quest::attention", _forward_shapes, lib=_library)
torch.library.register_fake("quest::attention_gradients", _gradient_shapes, lib=_library)
torch.library.register_autograd("quest::attention", _backward, setup_context=_save_forward, lib=_library)
torch.library.register_autograd(
    "quest::attention_gradients", _double_backward, setup_context=_save_gradients, lib=_library
)
