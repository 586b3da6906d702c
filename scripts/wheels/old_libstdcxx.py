"""Writes a libstdc++.so.6 to link against that has the names of GCC 8's alone, the newest that manylinux_2_28 allows.

Newer names then come out of libstdc++.a, while exceptions and streams stay those of the process. The file has no code:
it only tells a linker which version each name belongs to.   Usage: old_libstdcxx.py C++-COMPILER FOLDER
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NEWEST = {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}
KINDS = {"FUNC": "function", "OBJECT": "object", "TLS": "tls_object"}
SECTIONS = {"FUNC": ".text", "OBJECT": ".data", "TLS": '.section .tbss,"awT",@nobits'}
# readelf: number, value, size, type, binding, visibility, section, name@@version
SYMBOL = re.compile(r"\s*\d+: \S+\s+\S+ (FUNC|OBJECT|TLS)\s+(?:GLOBAL|WEAK|UNIQUE)\s+DEFAULT\s+\d+ (\S+)@@(\S+)")


def is_old(version: str) -> bool:
    family, _, number = version.partition("_")
    return re.fullmatch(r"[\d.]+", number) is not None and tuple(map(int, number.split("."))) <= NEWEST.get(family, ())


def main(compiler: str, folder: Path) -> None:
    real = subprocess.check_output([compiler, "-print-file-name=libstdc++.so.6"], text=True).strip()
    table = subprocess.check_output(["readelf", "--wide", "--dyn-syms", real], text=True)
    names = defaultdict(list)
    source = []
    for kind, name, version in (match.groups() for match in map(SYMBOL.match, table.splitlines()) if match):
        if is_old(version):
            names[version].append(name)
            source += [SECTIONS[kind], f".globl {name}", f".type {name},@{KINDS[kind]}", f"{name}: .zero 8"]
    if not names:
        sys.exit(f"old_libstdcxx.py: expected names of versions up to {NEWEST} in {real} and found none")

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "names.s").write_text("\n".join([*source, '.section .note.GNU-stack,"",@progbits', ""]))
    versions = [f"{version} {{ global: {'; '.join(found)}; }};" for version, found in names.items()]
    (folder / "versions.map").write_text("\n".join([*versions, "rest { local: *; };", ""]))
    subprocess.run(
        [compiler, "-shared", "-nostdlib", "-Wl,-soname,libstdc++.so.6", f"-Wl,--version-script={folder}/versions.map"]
        + [f"{folder}/names.s", "-o", f"{folder}/libstdc++.so.6"],
        check=True,
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
