#!/usr/bin/env bash
# Regenerates the bindings: modules and stubs in the package, and descriptions and reports beside
# each library's settings in tools/bindgen/libraries.
#
# With `--check`, writes to build/bindings instead, and fails if anything differs. The tool itself is
# built by `make bindgen`.
set -euo pipefail
cd "$(dirname "$0")/.."

bindgen=build/bindgen/bindgen
libraries=tools/bindgen/libraries
check=${1:-}
root=.
if [[ $check == --check ]]; then
    root=build/bindings
    rm -rf "$root"
    mkdir -p "$root/$libraries" "$root/python/entrepot/hip" "$root/examples/bindings"
fi

# HIP 7.1's headers come from the triton wheel; those of hipRTC and the libraries on top from
# Debian.
hip=$(python -c 'import importlib.util, os; print(os.path.join(os.path.dirname(importlib.util.find_spec("triton").origin), "backends/amd/include"))')

# library, module, folders of headers
bind() {
    local name=$1 module=$2
    shift 2
    "$bindgen" "$libraries/$name.toml" "$root/$libraries/$name.json" "$root/$module" "${@/#/-I}"
    if [[ $check == --check ]]; then
        for file in "$libraries/$name.json" "$libraries/$name.report" "$module" "${module}i"; do
            diff -u "$file" "$root/$file" || { echo "$file is not what tools/bindgen writes: make bindings" >&2 && return 1; }
        done
    fi
}

bind hip python/entrepot/hip/__init__.py "$hip" "$libraries"
bind hiprtc python/entrepot/hiprtc.py "$hip" /usr/include "$libraries"
bind hiprand python/entrepot/hiprand.py "$hip" /usr/include "$libraries"
bind hipsparse python/entrepot/hipsparse.py "$hip" /usr/local/include /usr/include "$libraries"
bind zlib examples/bindings/zlib_bindings.py /usr/include
