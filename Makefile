# Sidestream: set-up, demo, tests. `make help` tells what there is.
SHELL := /bin/bash
VENV := .venv
PYTHON := $(VENV)/bin/python
BUILD := build/release
JOBS ?= $(shell nproc)
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
# One compiler by one name for the tests and the Python package, so that ccache compiles each file once.
export CC CXX

SOURCES := $(shell find src include apps cmake data python -type f -not -path '*/__pycache__/*' 2>/dev/null) CMakeLists.txt pyproject.toml
CPP := $(shell find src include apps tests bench python/bindings -name '*.cpp' -o -name '*.hpp' 2>/dev/null)
CHECKED_PYTHON := python/sidestream tests tools bench examples

.DEFAULT_GOAL := help
.PHONY: help setup build wheels demo test test-cpp test-python test-physics test-physics-docs test-slow test-clang test-mpich test-fftw sanitize sanitize-threads fuzz attack benchmarks bench format format-check lint tidy docs measures build-cost clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

demo: $(VENV)/.installed  ## set up what is missing, then run the demo: a cosmological box analysed while it runs (runs/demo)
	@echo "== demo: examples/lya.toml on 2 ranks, one of them a sidecar"
	$(VENV)/bin/sidestream run examples/lya.toml -n 2 --out runs/demo --overwrite
	@echo "== look at runs/demo/report.html"

test: test-cpp test-python test-physics  ## set up what is missing, then run every test: C++, MPI on 1 to 4 ranks, Python, physics

# Tests write many small files for good: they wait for the disk most of the time, but not in memory, where there is room.
test-cpp test-python test-physics test-slow test-clang test-mpich test-fftw sanitize sanitize-threads fuzz: export TMPDIR := $(shell \
  test "$$(df --output=avail --block-size=G /dev/shm 2>/dev/null | tr -dc 0-9)" -ge 8 2>/dev/null && echo /dev/shm || echo $${TMPDIR:-/tmp})
SIDE_BY_SIDE := --dist loadfile -n $(JOBS)
# Commands wait for programs that start and end: twice as many of those tests keep the cores at work.
SIDE_BY_SIDE_COMMANDS := --dist loadfile -n $(shell expr 2 '*' $(JOBS))

test-cpp: build
	@echo "== tests: C++ and MPI"
	ctest --preset release -j $(JOBS)

test-python: $(VENV)/.installed
	@echo "== tests: Python and command line"
	$(PYTHON) -m pytest -q --durations=20 --durations-min=5 $(SIDE_BY_SIDE_COMMANDS) tests/python tests/cli

test-physics: $(VENV)/.installed  ## physics through the program, what takes minutes left out
	@echo "== tests: physics"
	$(PYTHON) -m pytest -q --durations=5 --durations-min=5 $(SIDE_BY_SIDE) tests/physics

test-physics-docs: $(VENV)/.installed  ## the same, and docs/reference/physics.md with its pictures anew
	$(PYTHON) -m pytest -q tests/physics --record

# What the set-up installs is to be there.
test-slow: export CI := true
test-slow: $(VENV)/.installed $(VENV)/.tools_slow build benchmarks test-clang test-mpich test-fftw sanitize sanitize-threads wheels  ## what takes minutes: other compilers, sanitizers, faults at every call, long runs, and physics with its figures into docs/reference/physics.md
	ctest --preset slow
	$(PYTHON) -m pytest -q tests/python tests/cli -m slow
	$(PYTHON) -m pytest -q tests/physics -m slow --record
	$(MAKE) fuzz SECONDS=20

attack: $(VENV)/.installed  ## every trial that `sidestream attack --list` names: kills, faults, damage, absurd configurations (days on two cores; TRIALS=10 makes ten of each kind)
	$(VENV)/bin/sidestream attack $(if $(TRIALS),--trials $(TRIALS))

setup: $(VENV)/.installed  ## system packages, virtual environment, Python package

$(VENV)/.system: tools/system_packages.txt tools/install_system_packages.sh
	@tools/install_system_packages.sh tools/system_packages.txt
	@mkdir -p $(VENV) && touch $@

$(VENV)/.system_slow: tools/system_packages_slow.txt $(VENV)/.system
	@tools/install_system_packages.sh tools/system_packages_slow.txt
	@touch $@

$(VENV)/.tools: $(VENV)/.system pyproject.toml tools/requirements.py
	@echo "== virtual environment $(VENV)"
	@test -x $(PYTHON) || python3 -m venv $(VENV)
	@$(PYTHON) -m pip install --quiet --upgrade pip
	@$(PYTHON) tools/requirements.py build test > $(VENV)/requirements.txt
	@$(PYTHON) -m pip install --quiet -r $(VENV)/requirements.txt
	@touch $@

