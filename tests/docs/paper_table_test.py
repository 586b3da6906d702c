"""The README's table of what is reproduced is what the program prints where nothing has been trained.

Usage: paper_table_test.py QUEST README
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"<!-- reproduction table: begin; printed by `build/(.*?)` -->\n\n(.*?)\n*<!-- reproduction table: end -->",
                   re.DOTALL)


def main() -> None:
    quest, readme = sys.argv[1:]
    found = BLOCK.search(Path(readme).read_text(encoding="utf-8"))
    assert found, f"{readme}: expected a block marked as reproduction table"
    program, *arguments = found.group(1).split()
    assert program == "quest", f"expected a command of quest, got {found.group(1)!r}"
    with tempfile.TemporaryDirectory() as empty:
        printed = subprocess.run([quest, *arguments], cwd=empty, check=True, capture_output=True, text=True).stdout
    assert printed.strip() == found.group(2).strip(), \
        f"{readme}: replace the reproduction table by what `{found.group(1)}` prints:\n\n{printed}"


if __name__ == "__main__":
    main()
