#!/usr/bin/env bash
# Builds and tests on a machine with an NVIDIA GPU and without access to a registry: with the Python
# and the packages that it has.
#
# Usage: tools/gpu.sh [PART]...
#
# Parts: build, cpp, hip, between, order, interop, device, memory, kernel, conformance, check,
# sanitize and sanitize_python. Without arguments all of them run in order. Each part ends in minutes and leaves
# its table in build/gpu/results, where the parts of several calls are collected.
#
# `tools/gpu.sh carry`, run where doctest and libffi are installed, copies the files that the build
# needs of them to build/carry; copy that to the machine.
#
# Tests that do not depend on a device (command line, C libraries, projects) run in `make test`.
#
# Variables:
#   - PYTEST_ARGS, passed to the parts in Python
#   - GPU_CMAKE_ARGS, passed to CMake
#   - GPU_CTEST, appended to the pattern of C++ tests
#   - ENTREPOT_REQUIRE, the needs that must be met. The default is a CUDA device and every peer without
#     dpctl, dpnp and HIP Python, which need libraries of SYCL or AMD. Libraries of tests/python/transport
#     are not required: images with CUDA lack them. If it is set, the pages of the
#     documentation are not written, because they need every library of the default.
#
# For `python -m benchmarks.cuda`, build with GPU_CMAKE_ARGS=-DENTREPOT_ASSERTIONS=OFF: assertions
# are on with tests, and slow short calls down.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

