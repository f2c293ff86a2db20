# The jobs of a working copy. Each target does all of its own set-up; on Debian and as root that includes apt-get.
#
#   make demo       the main job on real libraries: who can take whose memory, with addresses and times
#   make test       C++ and Python tests with the light peers; PEERS=all adds torch and the other heavy ones
#   make bench      ours and the peers' times, side by side
#   make docs       the documentation, into build/docs
#   make lint       formatting, ruff, mypy, stubtest          make format   applies the formatting
#   make sanitize   C++ tests and contract suites under AddressSanitizer + UBSan, C++ tests under ThreadSanitizer
#   make develop    for working on the sources: edits of python/entrepot/ count without installing again
#   make clean      removes what was built, keeps .venv
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV ?= .venv
PEERS ?= light
JOBS ?= $(shell nproc)

PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -q
BIN := $(abspath $(VENV))/bin

export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
ifneq ($(shell command -v ccache),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
endif

peer_groups := $(if $(filter all,$(PEERS)),peers-all,peers)

.PHONY: demo test bench docs lint format sanitize develop install clean
.DEFAULT_GOAL := test

# ---------------------------------------------------------------- set-up

# A stamp per dependency group: made again when pyproject.toml changes.
stamp = $(VENV)/.installed-$(1)

$(VENV)/bin/python:
	tools/system_packages.sh compiler python
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "pip>=25.1"

$(VENV)/.installed-%: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --group $*
	touch $@

# ---------------------------------------------------------------- build

# Without isolation, so that one build folder serves again: pip's isolated environment has another path each time.
build_wheel = $(PIP) install --no-build-isolation --no-deps --force-reinstall . -Ccmake.define.ENTREPOT_TESTS=ON

install: $(call stamp,build)
	tools/system_packages.sh compiler doctest
	$(build_wheel)

develop: $(call stamp,build) $(call stamp,test) $(call stamp,$(peer_groups))
	tools/system_packages.sh compiler doctest
	$(PIP) install --no-build-isolation --no-deps -e . -Cbuild-dir=build/develop -Ceditable.rebuild=false \
	    -Ccmake.define.ENTREPOT_TESTS=ON -Ccmake.define.ENTREPOT_LTO=OFF

clean:
	rm -rf build dist
