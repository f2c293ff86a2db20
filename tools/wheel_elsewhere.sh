#!/usr/bin/env bash
# Builds a wheel for another version of Python in a root file system of a Debian release that has it.
# The wheel is then installed and tested in a second root, which has Python and nothing else.
#
# Usage: tools/wheel_elsewhere.sh VERSION
#
# VERSION is one of those of tools/pythons.sh with a GIL. The wheel is built in the same root, from HEAD.
#
# shellcheck disable=SC2016 # the inner shells expand what is in single quotes
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/debian_root.sh

version=${1:?"usage: tools/wheel_elsewhere.sh VERSION"}
if [[ $version == *t ]]; then
    echo "Debian has no package of Python $version, so there is no root with nothing else." >&2
    exit 2
fi
release=$(release_of "$version")
processor=$(dpkg --print-architecture)

root=$(realpath -m "build/roots/$version-$processor")
make_python_root "$root" "$version" "$processor"
rm -rf "$root/wheel"
git clone -q --no-hardlinks . "$root/wheel"
in_root "$root" 'cd /wheel && make wheels PYTHON="python$1"' "$version"

bare=$(realpath -m "build/roots/$version-bare")
make_root "$bare" "$release" "$processor" "ca-certificates,python$version-venv"
wheel=$(echo "$root"/wheel/build/wheels/entrepot-*.whl)
cp "$wheel" tools/test_wheel.sh "$bare/root/"
echo "In a root of $release with Python $version and nothing else:"
in_root "$bare" 'PYTHON="python$2" bash /root/test_wheel.sh "/root/$1"' "$(basename "$wheel")" "$version"
