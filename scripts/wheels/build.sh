#!/usr/bin/env bash
# Builds wheels for manylinux_2_28: dist/cpu and, where nvcc is, dist/cuda, which has the kernels for GPUs as well. Both
# are laid out in dist/kernel as a repository of the Hugging Face kernel hub, too.
# Usage: scripts/wheels/build.sh [cpu|cuda]...
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly prepared=$PWD/build-wheels/manylinux
readonly torch_dir=${TORCH_DIR:-$PWD/$(echo .venv/lib/python3*/site-packages/torch)}

# build KIND [CUDA-VERSION]
build() {
  local kind=$1 cuda=OFF work=build-wheels/$1
  [[ $kind == cpu ]] || cuda=ON
  rm -rf "$work/raw" "dist/$kind"
  CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)} pip wheel --disable-pip-version-check --no-deps --no-build-isolation \
    --config-settings="build-dir=$work" --config-settings="cmake.define.QUEST_MANYLINUX=$prepared" \
    --config-settings="cmake.define.QUEST_TORCH_DIR=$torch_dir" --config-settings="cmake.define.QUEST_CUDA=$cuda" \
    -w "$work/raw" .
  # Fails where anything newer than manylinux_2_28 is asked for, else names the wheel so. libtorch_cpu.so comes with torch.
  auditwheel repair --plat manylinux_2_28_x86_64 --only-plat --exclude libtorch_cpu.so -w "dist/$kind" "$work"/raw/*.whl
  auditwheel show "dist/$kind"/*.whl
  python scripts/wheels/hub_layout.py "dist/$kind"/*.whl dist/kernel "${@:2}"
}

cuda_version() {
  nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p'
}

scripts/wheels/prepare.sh "$prepared"
PATH=$prepared/tools/bin:$PATH
[[ $# != 0 ]] || set -- cpu $(command -v nvcc >/dev/null && echo cuda)
for kind; do
  case $kind in
    cpu) build cpu ;;
    cuda) build cuda "$(cuda_version)" ;;
    *)
      echo "build.sh: expected cpu or cuda, got '$kind'" >&2
      exit 1
      ;;
  esac
done
