#!/usr/bin/env bash
# Compiles every CUDA source where nvcc is installed; no GPU is needed for that.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob

sources=(src/kernels/cuda/*.cu src/kernels/cuda/*/*.cu)
if [[ ${#sources[@]} == 0 ]]; then
  echo "no CUDA sources"
  exit
fi
if ! command -v nvcc >/dev/null; then
  echo "no nvcc: ${#sources[@]} CUDA sources not compiled"
  exit
fi
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
for source in "${sources[@]}"; do
  echo "nvcc $source"
  nvcc -std=c++20 -O3 --expt-relaxed-constexpr -gencode arch=compute_90a,code=sm_90a -Isrc -c "$source" -o "$objects/$(basename "$source").o"
done
