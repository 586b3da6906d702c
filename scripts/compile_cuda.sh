#!/usr/bin/env bash
# Builds the CUDA kernels and operators where nvcc is installed, loads them, interprets the kernels on the CPU, and runs the
# tests for a GPU where there is one.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v nvcc >/dev/null; then
  echo "no nvcc: CUDA sources not compiled"
  exit
fi
cmake --preset cuda -DQUEST_TORCH_DIR="${TORCH_DIR:-}"
cmake --build build-cuda -j "${JOBS:-$(nproc)}" --target cuda_checks
ctest --test-dir build-cuda --output-on-failure --no-tests=error --label-regex '^cuda$'
