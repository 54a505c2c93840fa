# The verbs of this project. Each does its own set-up: a fresh clone needs nothing before it.
# The work itself is in CMakePresets.json, scripts/ and .ci/run.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)
# Seconds that each fuzz target runs in `make fuzz`.
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local

# configure(folder, options, parts of scripts/packages.txt): set-up and CMake, only as far as needed.
configure = scripts/setup $(3) && cmake -S . -B $(1) -G Ninja $(2) > $(1).configure.log 2>&1 || { cat $(1).configure.log >&2; exit 1; }
compile = cmake --build $(1) -j $(JOBS)

.PHONY: help setup build demo test check coverage asan tsan tidy format bench compare fuzz differential crash stress \
        cross install packages npm-package syntax consumer examples mcp-conformance agents clean

help:  ## this list
	@echo "make VERB, where VERB is one of"
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */\1\t/' \
	  | awk -F '\t' '{ printf "  %-12s %s\n", $$1, $$2 }'

setup:  ## install what is missing of scripts/packages.txt (Debian 12)
	@scripts/setup

build:  ## compile; leaves the program at build/galley
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=OFF,build)
	@$(call compile,build) --target galley_program

demo:  ## build the program and watch it preview, apply, undo and refuse real patches
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=OFF,build)
	@$(call compile,build) --target galley_program
	@scripts/demo

test:  ## build everything and run all tests
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON -DGALLEY_WITH_GRPC=ON -DGALLEY_WITH_NATS=ON,build test servers)
	@$(call compile,build)
	@scripts/run-tests build --output-on-failure -j $(JOBS)

check:  ## format, arrows, words and documents: what needs no long run
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON,build test)
	@$(call compile,build) --target test_architecture
	@scripts/check

coverage:  ## line coverage of tools/ by its own tests; fails below 80 %
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON,build test)
	@JOBS=$(JOBS) scripts/coverage build

asan:  ## build with AddressSanitizer and UBSan into build-asan and run all tests
	@mkdir -p build-asan && $(call configure,build-asan,--preset asan,build test)
	@$(call compile,build-asan)
	@scripts/run-tests build-asan --preset asan -j $(JOBS)

tsan:  ## build with ThreadSanitizer into build-tsan and run the tests in which threads run
	@mkdir -p build-tsan && $(call configure,build-tsan,--preset tsan,build test)
	@$(call compile,build-tsan)
	@scripts/run-tests build-tsan --preset tsan -j $(JOBS)

tidy:  ## clang-tidy over our own files
	@mkdir -p build-tidy && $(call configure,build-tidy,-DCMAKE_BUILD_TYPE=Release -DGALLEY_UNITY=OFF -DGALLEY_WITH_NATS=ON,build test servers)
	@scripts/tidy build-tidy

format:  ## clang-format every source in place
	@git ls-files -z -co --exclude-standard '*.cc' '*.h' ':!fixtures' | xargs -0 clang-format -i

bench:  ## build and run the benchmarks of bench/
	@mkdir -p build-bench && $(call configure,build-bench,-DCMAKE_BUILD_TYPE=Release -DGALLEY_BENCH=ON,build test)
	@$(call compile,build-bench)
	@for program in build-bench/bench/*_bench; do echo "== $$program"; "$$program"; done

compare:  ## measure beside git and patch, in one run; writes build-bench/compare.md
	@mkdir -p build-bench && $(call configure,build-bench,-DCMAKE_BUILD_TYPE=Release -DGALLEY_BENCH=ON,build test trees)
	@$(call compile,build-bench)
	@bench/compare --galley build-bench/galley --output build-bench/compare.md

fuzz:  ## build the fuzz targets with clang, run each for FUZZ_SECONDS, 100,000 corrections and answers
	@mkdir -p build-fuzz && $(call configure,build-fuzz,--preset fuzz,build test)
	@$(call compile,build-fuzz) --target fuzz_targets
	@scripts/fuzz build-fuzz $(FUZZ_SECONDS)
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON,build test)
	@$(call compile,build) --target test_staging_placing test_tools
	@GALLEY_ANSWER_CASES=100000 build/tests/test_tools --gtest_filter='ModelAnswers.*'
	@GALLEY_CORRECTION_CASES=100000 build/tests/test_staging_placing --gtest_filter='Correction.*'

differential:  ## hold galley to git apply and patch over real packages (npm); writes build/differential.md
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release,build test trees)
	@$(call compile,build) --target galley_program
	@scripts/differential --galley build/galley --output build/differential.md

crash:  ## kill, error and power cut at every call of a commit; prints the table
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON,build test)
	@$(call compile,build) --target test_crash
	@scripts/crash build

stress:  ## many processes, overlapping files, random kills, for a minute
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON,build test)
	@$(call compile,build) --target test_crash
	@scripts/stress build 60

mcp-conformance:  ## the conformance tests of the Model Context Protocol (npm)
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON,build test trees)
	@$(call compile,build) --target galley_program mcp_fixture_server
	@scripts/mcp-conformance build

agents:  ## real coding agents (npm), driven by a scripted model, over MCP and in the sandbox
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON,build test trees)
	@$(call compile,build) --target galley_program galley_sandbox
	@scripts/run-tests build -C Agents -L agents --output-on-failure

cross:  ## build for aarch64 into build-aarch64; run the program and some tests under qemu-user
	@JOBS=$(JOBS) scripts/cross

install: build  ## install program, library and headers under PREFIX
	@$(call compile,build)
	@cmake --install build --prefix $(PREFIX)

packages:  ## Debian packages into packages/, installed on clean roots (root only)
	@mkdir -p build-packages && scripts/setup build servers syntax && scripts/fetch-grammars
	@$(call configure,build-packages,-DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DGALLEY_SYNTAX=ON -DGALLEY_WITH_GRPC=ON -DGALLEY_WITH_NATS=ON,build servers syntax)
	@$(call compile,build-packages)
	@scripts/packages

npm-package:  ## the npm packages into build/npm/, tried from their tarballs where there is no network
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON,build test trees)
	@$(call compile,build) --target galley_single
	@scripts/npm-package build

syntax:  ## build galley-syntax, fetching its grammars (npm), and run the tests that need it
	@mkdir -p build && scripts/setup build test syntax && scripts/fetch-grammars
	@$(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON -DGALLEY_SYNTAX=ON,build test syntax)
	@$(call compile,build) --target galley_program galley_syntax test_staging_sandbox test_staging_sandbox_syntax test_engine_validators
	@GALLEY_REQUIRE_SYNTAX=1 scripts/run-tests build --output-on-failure -j $(JOBS) -R '[Ss]yntax'

consumer:  ## install into a scratch prefix; build and run the examples against it (CMake and pkg-config)
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON,build test)
	@$(call compile,build)
	@scripts/consumer-test build

examples:  ## build and run the programs of examples/
	@mkdir -p build && $(call configure,build,-DCMAKE_BUILD_TYPE=Release -DGALLEY_TESTS=ON,build test)
	@$(call compile,build)
	@scripts/examples build

clean:  ## remove every build folder
	@rm -rf build build-*
