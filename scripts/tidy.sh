#!/usr/bin/env bash
# clang-tidy over the layers (folders of src/) that changed since BASE: by default since this branch left origin/main, or,
# on main itself, in the last commit. BASE=all, or nothing to compare with: every layer.   Usage: [BASE=commit] scripts/tidy.sh
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

# A change of the public headers or of the rules touches every layer.
changed_sources() {
  local base changed layers
  base=$(base_commit)
  [[ $base == all ]] || changed=$(git diff --name-only "$base")
  if [[ $base == all ]] || grep -qE '^(include/|\.clang-tidy|scripts/tidy\.sh)' <<<"$changed"; then
    layers=src
  else
    layers=$(grep -oE '^src/([^/]+/)?' <<<"$changed" | sort -u) || return 0
  fi
  # shellcheck disable=SC2086  # a list of words
  git ls-files $layers | grep '\.cpp$' | sort -u
}

mapfile -t sources < <(changed_sources)
if [[ ${#sources[@]} == 0 ]]; then
  echo "clang-tidy: no layer changed"
  exit
fi
cuda=$(command -v nvcc >/dev/null && echo ON || echo OFF)
cmake --preset tidy -DQUEST_TORCH_DIR="${TORCH_DIR:-}" -DQUEST_CUDA="$cuda" >/dev/null
# Some sources belong to a build with CUDA, or with a torch that has it.
mapfile -t sources < <(printf '%s\n' "${sources[@]}" | while read -r source; do
  grep -qF "\"file\": \"$PWD/$source\"" $build/compile_commands.json && echo "$source"
done)
echo "clang-tidy: ${#sources[@]} sources"
# The compile commands are GCC's: some of its warnings are unknown to clang.
printf '%s\0' "${sources[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 --quiet -p $build --extra-arg=-Wno-unknown-warning-option 2>/dev/null
