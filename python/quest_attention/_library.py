"""Loads the operator libraries that lie beside this file."""

from __future__ import annotations

from pathlib import Path

import torch

OLDEST_TORCH = (2, 10)
FOLDER = Path(__file__).parent / "lib"
CPU_LIBRARY = FOLDER / "libquest_ops.so"
CUDA_LIBRARY = FOLDER / "libquest_ops_cuda.so"
# Asked once: torch.compile cannot look at files while it traces a call.
HAS_CUDA_LIBRARY = CUDA_LIBRARY.is_file()


def check_torch(version: str) -> None:
    release = tuple(int(part) for part in version.split("+")[0].split(".")[:2])
    if release < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        raise ImportError(
            f"quest_attention needs torch {oldest} or later, found {version}; "
            f"install one with: pip install 'torch>={oldest}'"
        )


def load(library: Path) -> None:
    if not library.is_file():
        raise ImportError(
            f"quest_attention needs its operator library and found no {library}; "
            "build and install the package with: pip install . (in a clone of the project)"
        )
    try:
        torch.ops.load_library(str(library))
    except OSError as error:
        raise ImportError(
            f"quest_attention could not load {library.name} into torch {torch.__version__}: {error}; "
            "rebuild it for this machine with: pip install --force-reinstall --no-deps . (in a clone of the project)"
        ) from error


def load_libraries() -> None:
    check_torch(torch.__version__)
    load(CPU_LIBRARY)
    if HAS_CUDA_LIBRARY:
        load(CUDA_LIBRARY)


def serves(device: torch.device) -> bool:
    """Tensors of this device have fused kernels."""
    return device.type == "cpu" or (device.type == "cuda" and HAS_CUDA_LIBRARY)
