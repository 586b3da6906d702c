"""Runs pytest on a file, or exits with 77, which ctest reports as skipped, where something it imports is missing.

Usage: run.py test_file.py
"""

import importlib.util
import sys
from pathlib import Path

lines = Path(__file__).with_name("requirements.txt").read_text().splitlines()
names = [line.split("[")[0] for line in lines if not line.startswith("#")]
missing = [name for name in names if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: no {', '.join(missing)} for {sys.executable}; scripts/setup.sh test installs it into .venv")
    sys.exit(77)

import pytest  # noqa: E402

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
