"""Runs pytest on a file, or exits with 77, which ctest reports as skipped, where something it imports is missing.

Usage: run.py test_file.py
"""

import sys
from importlib import metadata
from pathlib import Path


def is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def main() -> int:
    lines = Path(__file__).with_name("requirements.txt").read_text().splitlines()
    names = [line.split("[")[0] for line in lines if not line.startswith("#")]
    missing = [name for name in names if not is_installed(name)]
    if missing:
        print(f"skipped: no {', '.join(missing)} for {sys.executable}; scripts/setup.sh test installs it into .venv")
        return 77
    import pytest

    return pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]])


if __name__ == "__main__":  # processes that a test starts import this file again
    sys.exit(main())
