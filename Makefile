# SPDX-License-Identifier: Apache-2.0
# The commands that people and scripts use; CMake presets do the work.
KILN := build/release/kiln
SUITE ?= all
TARGET ?= jaxpr
SECONDS ?= 60

.PHONY: help deps build demo test bits gates gates-update bench asan tsan fuzz ci install clean

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

deps: ## installs what is missing (Debian packages)
	@sh tools/install-dependencies

build: deps ## builds a release: build/release/kiln
	@cmake --preset release -Wno-dev > /dev/null
	@cmake --build --preset release

demo: build ## profiles two coupled simulations, then runs one into build/demo
	@$(KILN) profile examples/graphs/pair.yaml
	@$(KILN) profile examples/graphs/rods.yaml
	@$(KILN) run examples/graphs/rods.yaml -o build/demo/rods/

test: build ## runs every test
	@ctest --preset release

bits: build ## compares the bits of every program in every form of code, on every processor that can be emulated
	@sh tools/install-dependencies --ci --aarch64 && ctest --preset release -L bits

gates: build ## compares what compiles make, and the instructions of calls, with benchmarks/gate/counts.json
	@sh tools/install-dependencies --ci && sh tools/check-counts $(KILN)

gates-update: build ## takes what is counted now as that baseline
	@sh tools/install-dependencies --ci && sh tools/check-counts $(KILN) --write

bench: build ## runs the benchmarks, or one suite of them: make bench SUITE=spine
	@sh benchmarks/run $(SUITE)

asan: deps ## runs every test under the address and undefined-behaviour sanitizers
	@cmake --preset asan -Wno-dev > /dev/null && cmake --build --preset asan && ctest --preset asan

tsan: deps ## runs every test under the thread sanitizer
	@cmake --preset tsan -Wno-dev > /dev/null && cmake --build --preset tsan && ctest --preset tsan

fuzz: ## feeds one reader with random input: make fuzz TARGET=jaxpr SECONDS=600
	@sh tools/install-dependencies --ci && sh tools/fuzz $(TARGET) $(SECONDS)

ci: ## what continuous integration runs: gates, then the tests
	@sh .ci/run

install: build ## installs (DESTDIR and PREFIX are honoured)
	@cmake --install build/release $(if $(PREFIX),--prefix $(PREFIX))

clean: ## removes what was built
	@rm -rf build
