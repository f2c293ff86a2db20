#!/usr/bin/env bash
# Writes the type stub of the installed extension to $1 (python/entrepot/_core.pyi by default).
set -euo pipefail
cd "$(dirname "$0")/.."
stub=${1:-python/entrepot/_core.pyi}
python -m nanobind.stubgen -q -m entrepot._core -p tools/stubs.pat -o "$stub"
python tools/stub_docstrings.py "$stub"
