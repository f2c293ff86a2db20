#!/usr/bin/env bash
# Builds and tests on a machine with an NVIDIA GPU that may reach no registry: with the Python and the packages that are there.
# Usage: tools/gpu.sh [build] [cpp] [hip] [python]; without arguments all of them, one after the other. Each part ends in minutes
# and leaves its table in build/gpu/results, where the parts of several calls come together.
set -uo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
build=build/gpu
results=$build/results
package=$PWD/$build/package
parts=(${@:-build cpp hip python})
mkdir -p "$results"

part_build() {
    cmake -S . -B "$build" -G Ninja -DPython_EXECUTABLE="$(command -v "$python")" -DENTREPOT_SYCL=OFF -DENTREPOT_TESTS=ON \
        ${GPU_CMAKE_ARGS:-} --log-level=NOTICE || return
    cmake --build "$build" || return
    rm -rf "$package"
    mkdir -p "$package"
    cp -r python/entrepot "$package"
    cmake --install "$build" --prefix "$package" >"$build/install.log"
}

part_cpp() {
    ENTREPOT_REQUIRE=cuda ctest --test-dir "$build" --output-on-failure -R "cuda${GPU_CTEST:-}"
}

# The HIP backend and HIP Python's examples over the same GPU, by the libraries of tests/hip_over_cuda.
part_hip() {
    local libraries=$PWD/$build/tests/hip_over_cuda
    export ENTREPOT_HIP_LIBRARY=$libraries/libhip_over_cuda.so ENTREPOT_HIPRTC_LIBRARY=$libraries/libhip_over_cuda.so
    export ENTREPOT_HIPRAND_LIBRARY=$libraries/libhiprand_over_cuda.so
    ENTREPOT_REQUIRE=hip ctest --test-dir "$build" --output-on-failure -R "backends_hip$" || return
    PYTHONPATH=$package ENTREPOT_REQUIRE=hip,numpy \
        "$python" -m pytest -o minversion=7 -q -m hip ${HIP_PYTEST_ARGS:-tests/python tests/contract tests/robustness}
}

part_python() {
    # JAX would take most of the device's memory for itself.
    XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONPATH=$package ENTREPOT_REQUIRE=${ENTREPOT_REQUIRE:-host,cuda,numpy} \
        "$python" -m pytest -o minversion=7 -q ${PYTEST_ARGS:-tests/contract tests/interop tests/python/device tests/python/array \
        tests/python/exchange tests/python/adapters tests/python/memory/test_resources.py tests/robustness/test_malformed.py \
        tests/robustness/test_threads.py tests/robustness/test_out_of_memory.py tests/project/test_documents.py}
}

failed=()
for part in "${parts[@]}"; do
    start=$SECONDS
    "part_$part" 2>&1 | tee "$results/$part.log" || failed+=("$part")
    summary=$(grep -E "tests passed|tests failed| passed| failed|error:" "$results/$part.log" | tail -n 1)
    printf '%s\t%s s\t%s\n' "$part" "$((SECONDS - start))" "${summary:-done}" >"$results/$part.row"
done
echo
cat "$results"/*.row
if ((${#failed[@]})); then
    echo "failed: ${failed[*]}"
    exit 1
fi
