#!/usr/bin/env bash
# Checks for each thing named on the command line, none of which a Python package provides. Prints the
# Debian packages of those that are missing. With SYSTEM_PACKAGES=install, as `make demo` and `make
# test` call it, root then installs them with apt-get; otherwise it fails.
set -euo pipefail

python=${PYTHON:-python3}

# One row per thing: the check for it, and the Debian packages that provide it. A row may name one
# whose headers alone are needed.
there() {
    case $1 in
    compiler) command -v c++ ;;
    python) "$python" -c 'import ensurepip, os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' ;;
    libffi) echo '#include <ffi.h>' | c++ -x c++ -E - ;;
    doctest) echo '#include <doctest/doctest.h>' | c++ -x c++ -E - ;;
    hip) ldconfig -p | grep 'libamdhip64\.so' ;;
    # libclang and what the tool reads and writes with; the headers that only Debian has.
    bindgen) ls /usr/lib/llvm-*/include/clang-c/Index.h /usr/include/{toml++/toml.h,nlohmann/json.hpp,hip/hiprtc.h,hiprand/hiprand.h,rocrand/rocrand.h,zlib.h} ;;
    hipsparse) [[ -e /usr/include/hipsparse/hipsparse.h || -e /usr/local/include/hipsparse/hipsparse.h ]] ;;
    mpi) ldconfig -p | grep 'libmpi\.so' ;;
    doxygen) command -v doxygen ;;
    graphviz) command -v dot ;;
    python-inventory) ls /usr/share/doc/python3*/html/objects.inv ;;
    chromium) command -v chromium ;;
    mmdebstrap) command -v mmdebstrap ;;
    arm64) command -v qemu-aarch64-static && command -v arch-test && command -v aarch64-linux-gnu-g++ ;;
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
    # The library that comes with it is 1.3 GB of kernels.
    hipsparse) echo headers:libhipsparse-dev ;;
    mpi) echo openmpi-bin ;;
    doxygen) echo doxygen ;;
    graphviz) echo graphviz fonts-dejavu-core ;;
    python-inventory) echo python3-doc ;;
    chromium) echo chromium ;;
    mmdebstrap) echo mmdebstrap ;;
    arm64) echo qemu-user-static arch-test g++-aarch64-linux-gnu ;;
    clang) echo clang libclang-rt-dev ;;
    *) echo "system_packages.sh knows nothing by the name '$1'" >&2 && exit 2 ;;
    esac
}

# Unpacks the files that a package has below /usr/include into /usr/local/include, without its
# dependencies.
unpack_headers() {
    local folder
    folder=$(mktemp -d)
    (cd "$folder" && apt-get download -qq -o APT::Sandbox::User=root "$1" >/dev/null)
    dpkg-deb --extract "$folder"/*.deb "$folder/package"
    mkdir -p /usr/local/include
    cp -r "$folder/package/usr/include/." /usr/local/include
    rm -r "$folder"
}

missing=() headers=()
for thing in "$@"; do
    names=$(packages "$thing")
    there "$thing" && continue
    for name in $names; do
        [[ $name == headers:* ]] && headers+=("${name#headers:}") || missing+=("$name")
    done
done

if ((${#missing[@]} + ${#headers[@]} == 0)); then
    exit 0
elif [[ ${SYSTEM_PACKAGES:-} == install ]] && ((EUID == 0)) && command -v apt-get >/dev/null; then
    echo "Installing Debian packages: ${missing[*]} ${headers[*]}"
    apt-get update -qq
    if ((${#missing[@]})); then
        DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
    fi
    for package in "${headers[@]}"; do
        unpack_headers "$package"
    done
else
    echo "Missing on this machine: ${missing[*]} ${headers[*]}. Install them (Debian: apt-get install ${missing[*]} ${headers[*]}) and run make again." >&2
    exit 1
fi
