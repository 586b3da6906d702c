#!/usr/bin/env bash
# clang-tidy over the layers that changed since BASE (default: where this branch left origin/main, else the previous
# commit); over every layer with BASE=all or when there is nothing to compare with.   Usage: [BASE=commit] scripts/tidy.sh
set -euo pipefail
cd "$(dirname "$0")/.."

readonly build=build-tidy

base_commit() {
  local fork
  if [[ -n ${BASE:-} ]]; then
    echo "$BASE"
  elif fork=$(git merge-base HEAD origin/main 2>/dev/null) && [[ $fork != "$(git rev-parse HEAD)" ]]; then
    echo "$fork"
  else
    git rev-parse --verify --quiet HEAD~1 || echo all
  fi
}

# A layer is a folder of src/ or tests/; a change of the public headers or the rules touches all of them.
changed_layers() {
  local base=$1 changed
  changed=$(git diff --name-only "$base" 2>/dev/null) || base=all
  if [[ $base == all ]] || grep -qE '^(include/|\.clang-tidy|scripts/tidy\.sh)' <<<"$changed"; then
    echo src tests
  else
    grep -oE '^(src|tests)/([^/]+/)?' <<<"$changed" | sort -u | tr '\n' ' ' || true
  fi
}

layers=$(changed_layers "$(base_commit)")
# shellcheck disable=SC2086  # a list of words
mapfile -t sources < <([[ -z $layers ]] || git ls-files $layers | grep '\.cpp$' | grep -v '^tests/consumer/')
if [[ ${#sources[@]} == 0 ]]; then
  echo "clang-tidy: no layer changed"
  exit
fi
[[ -f $build/compile_commands.json ]] || cmake --preset tidy -DQUEST_TORCH_DIR="${TORCH_DIR:-}" >/dev/null
echo "clang-tidy: ${#sources[@]} sources in $layers"
printf '%s\0' "${sources[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 --quiet -p $build --warnings-as-errors='*' 2>/dev/null
