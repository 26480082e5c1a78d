#!/usr/bin/env bash
# A simulation on two ranks, a job of two ranks that does one of its tasks, and a script that draws what it reads:
#   examples/stream/watch.sh [FOLDER [--set KEY=VALUE ...]]
set -euo pipefail
trap 'jobs -p | xargs -r kill 2> /dev/null || true' EXIT

run=${1:-runs/stream}
shift || true
here=$(dirname "$0")
sidestream=${SIDESTREAM:-sidestream} python=${PYTHON:-python3}
"$sidestream" attach "$run" --task slice -n 2 --patience 60 &
attach=$!
"$python" "$here/draw.py" "$run" &
draw=$!
"$sidestream" run "$here/blast.toml" -n 2 --out "$run" --overwrite "$@"
wait "$attach"
wait "$draw"
"$sidestream" plot "$run"
echo "pictures: $run/pictures, $run/blast.png"
