#!/usr/bin/env bash
# Runs the libFuzzer targets of a build, each for some seconds: fuzz.sh BUILD SECONDS [TARGET...]
# Inputs that reach something new are kept in BUILD/corpus, those that fail in BUILD/findings; the latter end this with
# code 1. Prints a line a target.
set -euo pipefail

build=$1 seconds=$2
shift 2
sources=$(cd "$(dirname "$0")/.." && pwd)
findings=$build/findings
# HDF5 asks by malloc for as much as a damaged file says, and takes a refusal; what we ask for by new has to be had.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
mkdir -p "$findings"
failed=0
for program in "$build"/tests/fuzz/fuzz_*; do
  target=${program##*/fuzz_}
  if [ $# -gt 0 ] && [[ " $* " != *" $target "* ]]; then continue; fi
  mkdir -p "$build/corpus/$target"
  words=("$sources/tests/fuzz/dictionary/$target.txt")
  [ -f "${words[0]}" ] && words=("-dict=${words[0]}") || words=()
  log=$findings/$target.log
  if ! "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -malloc_limit_mb=1000000 -print_final_stats=1 \
    -artifact_prefix="$findings/$target-" "${words[@]}" "$build/corpus/$target" "$sources/tests/fuzz/corpus/$target" > "$log" 2>&1; then
    failed=1
    echo "$target: FAILED, see $log"
  fi
  inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  echo "$target: ${inputs:-0} inputs in $seconds s"
done
exit $failed
