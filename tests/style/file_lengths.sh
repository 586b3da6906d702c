#!/usr/bin/env bash
# No source reaches 600 lines: a file holds one idea.   Usage: file_lengths.sh SOURCE_DIR
set -euo pipefail
cd "$1"

folders=()
for folder in include src python examples tests tools cmake scripts; do
  [[ -d $folder ]] && folders+=("$folder")
done
find "${folders[@]}" -type f \( -name '*.h' -o -name '*.c*' -o -name '*.js' -o -name '*.py' -o -name '*.sh' \) \
  -exec awk 'END { if (FNR >= 600) { print FILENAME ": expected fewer than 600 lines, has " FNR "; split it by idea" } }' {} \; |
  { ! grep .; }
