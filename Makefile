# Jobs for a working copy. Each target sets up what it needs: the virtual environment and Python
# packages. Run by root on Debian, `make demo` and `make test` also install system packages, and name
# them first. The other targets fail if one is missing, and name it.
#
#   - make demo       which libraries can import whose memory, with addresses and times
#   - make test       C++ and Python tests with the light peers; PEERS=all adds torch and the other heavy ones. With
#                     PYTHON=python3.13t without the GIL, and with the peers that have wheels for such interpreters
#   - make peer-suites  the peers' own test suites, run with Entrepot's drop-in modules; NUMBA_DPEX=CLONE adds the
#                     programs of numba-dppy and numba-dpex
#   - make conformance  results of `entrepot check` for the peers, in docs/conformance.md
#   - make bench      times of Entrepot and the peers; PEERS=all adds PyTorch and HIP Python
#   - make docs       the documentation, in build/docs
#   - make screenshots  opens it in Chromium at two widths: pictures in build/screenshots, and a failure if code is cut
#   - make lint       formatting, ruff, mypy, stubtest; `make format` applies the formatting, `make stubs` writes the stub
#   - make bindings   the modules of C libraries, from their headers, with tools/bindgen (make bindgen)
#   - make sanitize   C++ tests and contract suites under AddressSanitizer and UBSan, C++ tests and Python's threads under
#                     ThreadSanitizer
#   - make fuzz       random kernels, calls of algorithms, and objects of the exchange, for SECONDS=60 each, with fresh seeds;
#                     FUZZ_ARGS="--seed 7"
#   - make gpu        build and test on a machine with an NVIDIA GPU and its Python; PARTS="build cpp interop"
#   - make develop    editable: changes below python/entrepot/ need no new installation
#   - make wheels     a wheel for other distributions, in build/wheels
#   - make conda      renders the recipe of the conda package, builds it without a channel and tests it, in build/conda
#   - make release    checks what a release needs, and publishes nothing
#   - make clean      removes what was built; .venv stays
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV ?= .venv
JOBS ?= $(shell nproc)
# Warnings are errors in CI only: a newer compiler may have new warnings.
WERROR ?= OFF
# OFF for a sanitizer's tree without assertions, as users have them.
ASSERTIONS ?= AUTO

BIN := $(abspath $(VENV))/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check -q
PATH := $(BIN):$(PATH)

# A test uses one core, so several processes share the tests. There is one more than there are
# cores, because many tests wait for other processes. There are at most four, because each imports
# every peer. With PYTEST_ARGS="-n 0" it is one process, for a debugger or immediate output.
PYTEST := $(PY) -m pytest -n $$(($(JOBS) + 1)) --maxprocesses 4 --dist worksteal

# Not empty if the interpreter has no GIL.
FREE_THREADED := $(shell $(or $(wildcard $(PY)),$(PYTHON)) -c 'import sysconfig; print(sysconfig.get_config_var("Py_GIL_DISABLED") or "")' 2> /dev/null)
PEERS ?= $(if $(FREE_THREADED),free-threaded,light)

