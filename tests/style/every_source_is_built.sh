#!/usr/bin/env bash
# Source lists are written by hand, so a forgotten file would go unnoticed.   Usage: … SOURCE_DIR BUILD_DIR
set -euo pipefail
cd "$1"

find src tests -name '*.cpp' -not -path 'tests/consumer/*' | while read -r source; do
  grep -qF "\"file\": \"$PWD/$source\"" "$2/compile_commands.json" ||
    echo "$source: expected in its folder's CMakeLists.txt, is not compiled; add it there or remove it"
done | { ! grep .; }
