#!/usr/bin/env bash
# Runs the libFuzzer targets of a build, each for some seconds: fuzz.sh BUILD SECONDS [TARGET...]
# Inputs that reach something new are kept in BUILD/corpus, those that fail in BUILD/findings; the latter end this with
# code 1. Prints a line a target.
set -euo pipefail

build=$1 seconds=$2
shift 2
corpus=$(cd "$(dirname "$0")/.." && pwd)/tests/fuzz/corpus
findings=$build/findings
# HDF5 asks by malloc for as much as a damaged file says, and takes a refusal; what we ask for by new has to be had.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
options=("-max_total_time=$seconds" -timeout=20 -rss_limit_mb=4096 -malloc_limit_mb=1000000 -print_final_stats=1)
mkdir -p "$findings"
failed=0
for program in "$build"/tests/fuzz/fuzz_*; do
  target=${program##*/fuzz_}
  if [ $# -gt 0 ] && [[ " $* " != *" $target "* ]]; then continue; fi
  mkdir -p "$build/corpus/$target"
  log=$findings/$target.log
  if ! "$program" "${options[@]}" -artifact_prefix="$findings/$target-" "$build/corpus/$target" "$corpus/$target" > "$log" 2>&1; then
    failed=1
    echo "$target: FAILED, see $log"
  fi
  echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s"
done
exit $failed