$(VENV)/.tools_slow: $(VENV)/.tools
	@$(PYTHON) tools/requirements.py slow docs > $(VENV)/requirements_slow.txt
	@$(PYTHON) -m pip install --quiet -r $(VENV)/requirements_slow.txt
	@touch $@

$(VENV)/.tools_wheels: $(VENV)/.tools
	@$(PYTHON) tools/requirements.py wheels > $(VENV)/requirements_wheels.txt
	@$(PYTHON) -m pip install --quiet -r $(VENV)/requirements_wheels.txt
	@touch $@

$(VENV)/.tools_docs: $(VENV)/.tools
	@$(PYTHON) tools/requirements.py docs > $(VENV)/requirements_docs.txt
	@$(PYTHON) -m pip install --quiet -r $(VENV)/requirements_docs.txt
	@touch $@

$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	@echo "== Python package and sidestream-run (compiles the library)"
	@$(PYTHON) -m pip install --quiet --no-build-isolation --no-deps .
	@touch $@

wheels: $(VENV)/.tools_wheels  ## Python wheels with all they need, one for each MPI of PyPI (dist)
	$(PYTHON) tools/wheels.py

$(BUILD)/build.ninja: $(VENV)/.tools CMakePresets.json
	@cmake --preset release > /dev/null && touch $@

build: $(BUILD)/build.ninja  ## compile library, programs and tests (build/release)
	@echo "== build/release"
	@cmake --build $(BUILD)

test-clang: $(VENV)/.tools $(VENV)/.system_slow  ## the C++ and MPI tests, built by Clang
	cmake --preset clang && cmake --build build/clang && ctest --preset clang

test-mpich: $(VENV)/.tools $(VENV)/.system_slow  ## the C++ and MPI tests, with MPICH
	cmake --preset mpich && cmake --build build/mpich && ctest --preset mpich

test-fftw: $(VENV)/.tools  ## the tests of Fourier transforms, with FFTW for the lines
	cmake --preset fftw && cmake --build --preset fftw && ctest --preset fftw

sanitize: $(VENV)/.tools  ## unit tests on 1 and 2 ranks under the address and undefined-behaviour sanitizers
	cmake --preset debug && cmake --build build/debug && ctest --preset debug

sanitize-threads: $(VENV)/.tools  ## what runs threads, on 1 to 4 ranks under the thread sanitizer
	cmake --preset tsan && cmake --build build/tsan --target test_io test_analysis test_couple test_fft test_sims && ctest --preset tsan

SECONDS ?= 60
fuzz: $(VENV)/.tools $(VENV)/.system_slow  ## parsers under bytes of any kind: each libFuzzer target for a minute (SECONDS=...)
	cmake --preset fuzz && cmake --build --preset fuzz
	tools/fuzz.sh build/fuzz $(SECONDS)

benchmarks: $(BUILD)/build.ninja
	@cmake --build $(BUILD) --target benchmarks

bench: benchmarks  ## benchmarks: one JSON object each, with ratios against a peer or the machine's limit
	@tools/run_benchmarks.sh $(BUILD)

format: $(VENV)/.tools  ## format all sources
	clang-format -i $(CPP)
	$(VENV)/bin/ruff format $(CHECKED_PYTHON)

format-check: $(VENV)/.tools
	@echo "== format"
	@clang-format --dry-run --Werror $(CPP)
	@$(VENV)/bin/ruff format --check $(CHECKED_PYTHON)

lint: format-check $(BUILD)/build.ninja  ## format, layers, ruff, mypy
	@echo "== layers, ruff, mypy"
	@$(PYTHON) tools/check_layers.py .
	@$(VENV)/bin/ruff check $(CHECKED_PYTHON)
	@$(VENV)/bin/mypy python/sidestream

tidy: $(BUILD)/build.ninja  ## clang-tidy on the C++ files that differ from the last commit, or FILES="..."
	clang-tidy -p $(BUILD) $(or $(FILES),$(shell git diff --name-only HEAD -- '*.cpp'))

docs: $(VENV)/.tools_docs $(VENV)/.installed  ## the documentation as a site that works without a network (build/site/index.html)
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet
	@echo "== look at build/site/index.html"

measures:  ## lengths of files and functions, the longest first
	@python3 tools/measures.py

build-cost: $(BUILD)/build.ninja  ## CPU seconds to compile the package from nothing, and the dearest files and headers
	@cmake --build $(BUILD) --target CMakeFiles/sidestream_core.dir/cmake_pch.hxx.gch
	@python3 tools/build_cost.py $(BUILD) --most 920

clean:  ## remove what was built
	rm -rf build $(VENV)
