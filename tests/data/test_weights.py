"""Files of weights go through our reader and writer and come out the same for Python."""

import argparse
import os
import pickle
import subprocess
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

COPY = os.environ["QUEST_COPY_WEIGHTS"]
CONVERT = Path(__file__).parents[2] / "scripts" / "convert_weights.py"
TYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def copy(source: Path) -> dict[str, torch.Tensor]:
    target = source.with_suffix(".copy")
    subprocess.run([COPY, source, target], check=True)
    return load_file(target)


def refusal(source: Path) -> str:
    result = subprocess.run([COPY, source, source.with_suffix(".copy")], capture_output=True, text=True)
    assert result.returncode == 1
    assert str(source) in result.stderr
    return result.stderr


def assert_same(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype, name
        assert found[name].shape == tensor.shape, name
        assert torch.equal(found[name], tensor), name


@pytest.fixture
def weights() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = [(), (0,), (2, 0, 3), (7,), (3, 5)]
    return {
        f"{kind}.{index}": torch.randint(0, 2, shape, generator=generator).to(getattr(torch, kind))
        for kind in TYPES
        for index, shape in enumerate(shapes)
    }


def test_safetensors_both_ways(tmp_path, weights):
    metadata = {"format": "pt", "ünïcode": 'a "text"\n', "": ""}
    save_file(weights, tmp_path / "a.safetensors", metadata)
    assert_same(copy(tmp_path / "a.safetensors"), weights)
    with safe_open(tmp_path / "a.copy", "pt") as file:
        assert file.metadata() == metadata
    save_file({}, tmp_path / "none.safetensors")
    assert copy(tmp_path / "none.safetensors") == {}


def test_unsigned_integers(tmp_path):
    weights = {"a": torch.tensor([0, 65535], dtype=torch.uint16), "b": torch.tensor([2**64 - 1], dtype=torch.uint64)}
    save_file(weights, tmp_path / "a.safetensors")
    assert_same(copy(tmp_path / "a.safetensors"), weights)


@pytest.mark.parametrize("wrapped", [lambda x: x, lambda x: {"model": x}, lambda x: {"epoch": 3, "state_dict": x}])
def test_torch_save(tmp_path, weights, wrapped):
    torch.save(wrapped(OrderedDict(weights)), tmp_path / "a.pth")
    assert_same(copy(tmp_path / "a.pth"), weights)


def test_state_dict_of_a_module(tmp_path):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 2), torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 300))
    torch.save(model.state_dict(), tmp_path / "a.pth")
    assert_same(copy(tmp_path / "a.pth"), model.state_dict())


def test_many_tensors(tmp_path):
    weights = {f"layers.{i}.weight": torch.full((3,), float(i)) for i in range(1000)}
    torch.save(weights, tmp_path / "a.pth")
    assert_same(copy(tmp_path / "a.pth"), weights)


def test_whole_training_checkpoint(tmp_path):
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    args = argparse.Namespace(lr=0.5, data="x", flags=[1, None, True], big=2**40, negative=-(2**40))
    content = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "args": args, "epoch": 3}
    torch.save(content, tmp_path / "a.pth")
    assert_same(copy(tmp_path / "a.pth"), model.state_dict())


def test_views_and_parameters(tmp_path):
    whole = torch.arange(24.0).view(4, 6)
    weights = {"t": whole.t(), "part": whole[1:3, ::2], "row": whole[2], "wide": torch.ones(1).expand(5)}
    torch.save(weights | {"p": torch.nn.Parameter(whole)}, tmp_path / "a.pth")
    assert_same(copy(tmp_path / "a.pth"), weights | {"p": whole})


class Command:
    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


def test_malicious_pickle_is_refused_and_not_executed(tmp_path):
    torch.save({"model": {"a": torch.ones(2)}, "x": Command(tmp_path / "marker")}, tmp_path / "a.pth")
    message = refusal(tmp_path / "a.pth")
    assert "posix.system" in message and "convert_weights.py" in message
    convert = subprocess.run([sys.executable, CONVERT, tmp_path / "a.pth", tmp_path / "a.out"], capture_output=True)
    assert convert.returncode != 0
    assert not (tmp_path / "marker").exists()
    torch.load(tmp_path / "a.pth", weights_only=False)
    assert (tmp_path / "marker").exists(), "the trap itself works"


def test_format_before_torch_1_6_is_refused_and_converted(tmp_path, weights):
    content = {"model": weights, "args": argparse.Namespace(lr=1)}
    torch.save(content, tmp_path / "a.pth", _use_new_zipfile_serialization=False)
    assert "python3 scripts/convert_weights.py IN OUT" in refusal(tmp_path / "a.pth")
    subprocess.run([sys.executable, CONVERT, tmp_path / "a.pth", tmp_path / "a.safetensors"], check=True)
    assert_same(copy(tmp_path / "a.safetensors"), weights)


def test_whole_models_are_refused(tmp_path):
    torch.save(torch.nn.Linear(2, 2), tmp_path / "a.pth")
    assert "torch.nn.modules.linear.Linear" in refusal(tmp_path / "a.pth")


def test_no_weights(tmp_path):
    torch.save({"epoch": 1, "lr": 0.1}, tmp_path / "a.pth")
    assert 'found a dict with "epoch", "lr"' in refusal(tmp_path / "a.pth")
    torch.save([torch.ones(1)], tmp_path / "b.pth")
    assert "found another value" in refusal(tmp_path / "b.pth")


def rewritten(source: Path, target: Path, change) -> Path:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = change(name.split("/", 1)[1], old.read(name))
            if content is not None:
                new.writestr(name, content)
    return target


def test_tampered_archives(tmp_path):
    torch.save({"a": torch.arange(8.0)}, tmp_path / "a.pth")

    def tampered(changes):
        return rewritten(tmp_path / "a.pth", tmp_path / "b.pth", lambda name, old: changes.get(name, lambda x: x)(old))

    assert copy(tampered({})).keys() == {"a"}
    assert "found 28 bytes" in refusal(tampered({"data/0": lambda x: x[:-4]}))
    assert "found none" in refusal(tampered({"data/0": lambda x: None}))
    assert "little endian" in refusal(tampered({"byteorder": lambda x: b"big"}))
    assert "cut off" in refusal(tampered({"data.pkl": lambda x: x[: len(x) // 2]}))
    # Eight elements, as the pickle writes its shape, become nine.
    assert "beyond" in refusal(tampered({"data.pkl": lambda x: x.replace(b"K\x08\x85", b"K\x09\x85")}))
    assert "beyond" in refusal(tampered({"data.pkl": lambda x: x.replace(b"K\x08\x85", b"J\xff\xff\xff\xff\x85")}))


def test_cuts_are_refused(tmp_path):
    torch.save({"a": torch.arange(4.0)}, tmp_path / "a.pth")
    content = (tmp_path / "a.pth").read_bytes()
    for length in range(0, len(content), len(content) // 6):
        (tmp_path / "cut.pth").write_bytes(content[:length])
        refusal(tmp_path / "cut.pth")


def test_pickles_of_plain_python(tmp_path):
    (tmp_path / "a.pth").write_bytes(pickle.dumps({"a": 1}))
    assert "safetensors" in refusal(tmp_path / "a.pth")
