"""The cases: shapes, types and options, each with its inputs made from its name."""

import dataclasses
import itertools
import math
import random
import zlib

import torch

BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32
# Of scores in a case whose errors are compared with others: those of fewer are too much a matter of chance.
LEAST_ROWS = 3000


@dataclasses.dataclass(frozen=True)
class Case:
    batch: int = 2
    heads: int = 3
    kv_heads: int = 0  # 0: as many as heads
    queries: int = 65
    keys: int = 0  # 0: as many as queries
    dim: int = 64
    value_dim: int = 0  # 0: dim
    dtype: torch.dtype = BF16
    normalize_q: bool = False
    normalize_k: bool = True
    gain: str = ""  # scalar, head, dim, both
    scale: float = 1.0
    causal: int = 0
    mask: str = ""  # bool, rows (hides some rows entirely), window, float32, own (the type of q), heads, keys
    lengths: bool = False
    packed: bool = False
    dropout: float = 0.0
    layout: str = ""  # qkv, rows (batch, length, heads), odd (off by one element), columns, expanded

    def __str__(self):
        shown = [str(self.dtype).removeprefix("torch.")]
        shown += [f"{self.batch},{self.heads},{self.queries},{self.dim}"]
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name not in ("batch", "heads", "queries", "dim", "dtype") and value != field.default:
                shown.append(f"{field.name}={value:g}" if isinstance(value, float) else f"{field.name}={value}")
        return " ".join(shown)


