"""Lays a wheel's package out as a kernel repository of the Hugging Face hub, which `kernels` loads from a folder.

Usage: hub_layout.py WHEEL FOLDER [CUDA-VERSION]   (CUDA-VERSION: of the toolkit, as in 13.0, where the wheel has CUDA)
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from pathlib import Path

PACKAGE = "quest_attention"


def stable_abi() -> str:
    """The oldest torch whose stable C interface the operators ask for, in the words of the hub."""
    source = Path(__file__).parents[2] / "src/ops/CMakeLists.txt"
    found = re.search(r"TORCH_TARGET_VERSION=0x(..)(..)", source.read_text())
    if found is None:
        sys.exit(f"hub_layout.py: expected TORCH_TARGET_VERSION=0x… in {source} and found none")
    return "torch-stable-abi" + "".join(str(int(part, 16)) for part in found.groups())


def lay_out(wheel: Path, folder: Path, cuda_version: str | None) -> Path:
    backend = "cpu" if cuda_version is None else "cu" + cuda_version.replace(".", "")
    variant = folder / "build" / f"{stable_abi()}-{backend}-x86_64-linux"
    shutil.rmtree(variant, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(variant, [name for name in archive.namelist() if name.startswith(f"{PACKAGE}/")])
    version = wheel.name.split("-")[1]
    metadata = {
        "id": f"{PACKAGE}_{version.replace('.', '_')}_{backend}",
        "name": PACKAGE.replace("_", "-"),
        "version": int(version.split(".")[0]),
        "license": "Apache-2.0",
        "python-depends": [],
        "backend": {"type": "cpu"} if cuda_version is None else {"type": "cuda", "archs": ["8.0", "9.0a"]},
    }
    (variant / "metadata.json").write_text(json.dumps(metadata, indent=2) + "\n")
    return variant


if __name__ == "__main__":
    print(lay_out(Path(sys.argv[1]), Path(sys.argv[2]), *(sys.argv[3:] or [None])))
