#!/usr/bin/env bash
# Installs what the build needs: Debian packages and, unless TORCH_DIR names one, a torch in .venv.
# Does nothing where nothing is missing.   Usage: scripts/setup.sh [test|check|announce]   (test: also what the tests of the
# Python package import; check: also the linters' packages; announce: only says what a first build downloads and takes)
set -euo pipefail
cd "$(dirname "$0")/.."

readonly torch_version=2.13.0
readonly needed_mb=2500 # torch in .venv, and the build with its tests

fail() {
  printf 'setup: %s\n' "$1" >&2
  shift
  [[ $# == 0 ]] || printf '  %s\n' "$@" >&2
  exit 1
}

wanted_packages() {
  awk -v groups="build ${1:-}" '!/^#/ && NF == 2 && index(groups, $1) { print $2 }' scripts/packages.txt
}

missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | awk '$1 == "installed" { print $2 }')
  wanted_packages "$@" | grep -vxF "$installed" || true
}

install_packages() {
  local as_root=() missing
  if ! command -v apt-get >/dev/null; then
    echo "setup: not a Debian system; these packages are taken as given:" $(wanted_packages "$@")
    return
  fi
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [[ -z $missing ]] && return

  if [[ $(id -u) != 0 ]]; then
    as_root=(sudo)
    [[ -t 0 ]] || as_root=(sudo -n)
    if ! command -v sudo >/dev/null || ! "${as_root[@]}" true; then
      fail "packages are missing and installing them needs root. Run as root, then try again:" \
        "apt-get update && apt-get install -y --no-install-recommends $missing"
    fi
  fi
  echo "setup: installing $missing"
  "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update
  # shellcheck disable=SC2086  # a list of words
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qy -o DPkg::Lock::Timeout=300 install --no-install-recommends $missing
}

venv_has_torch() {
  [[ -x .venv/bin/python3 ]] && .venv/bin/python3 - "$torch_version" 2>/dev/null <<'PYTHON'
import sys
from importlib.metadata import version
version("numpy")
sys.exit(version("torch").split("+")[0] != sys.argv[1])
PYTHON
}

venv_can_test() {
  .venv/bin/python3 tests/python/run.py --version >/dev/null 2>&1
}

require_space() {
  local free_mb
  free_mb=$(df -Pm . | awk 'NR == 2 { print $4 }')
  ((free_mb >= needed_mb)) ||
    fail "torch and a build need about $needed_mb MB and only $free_mb MB are free in $PWD." \
      "Make room, or name a torch that is installed already with TORCH_DIR."
}

announce() {
  local count
  echo "The first build compiles the program: about 8 minutes on two cores."
  if command -v dpkg-query >/dev/null; then
    count=$(missing_packages | wc -l)
    ((count == 0)) || echo "Before that it downloads $count Debian packages, up to 150 MB."
  fi
  [[ -n ${TORCH_DIR:-} ]] || venv_has_torch ||
    echo "It downloads torch $torch_version, about 200 MB, into .venv, which takes 1 GB there."
}

pip_install() {
  .venv/bin/python3 -m pip install --disable-pip-version-check "$@"
}

install_torch() {
  venv_has_torch && return
  require_space
  echo "setup: installing torch $torch_version (CPU) into .venv"
  python3 -m venv .venv
  # Where pip's index has no CPU build, the default one serves as well; it is many times larger.
  pip_install "torch==$torch_version+cpu" numpy || pip_install "torch==$torch_version" numpy
  venv_has_torch || fail "torch $torch_version did not install into .venv; see pip's messages above"
}

install_test_modules() {
  venv_can_test && return
  echo "setup: installing what the tests of the Python package import into .venv"
  pip_install -r tests/python/requirements.txt
  venv_can_test || fail "tests/python/requirements.txt did not install into .venv; see pip's messages above"
}

if [[ ${1:-} == announce ]]; then
  announce
  exit
fi
install_packages "$@"
if [[ -z ${TORCH_DIR:-} ]]; then
  install_torch
  [[ ${1:-} != test ]] || install_test_modules
elif [[ ! -f $TORCH_DIR/share/cmake/Torch/TorchConfig.cmake ]]; then
  fail "TORCH_DIR must be a torch package folder, the one that holds share/cmake/Torch; got '$TORCH_DIR'." \
    "Print it with: python3 -c 'import torch; print(torch.__path__[0])'"
fi
