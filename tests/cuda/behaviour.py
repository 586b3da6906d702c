"""What must hold beyond numbers: invariance, poison, empty tensors, repetition, graphs, streams, memory, messages."""

import itertools
import math
import time

import torch

import cases
import operators as ops
from accuracy import Errors, exact_results, poison_memory, run, standard_errors
from cases import BF16, F16, F32, Case

SHORT = Case(batch=4, heads=3, queries=197, dim=64)
GROUPS = Case(batch=4, heads=3, queries=257, dim=80)
GROUPS_OF_96 = Case(batch=4, heads=3, queries=300, dim=96)
GROUPS_OF_128 = Case(batch=4, heads=3, queries=200, dim=128)
LONG = Case(batch=1, heads=4, queries=1100, dim=128)
LONG_CAUSAL = Case(batch=1, heads=4, queries=1100, dim=64, causal=1)
TABLE = Case(batch=8, heads=8, queries=256, dim=16, causal=1)
OPTIONS = Case(
    heads=4, kv_heads=2, queries=150, keys=170, mask="float32", lengths=True, dropout=0.1, gain="both", normalize_q=True
)
FLOAT32 = Case(queries=100, dtype=F32)
PLAIN = (SHORT, GROUPS, GROUPS_OF_96, GROUPS_OF_128, LONG)
ENGINES = (*PLAIN, LONG_CAUSAL, TABLE, OPTIONS, FLOAT32)


def same_bits(a, b):
    return all(torch.equal(a[name].nan_to_num(), b[name].nan_to_num()) for name in a)


def raises(parts, function):
    try:
        function()
    except RuntimeError as error:
        for part in parts:
            assert part in str(error), f"'{part}' is missing in: {error}"
        return
    raise AssertionError("nothing was raised")


def close(actual, expected, tolerance, what):
    error = Errors(actual, expected.double()).mean
    assert error <= tolerance, f"{what}: error {error:.2e}, allowed {tolerance:.0e}"


TOLERANCE = {BF16: 5e-3, F16: 7e-4, F32: 5e-6}


def test_norms_of_keys_do_not_matter():
    for case in (*PLAIN, OPTIONS):
        for dtype, largest in ((BF16, 30), (F32, 30), (F16, 3)):
            case_of = Case(**{**case.__dict__, "dtype": dtype, "mask": "", "dropout": 0.0})
            q, k, v, grad_out, options = cases.inputs(case_of, "cuda")
            # Powers of two, so that the direction of a key is the same number.
            powers = torch.linspace(-largest, largest, k.shape[2], device="cuda").mul(math.log2(10)).round()
            factors = torch.exp2(powers).view(-1, 1)
            k = k.sign() * k.abs().clamp(0.25, 2.0)
            scaled = (k.float() * factors).to(dtype)
            kept = scaled.float().isfinite() & (scaled.float() / factors == k.float())
            assert kept.all(), "the test's own scaling must be exact"
            plain, grown = run(q, k, v, grad_out, options), run(q, scaled, v, grad_out, options)
            close(grown["out"], plain["out"], TOLERANCE[dtype] / 4, f"{case_of}: output")
            close(grown["grad_q"], plain["grad_q"], TOLERANCE[dtype] / 4, f"{case_of}: grad_q")
            close(grown["grad_v"], plain["grad_v"], TOLERANCE[dtype] / 4, f"{case_of}: grad_v")


def test_zero_keys_and_queries():
    for case in ENGINES:
        q, k, v, grad_out, options = cases.inputs(case, "cuda")
        k, q = k.clone(), q.clone()
        k[:, :, ::3] = 0
        q[:, :, ::5] = 0
        actual = run(q, k, v, grad_out, options)
        exact = exact_results(q, k, v, grad_out, options)
        exact["grad_k"][:, :, ::3] = 0
        assert actual["grad_k"][:, :, ::3].count_nonzero() == 0, f"{case}: a zero key has no gradient"
        if case.normalize_q:
            exact["grad_q"][:, :, ::5] = 0
            assert actual["grad_q"][:, :, ::5].count_nonzero() == 0, f"{case}: a zero query has no gradient"
        for name in ("out", "grad_q", "grad_k", "grad_v"):
            close(actual[name], exact[name], TOLERANCE[case.dtype], f"{case}: {name}")


