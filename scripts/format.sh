#!/usr/bin/env bash
# Runs clang-format over every tracked C++ and CUDA source.   Usage: scripts/format.sh -i | --dry-run -Werror
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.h' '*.cpp' '*.cu' '*.cuh' | xargs -0 --no-run-if-empty clang-format-19 "$@"
