#!/usr/bin/env python3
"""A domain is named by its own folder, its recipes, paper/, docs/ and tests/ alone.   Usage: domain_names.py SOURCE_DIR"""

import re
import sys
from pathlib import Path

SEARCHED = ("src", "include", "python", "examples", "cmake", "scripts", "tools", "Makefile", "CMakeLists.txt",
            "CMakePresets.json", "pyproject.toml")
# Names that mean nothing but the domain: they may not appear as a word or as a part of one either. Every other name is a
# word of the language that models and data need too.
COINED = {"toy", "timeseries"}


def patterns(name: str, recipes: list[str]) -> re.Pattern[str]:
    word = re.escape(name)
    alternatives = [
        rf"domains/{word}\b",
        rf"recipes/{word}\b",
        rf"(?<!\w){word}::",
        rf"\bnamespace\s+(\w+::)*{word}\b",
        rf"""(?P<quote>["']){word}((?P=quote)|/)""",
    ]
    if recipes:
        alternatives.append(rf"(?<![\w/]){word}/({'|'.join(re.escape(recipe) for recipe in recipes)})\b")
    if name in COINED:
        capitalized = re.escape(name.capitalize())
        alternatives += [rf"(?<![A-Za-z0-9]){word}(?![a-z0-9])", rf"(?<![A-Z]){capitalized}(?![a-z])"]
    return re.compile("|".join(alternatives))


def searched_files(root: Path) -> list[Path]:
    files = []
    for place in SEARCHED:
        path = root / place
        files += [path] if path.is_file() else sorted(path.rglob("*"))
    domains = root / "src" / "domains"
    return [file for file in files
            if file.is_file() and file.suffix != ".pyc" and (domains not in file.parents or file.parent == domains)]


def violations(root: Path) -> list[str]:
    domains = {}
    for declaration in sorted(root.glob("src/domains/*/domain.cpp")):
        name = declaration.parent.name
        recipes = [recipe.stem for recipe in sorted(root.glob(f"recipes/{name}/*.toml"))]
        domains[name] = patterns(name, recipes)
    found = []
    for file in searched_files(root):
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            for name, pattern in domains.items():
                match = pattern.search(line)
                if match:
                    found.append(f'{file.relative_to(root)}:{number}: knows the domain {name}: {match.group()}; let '
                                 f"src/domains/{name}/ declare what is needed in its Domain, and ask every domain for it")
    return found


if __name__ == "__main__":
    found = violations(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
