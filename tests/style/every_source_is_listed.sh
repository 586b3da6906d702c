#!/usr/bin/env bash
# Source lists are written by hand, so a forgotten file would go unnoticed.   Usage: every_source_is_listed.sh SOURCE_DIR
set -euo pipefail
cd "$1"

find src tests -name '*.cpp' | while read -r source; do
  grep -rqwF --include=CMakeLists.txt "$(basename "$source")" "${source%%/*}" ||
    echo "$source: expected in its folder's CMakeLists.txt, is not listed; add it there or remove it"
done | { ! grep .; }