def test_large_and_tiny_rows():
    for value, dtype in ((6e4, F16), (6e-8, F16), (1e-38, BF16), (3e38, BF16), (1e-38, F32), (3e38, F32)):
        for base in (SHORT, LONG, OPTIONS):
            case = Case(**{**base.__dict__, "dtype": dtype, "normalize_q": True, "scale": 8.0})
            q, k, v, grad_out, options = cases.inputs(case, "cuda")
            signs = k.float().sign()
            k = (signs * value).to(dtype)
            q = (q.float().sign() * value).to(dtype)
            out, lse = ops.forward(q, k, v, **options)
            unit = (signs / math.sqrt(k.shape[3])).double()
            exact, exact_lse, _, _ = ops.exact(q.double().sign(), unit, v.double(), **options)
            close(out, exact, 1.5 * TOLERANCE[dtype], f"{case} of {value:g}: output")
            seen = exact_lse.isfinite()
            close(ops.by_query(lse)[seen], exact_lse[seen], TOLERANCE[dtype], f"{case} of {value:g}: lse")


def test_sharpness_of_queries():
    for base in (*PLAIN, LONG_CAUSAL, FLOAT32):
        for norm in (1e-3, 1.0, 40.0, 60.0, 300.0, 1e4):
            q, k, v, grad_out, options = cases.inputs(base, "cuda")
            q = (torch.nn.functional.normalize(q.float(), dim=-1) * norm).to(base.dtype)
            actual = run(q, k, v, grad_out, options)
            exact = exact_results(q, k, v, grad_out, options)
            for name, x in actual.items():
                assert x.isfinite().all(), f"{base}, norm {norm:g}: {name} is not finite"
            if norm <= 40.0:
                # A logit is rounded in proportion to its size.
                allowed = TOLERANCE[base.dtype] * max(1.0, norm / 8.0)
                close(actual["out"], exact["out"], allowed, f"{base}, norm {norm:g}: output")
            one_hot = ops.unit_rows(q.double()) @ ops.unit_rows(k.double()).transpose(-1, -2)
            largest = torch.where(ops.visible_pairs(q, k, causal=base.causal), one_hot, -math.inf).amax(-1)
            assert (actual["lse"] >= norm * (largest - 0.02) - 0.1).all(), f"{base}, norm {norm:g}: lse too small"


def test_every_key_may_be_opposite():
    """Weights are exp(score - lse), and zero of what is no key: also where exp(-lse) alone would overflow."""
    for base, causal in itertools.product((*PLAIN, TABLE, FLOAT32), (0, 1)):
        case = Case(**{**base.__dict__, "causal": causal})
        q, k, v, grad_out, options = cases.inputs(case, "cuda")
        direction = torch.nn.functional.normalize(torch.randn(k.shape[3], device="cuda"), dim=0)
        k = (10 * direction + k.float()).to(case.dtype)
        q = (-250 * direction + q.float()).to(case.dtype)
        actual, exact = run(q, k, v, grad_out, options), exact_results(q, k, v, grad_out, options)
        for name, x in actual.items():
            assert x.isfinite().all(), f"{case}: {name} is not finite"
        assert (exact["lse"] < -100).all(), "the test's own rows must be far below zero"
        close(actual["lse"], exact["lse"], TOLERANCE[case.dtype], f"{case}: lse")
        # A logit is rounded in proportion to its size.
        close(actual["out"], exact["out"], TOLERANCE[case.dtype] * 250 / 8, f"{case}: output")


