# Thin: every target is one script or one preset of CMakePresets.json.

.DEFAULT_GOAL := build
.PHONY: help deps deps-asan build debug asan tsan clang quick check format tidy coverage demo package sim fuzz bench bench-against bench-failures bench-ngb bench-ngb-full clean distclean

help: ## this list
	@sed -n 's/^\([a-z -]*\):.*## /\1: /p' $(MAKEFILE_LIST) | awk -F': ' '{ name = $$1; sub(/^[^:]*: /, ""); printf "  make %-22s %s\n", name, $$0 }'

deps: ## Debian packages and the pinned Ganesha; the only step that downloads
	@scripts/deps.sh release debian

deps-asan: ## the same Ganesha, built with AddressSanitizer
	@scripts/deps.sh release asan

build: ## the release build (build/release)
	@scripts/build.sh release

debug asan tsan clang: ## other builds (build/NAME)
	@scripts/build.sh $@

quick: ## a minute before each commit: unit tests, scenarios, rules, layers, linters
	@scripts/quick.sh

format: ## clang-format over all C files (ARGS='--check' changes nothing)
	@scripts/format.sh $(ARGS)

tidy: ## clang-tidy over src, protocol and FSAL_REPL (ARGS='src/store/journal/journal.c': these files)
	@scripts/tidy.sh $(ARGS)

coverage: ## which lines the tests without a network run, a line for each folder (ARGS='-R scenario': these tests)
	@scripts/coverage.sh $(ARGS)

check: ## all tests; the last line counts them
	@scripts/check.sh

demo: ## three sites on this machine, a link that is cut, a server that dies
	@scripts/demo.sh

package: ## a Debian package for the servers (build/nfs4r_VERSION_ARCH.deb)
	@scripts/package.sh

sim: ## a long run of the simulator, with other seeds each time
	@scripts/build.sh release
	@NFS4R_SIM_LONG=1 NFS4R_SIM_FRESH=1 ctest --test-dir build/release -L sim --output-on-failure

fuzz: ## coverage-guided fuzzing of all targets, a minute each (ARGS='--minutes 30 store')
	@scripts/fuzz.sh $(ARGS)

bench: ## benchmarks against stock Ganesha, half an hour (ARGS='--quick --rtt 20 trees')
	@scripts/bench.sh $(ARGS)

bench-against: ## is this tree slower than an earlier one? Both in turns (ARGS='COMMIT --rtt 20 trees')
	@scripts/build.sh release
	@tests/bench/against.py $(ARGS)

bench-failures: ## fail-over, return, catching up, COMMIT, leases: what they take (ARGS='--rounds 5 failover commit')
	@scripts/build.sh release
	@tests/bench/failures.py $(ARGS)

bench-ngb: ## NAS Grid Benchmarks over three sites, a quick subset (ARGS='--graph HC --trials 3')
	@scripts/bench-ngb.sh $(ARGS)

bench-ngb-full: ## every class, graph and round trip time, five trials; days (goes on where it was ended)
	@scripts/bench-ngb.sh --full $(ARGS)

clean: ## remove build/
	@rm -rf build

distclean: clean ## remove .deps/ as well
	@rm -rf .deps
