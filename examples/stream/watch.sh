#!/usr/bin/env bash
# A simulation on two ranks, a job of two ranks that does one of its tasks, and a script that draws what it reads:
#   examples/stream/watch.sh [FOLDER [--set KEY=VALUE ...]]
set -euo pipefail
trap 'jobs -p | xargs -r kill 2> /dev/null || true; wait' EXIT

run=${1:-runs/stream}
shift || true
here=$(dirname "$0")
sidestream=${SIDESTREAM:-sidestream} python=${PYTHON:-python3}
"$sidestream" run "$here/blast.toml" -n 2 --out "$run" --overwrite "$@" &
"$sidestream" attach "$run" --task slice -n 2 --patience 60 &
"$python" "$here/draw.py" "$run" &
for _ in run attach draw; do wait -n; done  # the first that fails ends all
"$sidestream" plot "$run"
echo "pictures: $run/pictures, $run/blast.png"
