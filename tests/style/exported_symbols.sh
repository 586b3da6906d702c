#!/usr/bin/env bash
# The libraries export only names of quest; the operator libraries need nothing of torch but its C functions.
#   Usage: exported_symbols.sh LIBRARY... -- OPERATOR_LIBRARY...
# Weak symbols are left out: they are instantiations of torch's own templates, shared with torch by design.
set -euo pipefail

names() { nm -DC "$@" | sed -E 's/^[0-9a-f ]*//'; }

while [[ $1 != -- ]]; do
  strong=$(names --defined-only "$1" | grep -E '^[TDBR] ' | sed -E 's/^. //; s/^((typeinfo|typeinfo name|vtable|VTT|guard variable) for |non-virtual thunk to )//')
  [[ -n $strong ]] || { echo "$1: expected to export names of quest, exports none"; exit 1; }
  if foreign=$(grep -v '^quest::' <<<"$strong"); then
    printf '%s exports a name outside quest::\n%s\n' "$1" "$foreign"
    exit 1
  fi
  shift
done
shift
for operators in "$@"; do
  if torch=$(names --undefined-only "$operators" | grep -E '^[UwvV] .*\b(at|c10|torch)::'); then
    printf '%s needs a C++ symbol of torch, which ties it to one version\n%s\n' "$operators" "$torch"
    exit 1
  fi
  nm -D --undefined-only "$operators" | grep aoti_torch >/dev/null || { echo "$operators: expected to use torch's C functions, does not"; exit 1; }
done
