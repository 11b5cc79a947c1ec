# The one door. `make start` shows Floodwall at work, `make test` proves it; both set up what is missing by themselves.
#   setup  packages, npm modules, native code       check  format, lint, types       bench  speed beside its rivals
#   lab    the demonstration once, as a test        soak   15 minutes of floods      fuzz   parser and API, for long
#   lab-scrub  a flood diverted to a scrub node, and a user's requests to the same victim beside it
#   conformance  the interface, statement by statement    accuracy  detection on labelled captures
#   captures  what the kernel drops of labelled captures, under the rules that detection made (SEED=…)
#   simulate  the whole service through a month of anything, on a clock moved by hand (SEED=…, HOURS=…)
#   kernels  stock kernels of Debian under QEMU, and on each the programs, the labs, an inline box, a real driver (ARGS=…)
#   edge-sim  a fleet of edge nodes, played by the book for a minute beside a service (ARGS='--nodes 100 --zones 200 --seconds 300')
#   dashboard  the web page alone    screenshots  pictures of it, in build/screenshots
#   format  as check wants it    clean  what was built and installed here
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
# Two of these at once would spoil each other's installation or measurement; what they call uses all cores.
.NOTPARALLEL:

BUN := node_modules/.bin/bun
JOBS := $(shell nproc)
STAMPS := build/stamps
DASHBOARD_SOURCES = $(shell find dashboard -type f -not -name '*.test.ts') src/limits.ts
NATIVE_SOURCES = $(shell find addon test bench -name '*.cpp' -o -name '*.[ch]')

# Debian's packages, by what needs them first: `make start` installs the first three lines.
BUILD_PACKAGES := g++ clang llvm bpftool libbpf-dev libxdp-dev libpcap-dev $(if $(shell command -v npm),,npm)
RUN_PACKAGES := gobgpd procps
LAB_PACKAGES := iproute2 bird2 socat
TEST_PACKAGES := doctest-dev libclang-rt-dev prometheus clickhouse-server openssl pebble systemd chromium \
  qemu-system-x86 busybox-static kmod cpio xz-utils ethtool
CHECK_PACKAGES := clang-format clang-tidy
DEB_PACKAGES := dpkg-dev binutils adduser
BENCH_PACKAGES := fastnetmon wrk

.PHONY: help setup start lab lab-scrub test conformance accuracy captures check format bench kernels edge-sim soak simulate fuzz addon dashboard screenshots dist deb clean
help:
	@sed -n '/^#/!q;s/^# //p' Makefile

setup: addon dashboard

start: setup
	@$(BUN) test/lab/demo.ts

lab: setup
	@$(BUN) test/lab/demo.ts --once

lab-scrub: setup
	@$(BUN) test/lab/scrub-demo.ts

test: setup $(STAMPS)/test-packages
	@$(BUN) test/run.ts

conformance: setup
	@$(BUN) test/conformance.ts

accuracy: setup
	@$(BUN) test/accuracy.ts

captures: setup
	@$(BUN) test/captures.ts

soak: setup
	@$(BUN) test/lab/soak.ts --minutes 15

simulate: setup
	SEED=$${SEED:-} HOURS=$${HOURS:-720} STEPS=$${STEPS:-100000} \
	  $(BUN) test test/simulation src/mitigation/ban-simulation.test.ts --isolate --timeout 36000000

fuzz: setup $(STAMPS)/test-packages
	@$(MAKE) -C addon -j$(JOBS) fuzz
	build/addon/fuzz_packet_parser -max_total_time=$${SECONDS_TO_FUZZ:-1800} -max_len=512 -print_final_stats=1
	$(BUN) test/fuzz-http.ts --requests 100000

dist: setup $(STAMPS)/deb-packages
	@$(BUN) deploy/compile.ts

deb: setup $(STAMPS)/deb-packages
	@$(BUN) deploy/package.ts

bench: setup $(STAMPS)/bench-packages
	@$(BUN) bench/run.ts $(BENCH)

kernels: setup $(STAMPS)/test-packages
	@$(MAKE) -C addon --no-print-directory -j$(JOBS) unit
	@$(BUN) test/machines/kernels.ts $(ARGS)

edge-sim: setup
	@$(BUN) bench/edge-sim/main.ts run $(ARGS)

check: setup $(STAMPS)/check-packages
	node_modules/.bin/biome check .
	node_modules/.bin/oxlint --type-aware --deny-warnings .
	node_modules/.bin/tsc --noEmit
	node_modules/.bin/tsc --noEmit -p dashboard
	clang-format --dry-run --Werror $(NATIVE_SOURCES)
	@$(MAKE) -C addon --no-print-directory -j$(JOBS) tidy
	$(BUN) test test/architecture.test.ts

screenshots: setup $(STAMPS)/test-packages
	@$(BUN) test/browser/screenshots.ts

format: setup $(STAMPS)/check-packages
	node_modules/.bin/biome check --write .
	clang-format -i $(NATIVE_SOURCES)

addon: $(STAMPS)/setup-packages $(STAMPS)/npm
	@$(MAKE) -C addon --no-print-directory -j$(JOBS) all
	@$(MAKE) -C test/lab --no-print-directory -j$(JOBS) all

dashboard: build/dashboard/files.json

build/dashboard/files.json: $(DASHBOARD_SOURCES) package-lock.json | $(STAMPS)/npm
	@echo "building the dashboard"
	@$(BUN) dashboard/build.ts

# Debian's packages, with no service of theirs started: a policy file of ours stands in the way during the installation.
define install_packages
	@missing=$$(for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" != 0 ]; then echo "missing Debian packages, as root: apt-get install --no-install-recommends" $$missing >&2; exit 1; fi; \
	  echo "installing Debian packages:" $$missing; \
	  if [ ! -e /usr/sbin/policy-rc.d ]; then \
	    trap 'rm -f /usr/sbin/policy-rc.d' EXIT; printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d; fi; \
	  export DEBIAN_FRONTEND=noninteractive; mkdir -p build; \
	  { apt-get update && apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $$missing; } > build/apt.log 2>&1 \
	    || { tail -20 build/apt.log >&2; exit 1; }; \
	fi
	@mkdir -p $(STAMPS) && touch $@
endef

$(STAMPS)/setup-packages: Makefile
	$(call install_packages,$(BUILD_PACKAGES) $(RUN_PACKAGES) $(LAB_PACKAGES))
$(STAMPS)/deb-packages: Makefile
	$(call install_packages,$(DEB_PACKAGES))
$(STAMPS)/test-packages: Makefile
	$(call install_packages,$(TEST_PACKAGES) $(DEB_PACKAGES))
$(STAMPS)/check-packages: Makefile
	$(call install_packages,$(CHECK_PACKAGES))
$(STAMPS)/bench-packages: Makefile
	$(call install_packages,$(BENCH_PACKAGES))

# npm only puts the modules there (their scripts stay off); Bun's own script then puts its executable in place.
$(STAMPS)/npm: package.json package-lock.json | $(STAMPS)/setup-packages
	@echo "installing npm modules"
	@npm ci --no-progress --loglevel=error
	@node node_modules/bun/install.js
	@$(BUN) --version >/dev/null || { echo "bun does not run: is this an x86-64 or arm64 Linux with glibc?" >&2; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

clean:
	rm -rf build node_modules