def test_hidden_rows_are_zero():
    for dtype in (BF16, F16, F32):
        case = Case(queries=70, keys=90, mask="rows", dtype=dtype)
        q, k, v, grad_out, options = cases.inputs(case, "cuda")
        poison_memory()
        actual = run(q, k, v, grad_out, options)
        assert actual["out"][:, :, ::3].count_nonzero() == 0 and actual["grad_q"][:, :, ::3].count_nonzero() == 0
        assert (actual["lse"][:, :, ::3] == -math.inf).all()
        actual = run(q, k, v, grad_out, {**options, "mask": torch.zeros_like(options["mask"])})
        assert all(actual[name].count_nonzero() == 0 for name in ("out", "grad_q", "grad_k", "grad_v"))


def test_rows_that_see_nothing_are_told_from_vanishing_weights():
    """Weights relative to a bound instead of the largest one vanish where every key that is seen is opposite."""
    for dtype, norm in itertools.product((BF16, F16), (5.0, 9.0, 12.0, 16.0, 30.0, 50.0, 65.0)):
        case = Case(queries=130, keys=200, mask="rows", dtype=dtype)
        q, k, v, grad_out, options = cases.inputs(case, "cuda")
        direction = torch.nn.functional.normalize(torch.randn(k.shape[3], device="cuda"), dim=0)
        k = (10 * direction + 0.1 * k.float()).to(dtype)
        q = (-norm * direction + 0.1 * q.float()).to(dtype)
        actual, exact = run(q, k, v, grad_out, options), exact_results(q, k, v, grad_out, options)
        seen = exact["lse"] > -math.inf
        assert torch.equal(actual["lse"] > -math.inf, seen), f"{case}, norm {norm:g}: other rows see nothing"
        close(actual["lse"][seen], exact["lse"][seen], TOLERANCE[dtype], f"{case}, norm {norm:g}: lse")
        close(actual["out"], exact["out"], TOLERANCE[dtype] * max(1.0, norm / 8), f"{case}, norm {norm:g}: output")


def test_a_bias_of_any_finite_size_does_not_hide():
    """Queries of zeros score zero, so that float64 has no digits of a logit that float32 lacks beside the bias."""
    for dtype, mask, dim in itertools.product((BF16, F16, F32), ("own", "float32"), (16, 64, 128, 256)):
        case = Case(queries=70, keys=96, dim=dim, mask=mask, dtype=dtype)
        q, k, v, grad_out, options = cases.inputs(case, "cuda")
        q[:, :, ::3] = 0
        largest = torch.finfo(options["mask"].dtype).max
        for size, sign in itertools.product((1e4, 1e9, largest), (-1, 1)):
            number = sign * min(size, largest)
            options["mask"][:, :, ::3] = number
            poison_memory()
            actual, exact = run(q, k, v, grad_out, options), exact_results(q, k, v, grad_out, options)
            for name, x in exact.items():
                close(actual[name], x, 3 * TOLERANCE[dtype], f"{case}, {number:g}: {name}")
            _, lse = ops.forward(q, k, v, **options)
            entropy = ops.statistics(q, k, lse, **options)["entropy"][:, :, ::3]
            uniform = torch.full_like(entropy, math.log(k.shape[2]))
            close(entropy, uniform, TOLERANCE[dtype], f"{case}, {number:g}: entropy")


def poisoned(case, hide):
    """NaN in the keys and values that no query sees: nothing changes, and their gradients are zero."""
    q, k, v, grad_out, options = cases.inputs(case, "cuda")
    hidden = hide(q, k, options)  # [B, Nk], after changing the options
    clean_k, clean_v = (x.clone().masked_fill_(hidden[:, None, :, None], 0.0) for x in (k, v))
    k, v = (x.clone().masked_fill_(hidden[:, None, :, None], math.nan) for x in (k, v))
    poison_memory()
    expected, actual = run(q, clean_k, clean_v, grad_out, options), run(q, k, v, grad_out, options)
    for name in expected:
        # Another pass over the keys may round otherwise.
        close(actual[name], expected[name], TOLERANCE[case.dtype], f"{case}: {name} beside NaN in hidden keys")
    rows = hidden[:, None, :].expand(-1, k.shape[1], -1)
    assert actual["grad_k"][rows].count_nonzero() == 0 and actual["grad_v"][rows].count_nonzero() == 0


