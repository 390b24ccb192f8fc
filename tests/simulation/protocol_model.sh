#!/bin/sh
# Checks protocol.pml in all its states, and that Spin finds each mistake put in on purpose.
# Usage: protocol_model.sh FOLDER_FOR_OUTPUT. Exits 77, which ctest counts as skipped, without Spin.
set -eu
model=$(cd "$(dirname "$0")" && pwd)/protocol.pml
mkdir -p "$1"
cd "$1"
if ! command -v spin >/dev/null 2>&1; then
  echo "skipped: spin is not installed (Debian package spin)"
  exit 77
fi

# verify NAME OPTION...: prints what the verifier says of the model with these definitions.
verify() {
  name=$1
  shift
  mkdir -p "$name"
  (
    cd "$name"
    spin -a "$@" "$model" >spin.log
    cc -O2 -w -DSAFETY -DCOLLAPSE -o pan pan.c
    ./pan -m200000 >pan.log 2>&1 || true
    cat pan.log
  )
}

failed=0
holds() {
  if verify "$@" | grep -q "errors: 0" && ! grep -q "search was not completed\|max search depth" "$1/pan.log"; then
    echo "holds: $1, $(grep 'states, stored' "$1/pan.log" | head -1)"
  else
    failed=1
    echo "FAILED: $1; see $PWD/$1/pan.log, and the way there: cd $PWD/$1 && spin -t -p $model"
    grep -E "errors:|pan:|error" "$1/pan.log" || true
  fi
}
found() {
  if verify "$@" | grep -q "errors: 1"; then
    echo "found: $1, $(grep -m1 'pan:1' "$1/pan.log")"
  else
    failed=1
    echo "FAILED: $1 was not found"
  fi
}

holds lost_doorbells
holds two_rows -DROWS=2 -DCALLS=1 -DLOSES=0
holds full_ring -DRING=2 -DLOSES=0 -DRESCAN=0
found state_before_argument -DBROKEN=1
found head_before_lanes -DBROKEN=2 -DLOSES=0 -DRESCAN=0
found unlock_before_free -DBROKEN=3
found claim_ignores_state -DBROKEN=4
found accept_ignores_state -DBROKEN=5
found no_rescan -DRESCAN=0
exit $failed
