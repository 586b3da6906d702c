#!/usr/bin/env bash
# No source reaches 600 lines: a file holds one idea.   Usage: file_lengths.sh SOURCE_DIR
set -euo pipefail
cd "$1"

find include src python examples tests cmake scripts -type f \( -name '*.h' -o -name '*.c*' -o -name '*.py' -o -name '*.sh' \) \
  -exec awk 'END { if (FNR >= 600) { print FILENAME ": expected fewer than 600 lines, has " FNR "; split it by idea" } }' {} \; |
  { ! grep .; }
