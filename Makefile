# The one door. `make start` shows Floodwall at work, `make test` proves it; both set up what is missing by themselves.
#   setup  packages, npm modules, native code       check  format, lint, types       bench  speed beside its rivals
#   lab    the demonstration once, as a test        soak   15 minutes of floods      fuzz   the parser, for long
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BUN := node_modules/.bin/bun
JOBS := $(shell nproc)
STAMPS := build/stamps

BUILD_PACKAGES := make g++ clang llvm bpftool libbpf-dev libxdp-dev libpcap-dev linux-libc-dev
RUN_PACKAGES := gobgpd iproute2
TEST_PACKAGES := bird2 doctest-dev libclang-rt-14-dev prometheus socat procps
CHECK_PACKAGES := clang-format clang-tidy
BENCH_PACKAGES := fastnetmon
SETUP_PACKAGES := $(BUILD_PACKAGES) $(RUN_PACKAGES) $(TEST_PACKAGES) $(CHECK_PACKAGES)

.PHONY: help setup start lab test check format bench soak fuzz addon clean
help:
	@sed -n '1,4s/^# //p' $(MAKEFILE_LIST) | head -4

setup: $(STAMPS)/packages $(STAMPS)/npm addon

start: setup
	@$(BUN) test/lab/demo.ts

lab: setup
	@$(BUN) test/lab/demo.ts --once

test: setup
	@$(BUN) test/run.ts

soak: setup
	@$(BUN) test/lab/soak.ts --minutes 15

fuzz: setup
	@$(MAKE) -C addon -j$(JOBS) fuzz
	build/addon/fuzz_packet_parser -max_total_time=$${SECONDS_TO_FUZZ:-1800} -max_len=512 -print_final_stats=1

bench: setup $(STAMPS)/bench-packages
	@$(BUN) bench/run.ts

check: setup
	node_modules/.bin/biome check .
	node_modules/.bin/oxlint --type-aware --deny-warnings .
	node_modules/.bin/tsc --noEmit
	clang-format --dry-run --Werror $$(git ls-files 'addon/*.cpp' 'addon/*.h' 'addon/*.c' 'test/*.cpp' 'test/*.c' 'test/*.h' 'bench/*.cpp' 'bench/*.c')
	@$(MAKE) -C addon --no-print-directory -j$(JOBS) tidy
	$(BUN) test test/architecture.test.ts

format: setup
	node_modules/.bin/biome check --write .
	clang-format -i $$(git ls-files 'addon/*.cpp' 'addon/*.h' 'addon/*.c' 'test/*.cpp' 'test/*.c' 'test/*.h' 'bench/*.cpp' 'bench/*.c')

addon: $(STAMPS)/packages $(STAMPS)/npm
	@$(MAKE) -C addon --no-print-directory -j$(JOBS) all
	@$(MAKE) -C test/lab --no-print-directory -j$(JOBS) all

# Debian's packages, with no service of theirs started: a policy file of ours stands in the way during the installation.
define install_packages
	@missing=$$(for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" != 0 ]; then echo "missing Debian packages, as root: apt-get install --no-install-recommends" $$missing >&2; exit 1; fi; \
	  echo "installing Debian packages:" $$missing; \
	  if [ ! -e /usr/sbin/policy-rc.d ]; then \
	    trap 'rm -f /usr/sbin/policy-rc.d' EXIT; printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d; fi; \
	  export DEBIAN_FRONTEND=noninteractive; mkdir -p build; \
	  { apt-get update && apt-get install -y --no-install-recommends $$missing; } > build/apt.log 2>&1 \
	    || { tail -20 build/apt.log >&2; exit 1; }; \
	fi
	@mkdir -p $(STAMPS) && touch $@
endef

$(STAMPS)/packages: Makefile
	$(call install_packages,$(SETUP_PACKAGES))

$(STAMPS)/bench-packages: Makefile
	$(call install_packages,$(BENCH_PACKAGES))

# npm only puts the modules there (their scripts stay off); Bun's own script then puts its executable in place.
$(STAMPS)/npm: package.json package-lock.json $(STAMPS)/packages
	@command -v npm >/dev/null || { $(MAKE) --no-print-directory $(STAMPS)/npm-package; }
	npm ci --no-progress
	@node node_modules/bun/install.js
	@$(BUN) --version >/dev/null || { echo "bun does not run: is this an x86-64 or arm64 Linux with glibc?" >&2; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/npm-package:
	$(call install_packages,npm)

clean:
	rm -rf build node_modules
