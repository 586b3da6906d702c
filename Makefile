# Each target does everything it needs, from installing packages on; a second run repeats nothing.
#   make demo | test | bench | install PREFIX=dir     TORCH_DIR=dir uses an existing torch instead of .venv
#   make wheels [WHEELS="cpu cuda"]
#   make format | lint | asan | tsan | fuzz | neon | cuda | clean

export TORCH_DIR := $(and $(TORCH_DIR),$(abspath $(TORCH_DIR)))
JOBS ?= $(shell nproc)
PREFIX ?= $(CURDIR)/build/prefix

# $(call build,PRESET,FOLDER[,TARGETS]): configures when never done or when another torch is asked for, then builds.
define build
@grep -sqxF 'QUEST_TORCH_DIR:PATH=$(TORCH_DIR)' $(2)/CMakeCache.txt && test -f $(2)/build.ninja || \
  cmake --preset $(1) -DQUEST_TORCH_DIR=$(TORCH_DIR)
@cmake --build $(2) -j $(JOBS) $(and $(3),--target $(3))
endef
run_tests = ctest --test-dir $(1) --output-on-failure --no-tests=error $(and $(2),--tests-regex '$(2)')

.PHONY: build announce setup setup-test setup-check demo test bench install format format-check lint asan tsan fuzz neon cuda wheels clean
.DEFAULT_GOAL := build

setup:
	@scripts/setup.sh

setup-test:
	@scripts/setup.sh test

setup-check:
	@scripts/setup.sh check

# What installs and runs; the tests are built by `test`.
build: announce setup
	$(call build,release,build,quest_cli)

announce:
	@test -x build/quest || scripts/setup.sh announce

demo: build
	@build/quest demo
	@build/quest demo --train

test: announce setup-test
	$(call build,release,build)
	@$(call run_tests,build)

bench: build
	@build/quest bench attention

install: build
	@cmake --install build --prefix $(PREFIX)

format: setup-check
	@scripts/format.sh -i

format-check: setup-check
	@scripts/format.sh --dry-run -Werror

lint: format-check
	@scripts/tidy.sh

asan: setup
	$(call build,asan,build-asan,tests_kernels tests_attention tests_data)
	@$(call run_tests,build-asan,^tests_(kernels|attention|data)$$)

tsan: setup
	$(call build,tsan,build-tsan,tests_kernels)
	@$(call run_tests,build-tsan,^tests_kernels$$)

fuzz: setup-check
	$(call build,fuzz,build-fuzz,fuzz)
	@$(call run_tests,build-fuzz,^fuzz_) --parallel $(JOBS)

neon: setup-check
	$(call build,neon,build-neon,tests_kernels)
	@$(call run_tests,build-neon,^tests_kernels$$)

cuda: setup
	@JOBS=$(JOBS) scripts/compile_cuda.sh

wheels: setup
	@JOBS=$(JOBS) scripts/wheels/build.sh $(WHEELS)

clean:
	@rm -rf build build-*
