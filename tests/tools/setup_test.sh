#!/bin/sh
# Checks that scripts/setup names packages where it cannot install them. usage: setup_test.sh SOURCE_DIRECTORY
set -eu

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/bin"
# A system without dpkg.
for tool in sh cat fold tr; do ln -s "$(command -v $tool)" "$directory/bin"; done
echo 'PRETTY_NAME="Another Linux 7"' >"$directory/os-release"

for option in '' --test; do
  PATH="$directory/bin" OS_RELEASE="$directory/os-release" sh "$1/scripts/setup" $option 2>"$directory/output"
  for expected in 'Another Linux 7 has no dpkg' libzydis-dev 'Zydis 4' nlohmann-json3-dev; do
    grep -q "$expected" "$directory/output" || {
      cat "$directory/output"
      echo "setup_test.sh: no '$expected'" >&2
      exit 1
    }
  done
done
grep -q zsh "$directory/output" || { echo "setup_test.sh: --test does not name zsh" >&2; exit 1; }
