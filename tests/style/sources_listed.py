#!/usr/bin/env python3
"""Source lists are written by hand, so a forgotten file would go unnoticed.   Usage: sources_listed.py SOURCE_DIR"""

import re
import sys
from pathlib import Path

SEARCHED = ("src", "tests", "tools")
SOURCES = {".cpp", ".cu"}
# A file or a pattern, perhaps behind a variable for a folder.
LISTED = re.compile(r"[\w./*${}-]+\.(?:cpp|cu)\b")
ROOT = "${PROJECT_SOURCE_DIR}/"
VARIABLE = re.compile(r"\$\{\w+\}")


def listed_by(lists: Path, root: Path) -> set[Path]:
    files = set()
    for name in LISTED.findall(lists.read_text(encoding="utf-8")):
        folder = lists.parent
        if name.startswith(ROOT):
            folder, name = root, name.removeprefix(ROOT)
        if "*" in name:
            files.update(path.resolve() for path in folder.glob(VARIABLE.sub("*", name)))
        elif (folder / name).exists():
            files.add((folder / name).resolve())
        else:  # the new name of list(TRANSFORM … REPLACE …)
            files.update(path.resolve() for path in folder.rglob(Path(name).name))
    return files


def violations(root: Path) -> list[str]:
    sources = [file for folder in SEARCHED for file in sorted((root / folder).rglob("*")) if file.suffix in SOURCES]
    lists = [file for folder in SEARCHED for file in (root / folder).rglob("CMakeLists.txt")]
    listed = set().union(*(listed_by(file, root) for file in lists))
    return [f"{file.relative_to(root)}: expected in the CMakeLists.txt of its folder or one above, is not listed; add it "
            "there or remove it" for file in sources if file.resolve() not in listed]


if __name__ == "__main__":
    found = violations(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