def test_poison_in_hidden_keys_does_not_leak():
    def by_length(q, k, options):
        options["key_lengths"] = torch.arange(1, q.shape[0] + 1, device="cuda") * (k.shape[2] // (q.shape[0] + 1))
        return torch.arange(k.shape[2], device="cuda") >= options["key_lengths"].view(-1, 1)

    def by_mask(kind):
        def hide(q, k, options):
            seen = torch.rand(q.shape[0], k.shape[2], device="cuda") < 0.8
            mask = seen[:, None, None, :]
            added = torch.where(mask, 0.5, -math.inf)
            options["mask"] = {"bool": mask, "float32": added, "own": added.to(q.dtype)}[kind]
            return ~seen

        return hide

    def by_order(q, k, options):
        options["causal"] = 1
        return (torch.arange(k.shape[2], device="cuda") >= q.shape[2]).expand(q.shape[0], -1)

    for dtype in (BF16, F16, F32):
        for dim, keys, gain in ((64, 190, ""), (128, 700, ""), (16, 250, ""), (8, 190, "both")):
            case = Case(queries=130, keys=keys, dim=dim, gain=gain, dtype=dtype)
            for hide in (by_length, by_mask("bool"), by_mask("float32"), by_mask("own"), by_order):
                poisoned(case, hide)


def test_values_that_a_query_does_not_see_cost_it_no_digits():
    """The bound that gives grad_q its fixed point is that of the visible values."""
    for (dtype, size), dim, kind in itertools.product(((BF16, 1e30), (F16, 2e3)), (16, 64, 128, 256), ("bool", "own")):
        case = Case(queries=130, keys=300, dim=dim, dtype=dtype)
        q, k, v, grad_out, options = cases.inputs(case, "cuda")
        huge = torch.arange(k.shape[2], device="cuda") % 50 == 7
        seen = torch.rand(q.shape[0], 1, q.shape[2], k.shape[2], device="cuda") < 0.8
        seen[:, :, 1:] &= ~huge  # by all queries but the first
        options["mask"] = seen if kind == "bool" else torch.where(seen, 0.5, -math.inf).to(dtype)
        with_huge, without = (v.clone().masked_fill_(huge[:, None], x) for x in (size, 0.0))
        actual, expected = run(q, k, with_huge, grad_out, options), run(q, k, without, grad_out, options)
        actual, expected = (results["grad_q"][:, :, 1:] for results in (actual, expected))
        close(actual, expected, TOLERANCE[dtype] / 4, f"{case}, {kind}: grad_q of the others")


def test_poison_reaches_only_the_queries_that_see_it():
    for case in (SHORT, GROUPS, LONG_CAUSAL, TABLE, Case(queries=300, dim=128), FLOAT32):
        case = Case(**{**case.__dict__, "causal": 1})
        q, k, v, grad_out, options = cases.inputs(case, "cuda")
        clean = run(q, k, v, grad_out, options)
        row = 2 * case.queries // 3
        k, v = k.clone(), v.clone()
        k[:, :, row], v[:, :, row] = math.nan, math.nan
        actual = run(q, k, v, grad_out, options)
        for name in ("out", "lse", "grad_q"):
            before = TOLERANCE[case.dtype] / 4
            close(actual[name][:, :, :row], clean[name][:, :, :row], before, f"{case}: {name} before the NaN")
            assert actual[name][:, :, row:].isnan().all(), f"{case}: {name} from the NaN on"


def test_a_key_infinitely_far_away_does_not_count():
    for dim, dtype in itertools.product((8, 64), (BF16, F16)):
        case = Case(queries=130, dim=dim, normalize_k=False, gain="both", dtype=dtype)
        q, k, v, _, options = cases.inputs(case, "cuda")
        q = -q.abs()
        without, _ = ops.forward(q, k[:, :, 1:], v[:, :, 1:], **options)
        k[:, :, 0, 1] = math.inf
        out, _ = ops.forward(q, k, v, **options)
        close(out, without, TOLERANCE[dtype] / 4, str(case))


def more_than_standard(case):
    """Errors as multiples of those of PyTorch's standard attention on the same inputs."""
    inputs = cases.inputs(case, "cuda")
    standard, exact, actual = standard_errors(*inputs), exact_results(*inputs), run(*inputs)
    names = ("out", "grad_q", "grad_k", "grad_v")
    return {name: Errors(actual[name], exact[name]).mean / of.mean for name, of in zip(names, standard) if of.mean > 0}


def test_a_single_key_has_a_weight_of_one():
    for dim, dtype in itertools.product((8, 64, 80, 128, 256), (BF16, F16)):
        case = Case(batch=25, heads=4, queries=197, keys=1, dim=dim, dtype=dtype)
        q, k, v, _, options = cases.inputs(case, "cuda")
        out, _ = ops.forward(q, k, v, **options)
        assert torch.equal(out, v.expand_as(out)), f"{case}: the output is not the value"
        ratio = more_than_standard(case)["grad_v"]
        assert ratio <= 1.05, f"{case}: grad_v has {ratio:.2f} times the error"


def test_nothing_at_all():
    for batch, queries, keys in ((2, 5, 0), (2, 0, 5), (0, 5, 5), (0, 0, 0), (2, 0, 0)):
        for dtype in (BF16, F32):
            q, k, v = (torch.randn(batch, 2, n, 64, device="cuda").to(dtype) for n in (queries, keys, keys))
            actual = run(q, k, v, torch.ones_like(q), {})
            assert actual["out"].shape == q.shape and actual["out"].count_nonzero() == 0
            assert (actual["lse"] == -math.inf).all()
            assert all(actual[f"grad_{x}"].count_nonzero() == 0 for x in "qkv")
            host = ops.statistics(q.cpu(), k.cpu(), actual["lse"].cpu())
            for name, x in ops.statistics(q, k, actual["lse"]).items():
                assert x.shape == host[name].shape, name
                assert torch.allclose(x.cpu(), host[name], rtol=1e-5, atol=0), f"{name} of {batch, queries, keys}"
            assert ops.dropout_factors(q, keys, 0.5, 1).shape == (batch, 2, queries, keys)


def test_dropout_is_that_of_the_cpu():
    q = torch.empty(3, 5, 67, 8, device="cuda")
    for keys, p, seed in ((129, 0.1, 0), (1, 0.5, -3), (64, 0.9, 2**62 + 1), (300, 0.0, 5)):
        expected = ops.dropout_factors(q.cpu(), keys, p, seed)
        assert torch.equal(ops.dropout_factors(q, keys, p, seed).cpu(), expected), f"p {p}, seed {seed}"


def test_lengths_may_be_of_either_type_and_on_either_device():
    case = Case(queries=80, keys=120, lengths=True)
    q, k, v, grad_out, options = cases.inputs(case, "cuda")
    lengths = options.pop("key_lengths")
    expected = run(q, k, v, grad_out, {**options, "key_lengths": lengths})
    spread = torch.stack([lengths, lengths], 1)[:, 0]
    for other in (lengths.int(), lengths.cpu(), lengths.int().cpu(), spread):
        assert same_bits(run(q, k, v, grad_out, {**options, "key_lengths": other}), expected)
    raises(["key_lengths", "121"], lambda: ops.forward(q, k, v, key_lengths=torch.tensor([121, 1])))
    # On the device nobody reads them before the kernels do: out of range is as far as the keys go.
    wild = torch.tensor([-5, 10**12], device="cuda")
    tame = torch.tensor([0, 120], device="cuda")
    assert same_bits(run(q, k, v, grad_out, {"key_lengths": wild}), run(q, k, v, grad_out, {"key_lengths": tame}))


def test_repetition_gives_the_same_bits():
    for case in ENGINES:
        q, k, v, grad_out, options = cases.inputs(case, "cuda")
        first = run(q, k, v, grad_out, options)
        different = torch.zeros((), dtype=torch.long, device="cuda")
        for _ in range(1000 if case is not LONG else 300):
            for name, x in run(q, k, v, grad_out, options).items():
                different += (x.view(torch.uint8) != first[name].view(torch.uint8)).any()
        assert different.item() == 0, f"{case}: {different.item()} results differ"


def test_graph_replay():
    for case in ENGINES:
        q, k, v, grad_out, options = cases.inputs(case, "cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            run(q, k, v, grad_out, options)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = run(q, k, v, grad_out, options)
        for _ in range(3):
            for x in (q, k, v, grad_out):
                x.copy_(torch.randn_like(x))
            graph.replay()
            assert same_bits({n: x.clone() for n, x in captured.items()}, run(q, k, v, grad_out, options)), f"{case}"


def test_work_goes_to_the_current_stream_and_nobody_waits():
    case = Case(queries=200, lengths=True, mask="float32")
    q, k, v, grad_out, options = cases.inputs(case, "cuda")
    expected = run(q, k, v, grad_out, options)
    late = torch.zeros_like(q)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        run(q, k, v, grad_out, options)  # the allocator's first blocks for this stream
        torch.cuda.synchronize()
        start = time.perf_counter()
        torch.cuda._sleep(int(4e8))  # a fifth of a second
        late.copy_(q)
        actual = run(late, k, v, grad_out, options)
        waited = time.perf_counter() - start
        running = not side.query()
    side.synchronize()
    assert running and waited < 0.1, f"the host waited {waited:.3f} s for the device"
    assert same_bits(actual, expected)


def test_memory_grows_with_the_length_only():
    case = Case(batch=1, heads=2, queries=16384, dim=64)
    for dtype in (BF16, F32):
        q, k, v, grad_out, options = cases.inputs(Case(**{**case.__dict__, "dtype": dtype}), "cuda")
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run(q, k, v, grad_out, options)
        used = torch.cuda.max_memory_allocated() - before
        assert used <= 24 * q.numel() * 4, f"{dtype}: {used / 2**20:.0f} MiB beyond inputs of {q.nbytes / 2**20:.0f} MiB"


def test_another_device():
    if torch.cuda.device_count() < 2:
        return
    q, k, v, grad_out, options = cases.inputs(SHORT, "cuda:0")
    expected = run(q, k, v, grad_out, options)
    there = [x.to("cuda:1") for x in (q, k, v, grad_out)]
    actual = run(*there, ops.moved(options, "cuda:1"))
    assert same_bits({n: x.to("cuda:0") for n, x in actual.items()}, expected)


def test_messages():
    q, k, v = (torch.randn(2, 4, n, 24, device="cuda") for n in (33, 41, 41))
    raises(["k must", "cuda:0", "cpu"], lambda: ops.forward(q, k.cpu(), v))
    raises(["mask must", "cuda:0", "cpu"], lambda: ops.forward(q, k, v, mask=torch.ones(33, 41)))
    raises(["k must", "cpu", "cuda:0"], lambda: ops.forward(q.cpu(), k, v))
    raises(["float32", "float64", "reference"], lambda: ops.forward(q.double(), k.double(), v.double()))
    wide = torch.randn(1, 1, 8, 260, device="cuda")
    raises(["256", "260", "reference"], lambda: ops.forward(wide, wide, wide))
    raises(["256", "260", "reference"], lambda: ops.forward(wide[..., :64], wide[..., :64], wide))
    out, lse = ops.forward(q, k, v)
    raises(["lse must", "[2, 4, 33]"], lambda: ops.backward(out, q, k, v, out, lse[0]))
    raises(["dropout_p must", "1.5"], lambda: ops.forward(q, k, v, dropout_p=1.5))


SMALL = (
    test_zero_keys_and_queries, test_hidden_rows_are_zero, test_poison_in_hidden_keys_does_not_leak,
    test_nothing_at_all, test_dropout_is_that_of_the_cpu,
)  # fmt: skip
