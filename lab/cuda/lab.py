"""The laboratory's kernels as Python functions over torch tensors."""

import ctypes
import os
import pathlib

import torch

_DEFAULT = pathlib.Path(__file__).parent / "build" / "libquest_lab.so"
_library = ctypes.CDLL(os.environ.get("QUEST_LAB_LIBRARY", str(_DEFAULT)))
_POINTER, _INT = ctypes.c_void_p, ctypes.c_int


class _Forward(ctypes.Structure):
    _fields_ = [(n, _POINTER) for n in ("q", "k", "v", "out", "lse")] + [("heads", _INT), ("length", _INT)]


class _Backward(ctypes.Structure):
    _fields_ = [
        (n, _POINTER) for n in ("grad_out", "q", "k", "v", "out", "lse", "grad_q", "grad_k", "grad_v")
    ] + [("heads", _INT), ("length", _INT)]


def _stream():
    return _POINTER(torch.cuda.current_stream().cuda_stream)


def _check(code, name):
    if code != 0:
        raise RuntimeError(f"{name}: expected CUDA status 0, got {code}")


def _call(function, structure, tensors, q, causal):
    problem = structure(*[t.data_ptr() for t in tensors], q.shape[0] * q.shape[1], q.shape[2])
    _check(function(ctypes.byref(problem), _INT(q.shape[3]), _INT(causal), _stream()), function.__name__)


def short_forward(q, k, v, causal, out, lse):
    _call(_library.quest_short_forward, _Forward, (q, k, v, out, lse), q, causal)


def short_backward(grad_out, q, k, v, out, lse, causal, grad_q, grad_k, grad_v):
    tensors = (grad_out, q, k, v, out, lse, grad_q, grad_k, grad_v)
    _call(_library.quest_short_backward, _Backward, tensors, q, causal)


def _address(tensor):
    return _POINTER(tensor.data_ptr())


def normalize_keys(k, unit, reciprocal_norm):
    rows = ctypes.c_int64(k.numel() // k.shape[-1])
    arguments = (_address(k), _address(unit), _address(reciprocal_norm), rows, _INT(k.shape[-1]), _stream())
    _check(_library.quest_normalize_keys(*arguments), "normalize_keys")


def project_gradient(unit, reciprocal_norm, grad_unit, grad_k):
    rows = ctypes.c_int64(unit.numel() // unit.shape[-1])
    tensors = (unit, reciprocal_norm, grad_unit, grad_k)
    _check(
        _library.quest_project_gradient(*map(_address, tensors), rows, _INT(unit.shape[-1]), _stream()),
        "project_gradient",
    )


class UnitKeys(torch.autograd.Function):
    """k / |k|, its gradient projected in place of the incoming one."""

    @staticmethod
    def forward(ctx, k):
        unit = torch.empty_like(k)
        reciprocal_norm = torch.empty(k.shape[:-1], dtype=torch.float32, device=k.device)
        normalize_keys(k, unit, reciprocal_norm)
        ctx.save_for_backward(unit, reciprocal_norm)
        return unit

    @staticmethod
    def backward(ctx, grad_unit):
        unit, reciprocal_norm = ctx.saved_tensors
        grad_k = torch.empty_like(unit)
        project_gradient(unit, reciprocal_norm, grad_unit.contiguous(), grad_k)
        return grad_k
