"""Runs pytest on a file, or exits with 77, which ctest reports as skipped, where something it imports is missing.

Usage: run.py test_file.py
"""

import importlib.util
import sys
from pathlib import Path


def main() -> int:
    lines = Path(__file__).with_name("requirements.txt").read_text().splitlines()
    names = [line.split("[")[0] for line in lines if not line.startswith("#")]
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: no {', '.join(missing)} for {sys.executable}; scripts/setup.sh test installs it into .venv")
        return 77
    import pytest

    return pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]])


if __name__ == "__main__":  # processes that a test starts import this file again
    sys.exit(main())
