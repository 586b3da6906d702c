"""Every case against the plain formula in float64 on the same rounded inputs.

The budget of a 16-bit type is 1.5 times the error of PyTorch's standard attention in that type on inputs of the same
size; of float32 it is fixed. Errors are relative, in the root mean square and at the worst element.
"""

import math

import torch

import cases
import operators as ops

MORE_THAN_STANDARD = 1.5
# Means over fewer rows than cases.LEAST_ROWS are too much a matter of chance for that.
MORE_OF_FEW_ROWS = 1.25
# One largest error beside another, each of thousands.
WORST_MORE_THAN_STANDARD = 4.0
# Under a sanitizer, in the mean and at the worst element: it looks at memory, and should not look at torch's kernels.
SANITIZED_ERRORS = (0.05, 1.0)
# What rounding the result alone costs, for cases so small that standard attention happens to make no error.
LEAST_STANDARD_ERROR = {torch.bfloat16: 2.2e-3, torch.float16: 2.8e-4}
FLOAT32_ERROR = 5e-6
FLOAT32_WORST = 2e-5
# Of the size of grad_out: gradients smaller than this are differences of larger terms and are held to their size.
SMALLEST_GRADIENT = {torch.bfloat16: 0.05, torch.float16: 0.05, torch.float32: 0.1}
LSE_ERROR = {torch.bfloat16: 1e-2, torch.float16: 2e-3, torch.float32: 1e-5}
STATISTICS_ERROR = {torch.bfloat16: 1e-2, torch.float16: 2e-3, torch.float32: 2e-5}
GRADIENTS = ("grad_q", "grad_k", "grad_v", "grad_gain", "grad_mask")


def rms(x):
    return x.double().square().mean().sqrt().item() if x.numel() else 0.0


def poison_memory():
    """Fills what torch's allocator will hand out next with NaN, so that an element nobody wrote is seen."""
    sizes = [1 << 25] * 2 + [1 << 18] * 24 + [1 << 12] * 64
    blocks = [torch.full((size,), math.nan, device="cuda") for size in sizes]
    del blocks


class Errors:
    """Relative errors of one result: root mean square, and at the worst element."""

    def __init__(self, actual, exact, least_size=0.0):
        difference = actual.double() - exact
        if exact.numel() == 0:
            self.mean = self.worst = 0.0
        elif not difference.isfinite().all():
            self.mean = self.worst = math.inf
        else:
            size = max(rms(exact), least_size, 1e-30)
            self.mean = rms(difference) / size
            self.worst = difference.abs().max().item() / max(exact.abs().max().item(), size)


def gradients_of(function, inputs, grad_out):
    out = function(*inputs)
    return [out.detach(), *torch.autograd.grad(out, inputs, grad_out)]


def standard_errors(q, k, v, grad_out, options):
    """Errors of PyTorch's attention on these inputs: output and the gradients of q, k, v."""
    seen = None
    masked = any(options.get(name) is not None for name in ("mask", "key_lengths", "cu_seqlens_q"))
    causal = options.get("causal") == 1 and not masked
    if masked or options.get("causal") == 2:
        seen = ops.visible_in_all(q, k, options)
        seen = seen | ~seen.any(-1, keepdim=True)
        seen = seen.expand(q.shape[0], q.shape[1], -1, -1)
    # Copies, because PyTorch's kernels do not take every layout.
    q, k, v, grad_out = (x.detach().clone(memory_format=torch.contiguous_format) for x in (q, k, v, grad_out))
    narrow = [x.requires_grad_() for x in (q, k, v)]
    wide = [x.detach().double().requires_grad_() for x in (q, k, v)]
    actual = gradients_of(lambda *x: ops.standard(*x, seen, causal), narrow, grad_out)
    exact = gradients_of(lambda *x: ops.standard(*x, seen, causal), wide, grad_out.double())
    least = SMALLEST_GRADIENT[q.dtype] * rms(grad_out)
    return [Errors(a, e, least) for a, e in zip(actual, exact)]


def gain_scale(q, grad_q, gain):
    """The size the gain's sums of products of q and its gradient would have if their signs were random."""
    squares = (q.double() * grad_q).square().sum((0, 2))
    return rms(squares.sum_to_size(gain.shape).sqrt())


def exact_results(q, k, v, grad_out, options):
    """Output, log-sum-exp and gradients in float64, as a dictionary."""
    wide = {"grad_q": q, "grad_k": k, "grad_v": v}
    options = dict(options)
    for name in ("gain", "mask"):
        if options.get(name) is not None and options[name].dtype != torch.bool:
            wide[f"grad_{name}"] = options[name]
    wide = {name: x.detach().double().requires_grad_() for name, x in wide.items()}
    options.update({name.removeprefix("grad_"): x for name, x in wide.items() if name in ("grad_gain", "grad_mask")})
    out, lse, _, _ = ops.exact_for(wide["grad_q"], wide["grad_k"], wide["grad_v"], **options)
    gradients = torch.autograd.grad(out, list(wide.values()), grad_out.double(), allow_unused=True)
    exact = {n: torch.zeros_like(x) if g is None else g for (n, x), g in zip(wide.items(), gradients)}
    return {"out": out.detach(), "lse": lse.detach(), **exact}