def laid_out(x, layout):
    """The same numbers with other strides."""
    batch, heads, rows, dim = x.shape
    if layout in ("qkv", "rows"):
        parts = 3 if layout == "qkv" else 1
        store = torch.zeros(batch, rows, parts, heads, dim, dtype=x.dtype, device=x.device)
        view = store.select(2, parts // 2).transpose(1, 2)
        return view.copy_(x)
    if layout == "odd":
        store = torch.zeros(x.numel() + 1, dtype=x.dtype, device=x.device)
        return store[1:].view(x.shape).copy_(x)
    if layout == "columns":
        return x.transpose(2, 3).contiguous().transpose(2, 3)
    if layout == "expanded":
        return x[:, :1].expand(-1, heads, -1, -1)
    return x


def offsets(total, sequences, generator):
    inner = torch.randint(0, total + 1, (sequences - 1,), generator=generator).sort().values
    return torch.cat([torch.tensor([0]), inner, torch.tensor([total])])


def make_mask(case, generator):
    keys = case.keys or case.queries
    shape = {"heads": (case.heads, 1, keys), "keys": (keys,), "broadcast": (case.batch, 1, case.queries, 1)}.get(
        case.mask, (case.batch, 1, case.queries, keys)
    )
    if case.mask == "float32" or case.mask == "heads":
        return torch.randn(shape, generator=generator)
    if case.mask == "own" or case.mask == "broadcast":
        return torch.randn(shape, generator=generator).to(case.dtype)
    seen = torch.rand(shape, generator=generator) < 0.7
    if case.mask == "window":  # whole tiles are hidden
        distance = torch.arange(case.queries).view(-1, 1) - torch.arange(keys)
        seen &= distance.abs() < 40
    if case.mask == "rows":
        seen[..., ::3, :] = False
    return seen


def inputs(case, device):
    """q, k, v, grad_out and the options of the operators."""
    generator = torch.Generator().manual_seed(zlib.crc32(str(case).encode()))
    kv_heads, keys = case.kv_heads or case.heads, case.keys or case.queries
    value_dim = case.value_dim or case.dim

    def rows(heads, length, dim):
        x = torch.randn(case.batch, heads, length, dim, generator=generator).to(case.dtype).to(device)
        return laid_out(x, case.layout)

    q, k, v = rows(case.heads, case.queries, case.dim), rows(kv_heads, keys, case.dim), rows(kv_heads, keys, value_dim)
    grad_out = rows(case.heads, case.queries, value_dim)
    options = dict(
        normalize_q=case.normalize_q, normalize_k=case.normalize_k, scale=case.scale, causal=case.causal,
        dropout_p=case.dropout, dropout_seed=12345,
    )  # fmt: skip
    if case.gain:
        shape = {"scalar": (1, 1), "head": (case.heads, 1), "dim": (1, case.dim), "both": (case.heads, case.dim)}
        options["gain"] = (torch.rand(shape[case.gain], generator=generator) + 0.5).to(device)
    if case.mask:
        options["mask"] = make_mask(case, generator).to(device)
    if case.lengths:
        options["key_lengths"] = torch.randint(0, keys + 1, (case.batch,), generator=generator).to(device)
    if case.packed:
        options["cu_seqlens_q"] = offsets(case.queries, 4, generator).to(device)
        options["cu_seqlens_k"] = offsets(keys, 4, generator).to(device)
    return q, k, v, grad_out, options


def formulations(dim):
    """With logits of the size that standard attention has on random inputs, whose error is the measure."""
    root = math.sqrt(dim)
    return {
        "standard": dict(normalize_k=False, scale=1 / root),
        "quest": dict(),
        "qnorm": dict(normalize_q=True, normalize_k=False),
        "qknorm_hs": dict(normalize_q=True, gain="head", scale=root),
        "qknorm_ds": dict(normalize_q=True, gain="dim", scale=root),
        "qknorm": dict(normalize_q=True, gain="both", scale=root),
        "elliptical": dict(normalize_k=False, gain="both", scale=1 / root),
        "elliptical_quest": dict(gain="both"),
        "one gain": dict(gain="scalar"),
    }


def plain_shapes():
    """QUEST without options: every head dimension and every awkward length, through every kernel family."""
    for dtype in (BF16, F16, F32):
        for dim in (2, 3, 5, 8, 16, 20, 32, 40, 64, 80, 96, 100, 128, 160, 192, 256):
            yield Case(dim=dim, queries=130, dtype=dtype)
            yield Case(dim=dim, queries=197, causal=1, dtype=dtype)
    for dtype in (BF16, F16):
        for length in (1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 192, 196, 197, 208, 209, 255, 256, 257, 511, 577):
            yield Case(queries=length, dtype=dtype)
            yield Case(queries=length, dtype=dtype, causal=1)
        for dim, length in ((16, 256), (16, 1751), (32, 1024), (80, 257), (64, 1024), (128, 1024), (128, 2049)):
            yield Case(queries=length, dim=dim, dtype=dtype)
            yield Case(queries=length, dim=dim, dtype=dtype, causal=1)
            yield Case(queries=length, dim=dim, dtype=dtype, layout="qkv")
        for dim, length, causal in itertools.product((64, 80, 96), (226, 268, 280, 292, 310, 320, 440), (0, 1)):
            yield Case(queries=length, dim=dim, dtype=dtype, causal=causal)
        yield Case(queries=650, dim=80, dtype=dtype, causal=1)
        for length in (131, 141, 153, 165, 192, 197, 224, 280):
            yield Case(queries=length, dim=128, dtype=dtype)
        yield Case(batch=150, heads=2, queries=197, dtype=dtype)
    for queries, keys in ((1, 300), (300, 1), (33, 900), (900, 33), (197, 64), (64, 197), (1024, 1500)):
        for dim, causal in itertools.product((64, 128), (0, 1, 2)):
            yield Case(queries=queries, keys=keys, dim=dim, causal=causal)
    for length in (1, 17, 64, 197, 577):
        yield Case(queries=length, dtype=F32)
        yield Case(queries=length, dtype=F32, causal=1)


def one_option(dim):
    return [
        dict(kv_heads=1, heads=4), dict(kv_heads=2, heads=4), dict(value_dim=32), dict(value_dim=96),
        dict(value_dim=7), dict(dim=7), dict(lengths=True), dict(lengths=True, causal=1), dict(lengths=True, causal=2),
        dict(packed=True, batch=1), dict(packed=True, batch=1, causal=1), dict(packed=True, batch=1, causal=2),
        dict(dropout=0.1), dict(dropout=0.5, causal=1), dict(packed=True, batch=1, dropout=0.3),
        *(dict(mask=m) for m in ("bool", "rows", "float32", "own", "heads", "keys", "broadcast")),
        *(dict(layout=s) for s in ("qkv", "rows", "odd", "columns", "expanded")),
        *formulations(dim).values(),
    ]  # fmt: skip


def one_option_each():
    for option, dtype in itertools.product(one_option(64), (BF16, F16, F32)):
        yield Case(**{"queries": 77, "keys": 93, **option, "dtype": dtype})
    for dim in (96, 128, 192):
        for option in one_option(dim):
            yield Case(**{"queries": 300, "dim": dim, **option})
    for option in one_option(64):
        yield Case(**{"queries": 197, "heads": 4, **option})
    # Rows so short that a gain of dimensions is not rounded into them.
    for dim, dtype in itertools.product((7, 8), (BF16, F16)):
        for formulation in formulations(dim).values():
            if formulation.get("gain") in ("dim", "both"):
                case = Case(queries=150, heads=4, kv_heads=2, dim=dim, dtype=dtype, **formulation)
                yield case
                yield dataclasses.replace(case, causal=1, layout="odd", dropout=0.1, value_dim=64)
                yield dataclasses.replace(case, mask="own")


def more_masks():
    """Which the tiled kernels pack or stage in ways of their own."""
    # Masks whose rows are whole words of 16 bytes; the others mostly are not.
    masks = ("bool", "rows", "window", "float32", "own", "heads", "keys")
    for mask, dim, dtype in itertools.product(masks, (16, 32, 64, 96, 128, 192, 256), (BF16, F16, F32)):
        yield Case(queries=197, keys=320, mask=mask, dim=dim, dtype=dtype)
    # Rows that are no whole words of 16 bytes.
    for dim, dtype in itertools.product((2, 3, 5, 12, 20, 60, 100, 250), (BF16, F16)):
        masked = (dict(mask="bool"), dict(mask="own"), dict(lengths=True), dict(causal=2, keys=230), dict(value_dim=64))
        for option in masked:
            yield Case(queries=197, heads=4, dim=dim, dtype=dtype, **option)
    for dim in (3, 20, 100):
        yield Case(queries=2000, dim=dim, packed=True, batch=1)
    for dim, dtype in itertools.product((21, 100, 250), (BF16, F32)):
        for formulation in formulations(dim).values():
            yield Case(queries=140, keys=150, heads=4, kv_heads=2, dim=dim, value_dim=dim - 1, dtype=dtype, **formulation)


def many_options(count, largest):
    """Random legal combinations, the same ones in every run. Not with so few visible keys that gradients nearly vanish."""
    choose = random.Random(7)
    for _ in range(count):
        kv_heads = choose.choice((1, 2, 3))
        packed = choose.random() < 0.2
        mask = "" if packed else choose.choice(("", "", "bool", "rows", "float32", "own", "heads", "keys", "broadcast"))
        causal = 0 if mask else choose.choice((0, 1, 2))
        dim = choose.choice((8, 16, 32, 64, 64, 80, 96, 128, 200, 256))
        length = lambda: int(largest ** choose.random())  # noqa: E731
        yield Case(
            batch=1 if packed else choose.choice((1, 2, 3)),
            heads=kv_heads * choose.choice((1, 1, 2, 3)),
            kv_heads=kv_heads,
            queries=length() + (16 if causal == 1 else 0),
            keys=16 + length(),
            dim=dim,
            value_dim=choose.choice((0, 0, 16, 64, 128)),
            dtype=choose.choice((BF16, F16, F32)),
            causal=causal,
            mask=mask,
            lengths=not packed and choose.random() < 0.3,
            packed=packed,
            dropout=choose.choice((0.0, 0.0, 0.2)),
            layout=choose.choice(("", "qkv", "rows", "odd", "columns")),
            **choose.choice(list(formulations(dim).values())),
        )


def with_enough_rows(case):
    if case.dtype == F32:
        return case
    if case.packed:  # in sequences that mostly have more than a few keys
        length = max(case.queries, math.ceil(LEAST_ROWS / case.heads))
        return dataclasses.replace(case, queries=length, keys=max(case.keys, length))
    return dataclasses.replace(case, batch=max(case.batch, math.ceil(LEAST_ROWS / (case.heads * case.queries))))


def every_case():
    for case in itertools.chain(plain_shapes(), one_option_each(), more_masks(), many_options(200, 700)):
        yield with_enough_rows(case)


def few_cases():
    """Small ones for the sanitizers, one at least for every kernel."""
    for dtype in (BF16, F16, F32):
        for dim, length in ((16, 40), (32, 65), (64, 70), (64, 197), (80, 257), (96, 270), (128, 130), (256, 33)):
            yield Case(batch=1, heads=2, queries=length, dim=dim, dtype=dtype)
        yield Case(batch=1, heads=2, queries=70, dim=192, dtype=dtype)
        yield Case(batch=1, heads=2, queries=230, dim=80, causal=1, dtype=dtype)
        yield Case(batch=1, heads=2, queries=420, dim=64, causal=1, dtype=dtype)
        yield Case(batch=1, heads=1, queries=256, dim=16, causal=1, dtype=dtype)
        yield Case(batch=1, heads=2, queries=600, dim=64, causal=1, dtype=dtype)
        yield Case(batch=1, heads=2, queries=600, dim=128, dtype=dtype)
        yield Case(batch=1, heads=2, queries=70, dim=21, gain="both", normalize_q=True, dtype=dtype)
        yield Case(batch=1, heads=2, queries=70, dim=250, value_dim=130, mask="float32", dtype=dtype)
    for mask, dim in itertools.product(("window", "own"), (20, 64, 96, 192)):
        yield Case(batch=1, heads=2, queries=130, keys=160, dim=dim, mask=mask)
    yield from many_options(30, 150)
