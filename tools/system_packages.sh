#!/usr/bin/env bash
# Sees to it that what no Python package brings is there: looks for each thing named on the command line, installs what
# is missing with apt-get when run as root, and otherwise says which packages to install.
set -euo pipefail

python=${PYTHON:-python3}

# One row per thing: how to see that it is there, and the Debian packages that bring it.
there() {
    case $1 in
    compiler) command -v c++ ;;
    python) "$python" -c 'import ensurepip, os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' ;;
    libffi) echo '#include <ffi.h>' | c++ -x c++ -E - ;;
    doctest) echo '#include <doctest/doctest.h>' | c++ -x c++ -E - ;;
    hip) ldconfig -p | grep 'libamdhip64\.so' ;;
    # libclang and what the tool reads and writes with; the headers that only Debian has.
    bindgen) ls /usr/lib/llvm-*/include/clang-c/Index.h /usr/include/{toml++/toml.h,nlohmann/json.hpp,hip/hiprtc.h,hiprand/hiprand.h,rocrand/rocrand.h,zlib.h} ;;
    mpi) ldconfig -p | grep 'libmpi\.so' ;;
    clang) echo 'int main() {}' | clang++ -x c++ -fsanitize=thread -o /dev/null - ;;
    esac >/dev/null 2>&1
}

packages() {
    case $1 in
    compiler) echo g++ ;;
    python) echo python3-dev python3-venv ;;
    libffi) echo libffi-dev ;;
    doctest) echo doctest-dev ;;
    hip) echo libamdhip64-5 ;;
    bindgen) echo libclang-dev libtomlplusplus-dev nlohmann-json3-dev libamdhip64-dev libhiprand-dev librocrand-dev zlib1g-dev ;;
    mpi) echo openmpi-bin ;;
    clang) echo clang libclang-rt-dev ;;
    *) echo "system_packages.sh knows nothing by the name '$1'" >&2 && exit 2 ;;
    esac
}

missing=()
for thing in "$@"; do
    names=$(packages "$thing")
    there "$thing" || missing+=($names)
done

if ((${#missing[@]} == 0)); then
    exit 0
elif ((EUID == 0)) && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
else
    echo "Missing on this machine: ${missing[*]}. Install them (Debian: apt-get install ${missing[*]}) and run make again." >&2
    exit 1
fi