export PATH
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
ifneq ($(shell command -v ccache),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
export CCACHE_SLOPPINESS ?= pch_defines,time_macros
endif

.DEFAULT_GOAL := test
.PHONY: demo test fuzz gpu peer-suites conformance bench docs screenshots lint lint-source lint-installed stubs bindings bindgen format release wheels conda sanitize sanitize-address sanitize-thread sanitize-python sanitize-python-thread install develop clean

# ---------------------------------------------------------------- set-up

# A stamp for each dependency group of pyproject.toml; renewed when that file changes.
group = $(addprefix $(VENV)/.installed-,$(1))
peers := $(if $(filter light,$(PEERS)),peers,peers-$(PEERS))

$(PY):
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("Python 3.10 or newer is needed; another one: make PYTHON=python3.x")'
	PYTHON=$(PYTHON) tools/system_packages.sh compiler python
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "pip>=25.1"

# Prefers a wheel of an earlier version to a build from source, which few machines can do.
$(VENV)/.installed-%: pyproject.toml | $(PY)
	$(PIP) install --prefer-binary --group $*
	touch $@

# In two steps: pip keeps its downloads until the last package is installed, and those of the second
# step are 3 GB.
$(VENV)/.installed-peers-all: $(VENV)/.installed-peers

# ---------------------------------------------------------------- build

# Without isolation, so that a build folder is reused: the path of pip's isolated environment
# changes each time.
pip_build = $(PIP) install --no-build-isolation --no-deps -Ccmake.define.ENTREPOT_TESTS=$(TESTS) -Ccmake.define.ENTREPOT_WERROR=$(WERROR) \
	-Ccmake.define.ENTREPOT_BENCHMARKS=$(BENCHMARKS)
TESTS := OFF
BENCHMARKS := OFF

install: $(call group,build)
	tools/system_packages.sh compiler libffi
	$(info Building entrepot, which takes minutes the first time…)
	$(pip_build) --force-reinstall . -Cbuild-dir=build/wheel

develop: TESTS := ON
develop: $(call group,build test lint $(peers))
	tools/system_packages.sh compiler libffi doctest
	$(pip_build) -e . -Cbuild-dir=build/develop -Ceditable.rebuild=false -Ccmake.define.ENTREPOT_UNITY_BUILD=OFF

clean:
	rm -rf build dist

# ---------------------------------------------------------------- jobs

demo: export SYSTEM_PACKAGES := install
demo: install $(call group,test $(peers))
	$(PY) -m entrepot demo

test: TESTS := ON
test: export SYSTEM_PACKAGES := install
test: system-test install $(if $(filter all,$(PEERS)),bindgen) $(call group,test $(peers))
	ctest --test-dir build/wheel --output-on-failure -j $(JOBS)
	ENTREPOT_WITHOUT_FAST_IMPORT=$(CURDIR)/build/wheel/python/without_fast_import $(if $(FREE_THREADED),PYTHON_GIL=0) $(PYTEST) $(PYTEST_ARGS)

.PHONY: system-test
system-test:
	tools/system_packages.sh compiler libffi doctest $(if $(filter all,$(PEERS)),mpi hip)

# A clone of numba-dpex with its tags: the programs of its releases are run, too.
NUMBA_DPEX ?=

peer-suites: install $(call group,test $(peers) $(if $(NUMBA_DPEX),peers-all bench))
	$(PY) tests/peers/dpctl_suite.py
	$(if $(NUMBA_DPEX),$(PY) tests/peers/numba_dppy_examples.py $(NUMBA_DPEX))
	$(if $(NUMBA_DPEX),$(PY) tests/peers/numba_dpex_suite.py $(NUMBA_DPEX))

conformance: install $(call group,test peers-all)
	$(PY) tests/peers/conformance.py

SECONDS := 60

# Each one runs even if an earlier one fails.
fuzz: install $(call group,test $(peers))
	status=0
	for tool in fuzz_kernels fuzz_algorithms fuzz_exchange; do $(PY) tools/$$tool.py --seconds $(SECONDS) $(FUZZ_ARGS) || status=1; done
	exit $$status

# Installs nothing, since such machines may have no access to a registry.
gpu:
	PYTHON=$(PYTHON) tools/gpu.sh $(PARTS)

bench: BENCHMARKS := ON
bench: install $(call group,test bench $(peers))
	ENTREPOT_CPP_BENCHMARKS=build/wheel/benchmarks/cpp $(PY) -m benchmarks $(BENCH_ARGS)

.PHONY: system-docs
system-docs:
	tools/system_packages.sh doxygen graphviz python-inventory

docs: system-docs install $(call group,docs peers)
	$(PY) -m sphinx -W --keep-going -q -b html docs build/docs

.PHONY: system-screenshots
system-screenshots:
	tools/system_packages.sh chromium

screenshots: system-screenshots docs $(call group,screenshots)
	$(PY) tools/screenshots.py build/docs build/screenshots

# ---------------------------------------------------------------- gates

cxx_files = git ls-files -- '*.h' '*.hpp' '*.c' '*.cpp'

# The checks that need no build: formatting, ruff's rules, English, spelling, shell scripts, subjects of commits.
lint-source: $(call group,lint)
	$(cxx_files) | xargs -r -n 50 -P $(JOBS) clang-format --dry-run --Werror
	ruff check
	ruff format --check
	$(PY) tools/check_prose.py
	git ls-files | xargs codespell
	shellcheck .ci/run tools/*.sh
	$(PY) tools/check_commits.py

lint: lint-source lint-installed

# The checks that need the installed package: types, the stub, the bindings.
lint-installed: install bindgen $(call group,build lint test bindings)
	mypy
	tools/stubs.sh build/_core.pyi
	diff -u python/entrepot/_core.pyi build/_core.pyi
	tools/bindings.sh --check
	stubtest entrepot --allowlist tools/stubtest.allow --ignore-unused-allowlist

# The type stub of the installed extension.
stubs: install
	tools/stubs.sh

# From the installed headers; CI compares with the result.
bindings: bindgen $(call group,build bindings)
	tools/bindings.sh

.PHONY: system-bindgen
system-bindgen:
	tools/system_packages.sh compiler bindgen hipsparse

bindgen: system-bindgen $(call group,build)
	cmake -S tools/bindgen -B build/bindgen -G Ninja --log-level=WARNING
	cmake --build build/bindgen > /dev/null

# A wheel for other distributions, installed and tried without and with the extra for SYCL.
wheels: $(call group,build release)
	tools/system_packages.sh compiler libffi
	PYTHON=$(PY) tools/wheels.sh

# The conda package with this Python and compiler, since a channel may be out of reach.
conda: $(call group,build conda)
	tools/system_packages.sh compiler libffi
	$(PY) tools/conda.py

# Builds the source archive, and the wheel from it, and checks both and the tree.
release: $(call group,build release)
	tools/system_packages.sh compiler libffi
	rm -rf build/release
	$(PY) -m build --no-isolation --outdir build/release
	$(PY) -m twine check --strict build/release/*
	$(PY) tools/release.py build/release

format: $(call group,lint)
	$(cxx_files) | xargs -r clang-format -i
	ruff check --fix-only
	ruff format

sanitize: sanitize-address sanitize-python sanitize-thread sanitize-python-thread

# Packages of all jobs. .ci/run installs them while it compiles the thread sanitizer's tests.
.PHONY: packages
packages: $(call group,build test lint docs bindings $(peers))

tree-address: $(call group,test $(peers))

.PHONY: tree-address tree-thread
tree-address tree-thread: tree-%: $(call group,build)
	tools/system_packages.sh compiler libffi doctest
	cmake --preset $* -DPython_EXECUTABLE=$(PY) -DENTREPOT_WERROR=$(WERROR) -DENTREPOT_ASSERTIONS=$(ASSERTIONS) --log-level=NOTICE
	cmake --build --preset $*

sanitize-address sanitize-thread: sanitize-%: tree-%
	ctest --preset $* -j $(JOBS)

# Installs the package that the tree build/$(1) has built into build/$(1)/package, and lets Python find
# it there. An editable install would precede PYTHONPATH, so its finder is removed in each process.
define package_of_tree
	rm -rf build/$(1)/package
	mkdir build/$(1)/package
	cp -r python/entrepot build/$(1)/package
	cmake --install build/$(1) --prefix build/$(1)/package > build/$(1)/install.log
	echo "import sys; sys.meta_path[:] = [each for each in sys.meta_path if 'ScikitBuild' not in type(each).__name__]" \
		> build/$(1)/package/sitecustomize.py
	export PYTHONPATH=build/$(1)/package
endef

# Under the sanitizer the RUNPATH of dlopen's caller is ignored, so the SYCL runtime's folder is
# named. The interpreter is not compiled with the sanitizer, so the sanitizer's library is preloaded.
define sanitized_package
	$(call package_of_tree,$(1))
	export PYTHONMALLOC=malloc
	export LD_LIBRARY_PATH="$$($(PY) cmake/sycl_prefix.py)/lib" ENTREPOT_REQUIRE="$${ENTREPOT_REQUIRE:-host,sycl}"
endef

# Clang's library contains UBSan.
address_libraries := $(if $(findstring clang,$(CXX)),libclang_rt.asan-$(shell uname -m).so,libasan.so libubsan.so)

# The interpreter keeps objects until it exits, so only the C++ tests check for leaks. LLVM, in
# HIP's compiler, gives a thread another alternate stack, which the sanitizer would unmap. The
# comparison with HIP Python is left out, because test_calls_with_zeros calls the same functions.
sanitize-python: sanitize-address $(if $(filter all,$(PEERS)),bindgen)
	$(call sanitized_package,address)
	export ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0:use_sigaltstack=0 UBSAN_OPTIONS=print_stacktrace=1
	LD_PRELOAD="$(foreach each,$(address_libraries),$(shell $(CXX) -print-file-name=$(each)))" $(PYTEST) \
		--deselect tests/python/hip/test_statuses.py::test_statuses_match_hip_python \
		tests/contract tests/python/adapters tests/python/ffi tests/python/hip tests/robustness/test_malformed.py

# Both compilers use GCC's library, since Clang 14's own crashes as a shared one. The process ends
# at the first report, since the exit status of a pytest worker is not visible.
sanitize-python-thread: tree-thread $(call group,test $(peers))
	$(call sanitized_package,thread)
	rm -f build/thread/race.*
	export TSAN_OPTIONS="suppressions=$(CURDIR)/tests/cpp/races.supp second_deadlock_stack=1 halt_on_error=1 log_path=$(CURDIR)/build/thread/race"
	LD_PRELOAD="$$(g++ -print-file-name=libtsan.so)" $(PYTEST) tests/robustness/test_threads.py || { cat build/thread/race.* && false; }
