#!/usr/bin/env bash
# A flow on two ranks, a job that paints it and one that looks for vortices, each of two ranks; in the end a movie, a
# picture to zoom into and a table of the vortices:
#   examples/wind_tunnel/watch.sh [FOLDER [--set KEY=VALUE ...]]
# While it goes on, in another terminal: sidestream view FOLDER --open
set -euo pipefail
trap 'jobs -p | xargs -r kill 2> /dev/null || true; wait' EXIT

run=${1:-runs/wind_tunnel}
shift || true
here=$(dirname "$0")
sidestream=${SIDESTREAM:-sidestream} python=${PYTHON:-python3}
"$sidestream" run "$here/tunnel.toml" -n 2 --out "$run" --overwrite "$@" &
"$sidestream" attach "$run" --task vorticity -n 2 --patience 60 &
"$sidestream" attach "$run" --task vortices -n 2 --patience 60 &
for _ in run painter searcher; do wait -n; done  # the first that fails ends all
movie=$("$sidestream" movie "$run" --label)
"$python" "$here/table.py" "$run"
last=$(ls -d "$run"/results/vorticity/*.pictures | tail -n 1)
echo "movie: $movie"
echo "to zoom into, in any browser: $last/index.html"