def run(q, k, v, grad_out, options):
    gain_grad = options.get("gain") is not None
    mask_grad = options.get("mask") is not None and options["mask"].dtype != torch.bool
    out, lse = ops.forward(q, k, v, **options)
    gradients = ops.backward(grad_out, q, k, v, out, lse, gain_grad=gain_grad, mask_grad=mask_grad, **options)
    results = dict(zip(GRADIENTS, gradients))
    wanted = {"grad_gain": gain_grad, "grad_mask": mask_grad}
    return {"out": out, "lse": ops.by_query(lse), **{n: g for n, g in results.items() if wanted.get(n, True)}}


def lse_problem(actual, exact, allowed):
    hidden = exact == -math.inf
    if not torch.equal(hidden, actual == -math.inf):
        return "lse: -inf in other rows than expected"
    error = ((actual.double() - exact) / exact.abs().clamp(min=1.0))[~hidden].abs()
    worst = error.max().item() if error.numel() else 0.0
    return None if worst <= allowed else f"lse: error {worst:.2e}, allowed {allowed:.0e}"


def budgets(case, q, k, v, grad_out, options):
    """For each result the allowed error in the mean and at the worst element."""
    if case.dtype == torch.float32:
        return {name: (FLOAT32_ERROR, FLOAT32_WORST) for name in ("out", *GRADIENTS)}
    least = LEAST_STANDARD_ERROR[case.dtype]
    standard = standard_errors(q, k, v, grad_out, options)
    more = MORE_THAN_STANDARD
    if q.shape[:3].numel() < cases.LEAST_ROWS:
        more *= MORE_OF_FEW_ROWS
    limits = {}
    for name, errors in zip(("out", "grad_q", "grad_k", "grad_v"), standard):
        limits[name] = (more * max(errors.mean, least), WORST_MORE_THAN_STANDARD * max(errors.worst, least))
    if case.dropout:  # which enlarges the rounded output beside the gradients formed from it
        limits = {name: tuple(limit / (1.0 - case.dropout) for limit in pair) for name, pair in limits.items()}
    # Sums of many products of both signs.
    limits["grad_gain"] = limits["grad_mask"] = tuple(4.0 * limit for limit in limits["grad_q"])
    return limits


def problems(case, small):
    """What is wrong with a case, as lines; and how much of its budget it uses."""
    q, k, v, grad_out, options = cases.inputs(case, "cuda")
    if small:
        limits = dict.fromkeys(("out", *GRADIENTS), SANITIZED_ERRORS)
    else:
        limits = budgets(case, q, k, v, grad_out, options)
    exact = exact_results(q, k, v, grad_out, options)
    poison_memory()
    actual = run(q, k, v, grad_out, options)
    found = [lse_problem(actual["lse"], exact["lse"], LSE_ERROR[case.dtype])]
    used = 0.0
    for name, (mean_limit, worst_limit) in limits.items():
        if name not in actual:
            continue
        least = SMALLEST_GRADIENT[case.dtype] * rms(grad_out)
        if name == "grad_gain":
            least = max(least, gain_scale(q, exact["grad_q"], options["gain"]))
        if name == "grad_mask" and case.mask == "broadcast":  # the exact gradient is zero
            least = math.sqrt(v.shape[3]) * rms(grad_out)
        errors = Errors(actual[name], exact[name], least)
        used = max(used, errors.mean / mean_limit)
        if errors.mean > mean_limit or errors.worst > worst_limit:
            found.append(
                f"{name}: error {errors.mean:.2e}, worst {errors.worst:.2e}, "
                f"allowed {mean_limit:.2e} and {worst_limit:.2e}"
            )
    return [line for line in found if line], used


def statistics_problems(case):
    """Against the CPU's operator, from its own log-sum-exp."""
    q, k, v, _, options = cases.inputs(case, "cuda")
    host = ops.moved(options, "cpu")
    _, host_lse = ops.forward(q.cpu(), k.cpu(), v.cpu(), **host)
    expected = ops.statistics(q.cpu(), k.cpu(), host_lse, **host)
    poison_memory()
    actual = ops.statistics(q, k, host_lse.cuda(), **options)
    found = []
    for name, x in expected.items():
        y = actual[name].cpu()
        finite = x.isfinite()
        if not torch.equal(finite, y.isfinite()) or not torch.equal(x[~finite], y[~finite]):
            found.append(f"{name}: not finite elsewhere than on the CPU")
            continue
        error = (x[finite] - y[finite]).abs()
        worst = error.max().item() / max(1.0, x[finite].abs().max().item()) if error.numel() else 0.0
        if worst > STATISTICS_ERROR[case.dtype]:
            found.append(f"{name}: error {worst:.2e}, allowed {STATISTICS_ERROR[case.dtype]:.0e}")
    return found


def failures(small, announce):
    """Lines that say which case failed and how; and a line of summary. Each case is announced before it runs."""
    lines, most_used, count = [], (0.0, ""), 0
    for case in cases.few_cases() if small else cases.every_case():
        count += 1
        announce(case)
        found, used = problems(case, small)
        most_used = max(most_used, (used, str(case)))
        lines += [f"{case}: {line}" for line in found]
    statistics_cases = list(cases.many_options(10, 100) if small else cases.one_option_each())
    for case in statistics_cases:
        announce(f"statistics of {case}")
        lines += [f"statistics of {case}: {line}" for line in statistics_problems(case)]
    summary = f"{count} cases, at most {most_used[0]:.2f} of the budget used ({most_used[1]})"
    return lines, f"{summary}; statistics of {len(statistics_cases)} cases"
