#!/usr/bin/env bash
# Installs what the build needs: Debian packages and, unless TORCH_DIR names one, a torch in .venv.
# Does nothing where nothing is missing.   Usage: scripts/setup.sh [check]   (check: also the linters' packages)
set -euo pipefail
cd "$(dirname "$0")/.."

readonly torch_version=2.13.0

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

venv_is_ready() {
  [[ -x .venv/bin/python3 ]] && .venv/bin/python3 - "$torch_version" 2>/dev/null <<'PYTHON'
import sys
from importlib.metadata import version
with open("tests/python/requirements.txt") as file:
    for line in file:
        if not line.startswith("#"):
            version(line.strip())
sys.exit(version("torch").split("+")[0] != sys.argv[1])
PYTHON
}

install_torch() {
  local pip=(.venv/bin/python3 -m pip install --disable-pip-version-check)
  venv_is_ready && return
  echo "setup: installing torch $torch_version (CPU) into .venv"
  python3 -m venv .venv
  # Where pip's index has no CPU build, the default one serves as well; it is many times larger.
  "${pip[@]}" "torch==$torch_version+cpu" || "${pip[@]}" "torch==$torch_version"
  "${pip[@]}" -r tests/python/requirements.txt
  venv_is_ready || fail "torch $torch_version did not install into .venv; see pip's messages above"
}

install_packages "$@"
if [[ -z ${TORCH_DIR:-} ]]; then
  install_torch
elif [[ ! -f $TORCH_DIR/share/cmake/Torch/TorchConfig.cmake ]]; then
  fail "TORCH_DIR must be a torch package folder, the one that holds share/cmake/Torch; got '$TORCH_DIR'." \
    "Print it with: python3 -c 'import torch; print(torch.__path__[0])'"
fi
