#!/usr/bin/env bash
# Runs the tests with another version of Python or on another processor, in a root file system of a
# Debian release that has them.
#
# Usage: [ARCH=arm64] tools/pythons.sh VERSION [ARGUMENT OF MAKE]...
#
# VERSION is one of those of release_of in tools/debian_root.sh. The tests are those of HEAD. The command
# `make test` runs them with that release's compiler and the peers that have wheels for that version.
# The last line names the versions, the commit and the result.
#
# With ARCH=arm64 all but the compiler is emulated, which takes 10 to 20 times as long. A part of the
# tests is enough then: PYTEST_ARGS="tests/contract tests/python/exchange".
#
# It needs root and Debian, and 2 to 4 GB in build/roots/ for each version.
#
# shellcheck disable=SC2016 # the inner shells expand what is in single quotes
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/debian_root.sh

version=${1:?"usage: tools/pythons.sh VERSION [ARGUMENT OF MAKE]..."}
shift
peers=light require=host,sycl,numpy,ml_dtypes,jax
case $version in
3.15) ;;
*t) peers=free-threaded ;;
*) require+=,dpctl,dpnp ;;
esac
processor=${ARCH:-$(dpkg --print-architecture)}
[[ $processor == amd64 ]] || require=host,numpy,ml_dtypes

root=$(realpath -m "build/roots/$version-$processor")
make_python_root "$root" "$version" "$processor"

rm -rf "$root/entrepot"
git clone -q --no-hardlinks . "$root/entrepot"
in_root "$root" '
    cd /entrepot
    python=python$1 require=$2
    shift 2
    ENTREPOT_REQUIRE=$require make test PYTHON="$python" "$@" | tee /entrepot/test.log
' "$version" "$require" PEERS="$peers" "$@"

# The first summary is that of all tests.
passed=$(grep -m1 -oE '[0-9]+ passed(, [0-9]+ skipped)?' "$root/entrepot/test.log") || {
    echo "$root/entrepot/test.log has no summary of pytest." >&2
    exit 1
}
in_root "$root" '
    python=$("python$1" -c "import platform; print(platform.python_version())")
    echo "| $python$2 | $3 | $4 | $(g++ -dumpfullversion) | $5 | $6 |"
' "$version" "$([[ $version != *t ]] || echo " without the GIL")" "$(release_of "$version")" "$processor" "$(git -C "$root/entrepot" rev-parse --short HEAD)" "$passed"
