#!/usr/bin/env bash
# Builds a wheel that other Linux distributions can install, and tests it. Called by `make wheels`.
#
# Usage: tools/wheels.sh [FOLDER]
#
# The wheel is written to FOLDER, build/wheels by default. Its manylinux tag is the lowest that its
# symbols allow, and the symbols that prevent a lower one are printed. It contains no library of
# others. The SYCL runtime stays that of intel-sycl-rt, and drivers are looked for at run time.
#
# tools/test_wheel.sh then tests the wheel here.
#
# Variables: PYTHON, the interpreter to build for. MAX_KIB, the size that fails, 3072 by default.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
folder=$(realpath -m "${1:-build/wheels}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir -p "$folder"
rm -f "$folder"/entrepot-*.whl
"$python" -m pip wheel --disable-pip-version-check -q --no-build-isolation --no-deps -Cbuild-dir=build/wheels-tree \
    -Ccmake.define.ENTREPOT_TESTS=OFF -w "$scratch" .
"$python" -m auditwheel repair --exclude 'libsycl.so.*' -w "$folder" "$scratch"/*.whl
wheel=$(echo "$folder"/entrepot-*.whl)

# The names behind each version that prevents manylinux_2_28.
"$python" -m zipfile -e "$wheel" "$scratch/files"
echo "Symbols newer than manylinux_2_28:"
find "$scratch/files" -name '*.so*' -exec nm -D --undefined-only --with-symbol-versions {} + |
    { grep -oE '\S+@(GLIBC_2\.(29|[3-9][0-9])|GLIBCXX_3\.4\.(2[5-9]|[3-9][0-9])|CXXABI_1\.3\.1[2-9])' || true; } |
    c++filt | sort -u | awk -F@ '{ names[$2] = names[$2] ", " $1 } END { for (v in names) print "  " v ": " substr(names[v], 3) }' | sort -V
if find "$scratch/files" -name '*.so*' -path '*.libs/*' | grep .; then
    echo "the wheel contains libraries of others" >&2
    exit 1
fi
kib=$((($(stat -c %s "$wheel") + 1023) / 1024))
echo "$(basename "$wheel"): $kib KiB"
if ((kib > ${MAX_KIB:-3072})); then
    echo "more than ${MAX_KIB:-3072} KiB" >&2
    exit 1
fi

PYTHON=$python tools/test_wheel.sh "$wheel"
