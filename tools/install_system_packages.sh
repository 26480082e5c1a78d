#!/usr/bin/env bash
# Installs the packages of a list that are missing, with apt (through sudo when not root): install_system_packages.sh LIST
set -euo pipefail

missing=()
while read -r package; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing+=("$package")
done < "$1"
if [ ${#missing[@]} -eq 0 ]; then
  echo "== system packages: all there"
  exit 0
fi

echo "== system packages: installing ${missing[*]}"
if ! command -v apt-get > /dev/null; then
  echo "error: apt-get was not found, so these packages cannot be installed: ${missing[*]}" >&2
  echo "hint: install what your system calls them, then run make again" >&2
  exit 1
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null || { echo "error: installing packages needs root or sudo" >&2; exit 1; }
  sudo="sudo"
fi
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
