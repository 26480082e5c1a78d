#!/usr/bin/env bash
# Runs every benchmark of a build folder on one rank and on two, and keeps what they print in BUILD/bench/NAME-RANKS.json.
set -euo pipefail
build=$1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
mkdir -p "$build/bench/results"
for program in "$build"/bench/bench_*; do
  [ -x "$program" ] || continue
  name=$(basename "$program" | sed 's/^bench_//')
  for ranks in 1 2; do
    echo "== $name on $ranks"
    mpirun --oversubscribe -n $ranks "$program" | tee "$build/bench/results/$name-$ranks.json"
  done
done
