#!/usr/bin/env bash
# Tests a wheel, which needs nothing but Python.
#
# Usage: tools/test_wheel.sh WHEEL
#
# The wheel is installed into two new environments, without and with its extra `sycl`. In each, a
# program fills imported memory, and uses the SYCL device or prints why it is absent.
#
# Variables: PYTHON, the interpreter.
set -euo pipefail

wheel=$(realpath "${1:?"usage: tools/test_wheel.sh WHEEL"}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

program='
import sys, entrepot as ep
buffer = bytearray(range(8))
array = ep.asarray(buffer)
ep.fill(array, 7).wait()
assert buffer == bytes([7] * 8), "not in place"
try:
    device = ep.device("opencl:cpu")
except ep.DeviceError as reason:
    print(" ", reason)
    assert sys.argv[1] != "sycl" and "entrepot[sycl]" in str(reason)
else:
    assert sys.argv[1] == "sycl"
    print(" ", device)
    assert memoryview(ep.full(3, 2, "int32", device=device, kind="shared")).tolist() == [2, 2, 2]
'
for extra in "" sycl; do
    "${PYTHON:-python3}" -m venv "$scratch/venv$extra"
    "$scratch/venv$extra/bin/python" -m pip install --disable-pip-version-check -q "$wheel${extra:+[$extra]}"
    echo "installed ${extra:+with the extra }${extra:-alone}:"
    (cd "$scratch" && "$scratch/venv$extra/bin/python" -c "$program" "$extra")
done
