"""What importing the package brings along, and what it says of itself."""

import re
import subprocess
import sys
from pathlib import Path

import quest_attention
from quest_attention._rules import RULES

MODULES_ADDED = """
import sys, torch
before = set(sys.modules)
import quest_attention
print("\\n".join(set(sys.modules) - before))
"""


def test_importing_brings_little_beside_torch():
    run = subprocess.run([sys.executable, "-c", MODULES_ADDED], capture_output=True, text=True, check=True)
    added = run.stdout.split()
    others = [name for name in added if not name.startswith("quest_attention")]
    assert "torch._dynamo" not in others and len(others) <= 20, others


def test_the_version_is_that_of_the_project():
    build = (Path(__file__).parents[2] / "CMakeLists.txt").read_text()
    (version,) = re.findall(r"project\(quest VERSION ([0-9.]+)", build)
    assert quest_attention.__version__ == version == RULES["version"]