python=${PYTHON:-python3}
build=build/gpu
results=$build/results
package=$PWD/$build/package
carried=$PWD/build/carry
writes_pages=1
[[ -z ${ENTREPOT_REQUIRE:-} ]] || writes_pages=0
peers=numpy,ml_dtypes,torch,cupy,jax,numba,numba_cuda,triton,cuda_core,tvm_ffi,mpi4py,nanobind
parts=("$@")
((${#parts[@]})) || parts=(build cpp hip between order interop device memory kernel conformance check sanitize sanitize_python)
read -ra cmake_args <<<"${GPU_CMAKE_ARGS:-}"
read -ra pytest_args <<<"${PYTEST_ARGS:-}"
mkdir -p "$results"

part_carry() {
    local headers
    headers=$(printf '#include <%s>\n' doctest/doctest.h ffi.h | c++ -x c++ -M - | grep -oE '/\S+\.h') || return
    mkdir -p "$carried/include/doctest" "$carried/lib"
    grep '/doctest/doctest\.h$' <<<"$headers" | xargs cp -t "$carried/include/doctest" &&
        grep -E '/ffi(target)?\.h$' <<<"$headers" | xargs cp -t "$carried/include" &&
        cp "$(c++ -print-file-name=libffi_pic.a)" "$carried/lib"
}

part_build() {
    CMAKE_PREFIX_PATH=$carried${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH} cmake -S . -B "$build" -G Ninja \
        -DPython_EXECUTABLE="$(command -v "$python")" -DENTREPOT_SYCL=OFF -DENTREPOT_TESTS=ON -DENTREPOT_BENCHMARKS=ON \
        "${cmake_args[@]}" --log-level=NOTICE || return
    cmake --build "$build" || return
    rm -rf "$package"
    mkdir -p "$package"
    cp -r python/entrepot "$package"
    cmake --install "$build" --prefix "$package" >"$build/install.log"
}

part_cpp() {
    ENTREPOT_REQUIRE=cuda,${ENTREPOT_REQUIRE:-} ctest --test-dir "$build" --output-on-failure -R "cuda${GPU_CTEST:-}"
}

# The HIP backend and HIP Python's examples over the same GPU, by the libraries of tests/hip_over_cuda.
part_hip() {
    local libraries=$PWD/$build/tests/hip_over_cuda
    export ENTREPOT_HIP_LIBRARY=$libraries/libhip_over_cuda.so ENTREPOT_HIPRTC_LIBRARY=$libraries/libhip_over_cuda.so
    export ENTREPOT_HIPRAND_LIBRARY=$libraries/libhiprand_over_cuda.so
    export ENTREPOT_REQUIRE=hip,${ENTREPOT_REQUIRE:-numpy}
    ctest --test-dir "$build" --output-on-failure -R "backends_hip(_two_devices)?$" || return
    PYTHONPATH=$package${PYTHONPATH:+:$PYTHONPATH} "$python" -m pytest -o minversion=7 -q -m hip \
        tests/python tests/contract tests/robustness "${pytest_args[@]}"
}

# JAX would reserve most of the device's memory.
in_python() {
    XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONPATH=$package${PYTHONPATH:+:$PYTHONPATH} ENTREPOT_REQUIRE=${ENTREPOT_REQUIRE:-host,cuda,$peers} "$@"
}

# Distributes the tests over as many processes as cores, up to eight, if pytest-xdist is installed.
tests() {
    local cores processes=()
    cores=$(nproc)
    "$python" -c "import xdist" 2>/dev/null && processes=(-n "$((cores < 8 ? cores : 8))")
    in_python "$python" -m pytest -o minversion=7 -q "${processes[@]}" --device-memory "$@" "${pytest_args[@]}"
}

in_one_process() {
    in_python "$python" -m pytest -o minversion=7 -q -p no:xdist --device-memory "$@" "${pytest_args[@]}"
}

# From every library to every other with a slow kernel each: half of the matrix's time, and most
# tests run alone.
part_between() {
    in_one_process tests/interop/test_between_peers.py
}

part_order() {
    ENTREPOT_REPETITIONS=200 in_one_process tests/interop/test_stream_order.py &&
        ENTREPOT_SOAK_SECONDS=60 in_one_process tests/interop/test_stream_soak.py
}

# Writes its page before the test of that page.
part_interop() {
    local page=tests/interop/test_matrix_page.py write=()
    ((writes_pages)) && write=(--matrix=docs/cuda_matrix.md)
    tests tests/interop --ignore=tests/interop/test_between_peers.py --ignore=$page "${write[@]}" || return
    ((writes_pages)) && cp docs/cuda_matrix.md "$results"
    in_python "$python" -m pytest -o minversion=7 -q -p no:xdist $page
}

part_device() {
    tests tests/contract tests/python/device tests/python/array tests/python/exchange tests/python/adapters \
        tests/python/extensions/test_c_interface.py tests/robustness tests/project/test_documents.py
}

part_memory() {
    tests tests/python/memory tests/python/transport
}

part_kernel() {
    tests tests/python/kernel
}

# Writes its page, which tests of the next part check.
part_conformance() {
    ((writes_pages)) || {
        echo "not written: ENTREPOT_REQUIRE is set"
        return
    }
    in_python "$python" tests/peers/conformance.py cuda && cp docs/conformance_cuda.md "$results"
}

part_check() {
    tests tests/python/check tests/peers
}

# Tests provoke errors of driver calls on purpose; they are not reported.
sanitizer() {
    local tool
    tool=$(command -v compute-sanitizer || compgen -G '/usr/local/cuda*/bin/compute-sanitizer' | tail -n 1)
    "${tool:?compute-sanitizer is not here}" --target-processes application-only --error-exitcode 86 --report-api-errors no "$@"
}

# The command and environment that ctest would use.
command_of='
import json, sys
test, = json.load(sys.stdin)["tests"]
print(test["command"][0], *next(each["value"] for each in test["properties"] if each["name"] == "ENVIRONMENT"))'

part_sanitize() {
    local tests environment groups='*groups_share_local_memory*,*transpositions*,*shared memory*,*cooperative*,*clusters*'
    read -r tests environment < <(ctest --test-dir "$build" -R 'backends_cuda$' --show-only=json-v1 | "$python" -c "$command_of")
    local -x ENTREPOT_REQUIRE=cuda "${environment:?build comes first}" || return
    sanitizer --tool memcheck --leak-check full "$tests" --test-suite-exclude="two devices" &&
        sanitizer --tool racecheck "$tests" --test-case="$groups" &&
        sanitizer --tool synccheck "$tests" --test-case="$groups"
}

# Times are not meaningful under it, so tests marked alone are left out; and a forked child has no
# driver.
part_sanitize_python() {
    local tests=("$python" -m pytest -o minversion=7 -q -p no:xdist -m "cuda and not alone" "${pytest_args[@]}") kernel=tests/python/kernel
    in_python sanitizer --tool memcheck "${tests[@]}" tests/python/memory/test_cuda_pool.py tests/python/exchange/test_streams.py \
        tests/python/device/test_cuda.py -k "not Fork" &&
        in_python sanitizer --tool racecheck "${tests[@]}" $kernel/test_groups.py $kernel/test_functions_of_groups.py \
            $kernel/test_synchronization.py $kernel/test_spaces.py
}

failed=()
for part in "${parts[@]}"; do
    start=$SECONDS
    "part_$part" 2>&1 | tee "$results/$part.log" || failed+=("$part")
    summary=$(grep -E "tests passed|tests failed| passed| failed|error:|not written|ERROR SUMMARY" "$results/$part.log" | tail -n 1)
    printf '%s\t%s s\t%s\n' "$part" "$((SECONDS - start))" "${summary:-done}" >"$results/$part.row"
done
echo
cat "$results"/*.row
if ((${#failed[@]})); then
    echo "failed: ${failed[*]}"
    exit 1
fi
