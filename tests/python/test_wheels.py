"""What `make wheels` is made of: names of an old libstdc++, and the layout of a kernel repository.

The wheels themselves take minutes to build; scripts/wheels/try.py tries one.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import quest_attention

SCRIPTS = Path(__file__).parents[2] / "scripts" / "wheels"

SOURCE = """
#include <charconv>
#include <mutex>
#include <sstream>
#include <stdexcept>

extern "C" int measure(double value) {
  static std::once_flag once;
  std::call_once(once, [] {});
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::ostringstream stream;
  stream << std::string(text, end) << ' ' << value;
  try {
    if (value < 0) throw std::invalid_argument(stream.str());
  } catch (const std::exception& error) {
    return -static_cast<int>(std::string(error.what()).size());
  }
  return static_cast<int>(std::move(stream).str().size());
}
"""


def script(name: str):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def newest_version(library: Path) -> tuple[int, ...]:
    needs = subprocess.check_output(["readelf", "--wide", "--version-info", str(library)], text=True)
    return max(tuple(map(int, number.split("."))) for number in re.findall(r"Name: GLIBCXX_([\d.]+)", needs))


def test_names_of_an_old_libstdcxx(tmp_path: Path) -> None:
    if shutil.which("c++") is None or shutil.which("readelf") is None:
        pytest.skip("no c++ and readelf: apt-get install g++")
    script("old_libstdcxx").main("c++", tmp_path)
    source = tmp_path / "measure.cpp"
    source.write_text(SOURCE)
    static = subprocess.check_output(["c++", "-print-file-name=libstdc++.a"], text=True).strip()
    compile = ["c++", "-std=c++20", "-O1", "-fPIC", "-shared", "-nodefaultlibs", "-Wl,--exclude-libs,ALL", str(source)]

    def build(name: str, *libraries: str) -> Path:
        library = tmp_path / name
        subprocess.run([*compile, "-o", str(library), *libraries, "-lm", "-lgcc_s", "-lc"], check=True)
        return library

    assert newest_version(build("new.so", "-lstdc++")) > (3, 4, 24)
    old = build("old.so", str(tmp_path / "libstdc++.so.6"), static)
    assert (3, 4) < newest_version(old) <= (3, 4, 24)
    measure = ctypes.CDLL(str(old)).measure
    measure.argtypes = [ctypes.c_double]
    assert measure(0.5) == len("0.5 0.5")
    assert measure(-0.25) == -len("-0.25 -0.25")


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A folder with the hub's package. Not beside the others: transformers does more where it finds it."""
    folder = tmp_path / "kernels"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--target",
        str(folder),
    ]
    result = subprocess.run([*command, "kernels"], capture_output=True, text=True)
    if result.returncode != 0:
        pytest.skip(f"pip could not install kernels: {result.stderr.strip().splitlines()[-1:]}")
    return folder


def test_kernel_repository(tmp_path: Path, kernels: Path) -> None:
    package = Path(quest_attention.__file__).parent
    wheel = tmp_path / "quest_attention-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in package.rglob("*"):
            archive.write(file, file.relative_to(package.parent))
    variant = script("hub_layout").lay_out(wheel, tmp_path / "repository", None)
    assert variant.name == "torch-stable-abi210-cpu-x86_64-linux"

    # In another process: the operators can be registered once, and this one has imported the package.
    program = f"""
from pathlib import Path
import torch
from kernels import get_local_kernel
quest = get_local_kernel(Path({str(tmp_path / "repository")!r}), backend="cpu")
assert quest.__file__.startswith({str(variant)!r}), quest.__file__
q, k, v = (torch.randn(1, 2, 33, 16, requires_grad=True) for _ in range(3))
out = quest.attention(q, k, v)
out.sum().backward()
exact = quest.attention(*(x.detach().double() for x in (q, k, v)), path="reference")
assert (out - exact).abs().max() < 1e-5
assert quest.patch(torch.nn.TransformerEncoderLayer(32, 2), "quest")
"""
    environment = {"PYTHONPATH": ":".join([str(kernels), *sys.path[1:]]), "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, env=environment)
