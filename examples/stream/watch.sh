#!/usr/bin/env bash
# A simulation on two ranks, a job of two ranks that does one of its tasks, and a script that draws what it reads:
#   examples/stream/watch.sh [FOLDER]
set -euo pipefail

run=${1:-runs/stream}
here=$(dirname "$0")
sidestream=${SIDESTREAM:-sidestream} python=${PYTHON:-python3}
rm -rf "$run"
"$sidestream" attach "$run" --task slice -n 2 --patience 60 &
"$python" "$here/draw.py" "$run" &
"$sidestream" run "$here/blast.toml" -n 2 --out "$run"
wait
"$sidestream" plot "$run"
echo "pictures: $run/pictures, $run/blast.png"
