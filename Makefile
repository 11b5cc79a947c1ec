# All tasks of the project. `make start` shows Floodwall at work, `make test` tests it; both install what is missing.
#   setup  packages, npm modules, native code       check  format, lint, types       bench  speed, beside alternatives
#   lab    the demonstration once, as a test        soak   15 minutes of floods      fuzz   parser, decoders and API, for long (SECONDS_TO_FUZZ=…, DATAGRAMS_TO_FUZZ=…)
#   truth  the words on the dashboard against BIRD and API, through 200 floods (FLOODS=…, SEED=…)
#   ledger  what became of the packets of 200 floods: every view beside the sender and the victim, as a table (FLOODS=…, SEED=…)
#   lab-scrub  a flood diverted to a scrub node, and a user's requests to the same victim beside it
#   lab-attacks  attacks of many kinds and faults on a box that scrubs, beside users of the victim, as a table (ONLY=text, CAPTURES=FOLDER)
#   lab-routers  routers of other projects, each with its own policy, and what each holds by its own tool
#   lab-cluster  two brains, an etcd, routers and scrub nodes under floods, while each part fails, and each two, as a table (ONLY=regular expression)
#   lab-upgrade  the same brains, upgraded one after the other from an earlier version (FROM=COMMIT; default: the newest tag)
#   cluster-model  ten thousand histories of a cluster by seeds (SEED, HISTORIES)
#   lab-telemetry  flow records of real exporters to several readers, and floods through a router that exports, as tables (ONLY=text)
#   conformance  the interface, statement by statement (BRAIN=brain1: at this brain of a pair)    accuracy  detection on labelled captures
#   sampling  detection on sampled traffic: false alarms a year, times to detect and to end (SEED=…, YEARS=…, CONFIDENCE=…)
#   captures  what the kernel drops of labelled captures, under the rules that detection made (SEED=…)
#   spare     which users rules spare: kinds of services beside vectors, with a picture (USERS=…, VECTORS=…, RATES=attack,users,threshold, SEED=…)
#   simulate  the whole service on a simulated clock: a month of random events, decoys, 1,000 attacks (SEED=…, HOURS=…, ROUNDS=…, SEEDS=…)
#   exporters  bans by the records of misbehaving exporters, beside the truth (SEED=…, CASES=…)
#   kernels  stock kernels of Debian under QEMU, and on each the programs, the labs, an inline box, a real driver (ARGS=…)
#   powercut  power cuts of a virtual machine amid orders: none that was acknowledged may be lost (CUTS=…, SEED=…)
#   edge-sim  a simulated fleet of edge nodes beside a service, for a minute (ARGS='--nodes 100 --zones 200 --seconds 300')
#   mutants  how many small mistakes in the code the tests notice (SEED=… COUNT=… ONLY=folder JOBS=… BEFORE=file)
#   judges  the API, fuzzed by its own description with Schemathesis (ARGS='--examples 300')
#   dashboard  the web page alone    screenshots  pictures of it, in build/screenshots
#   fresh  all of this on bare Debian systems of each supported release (SUITES='bookworm trixie'; PARTS='amd64 arm64 booted':
#            where the packages are used; FRESH_TEST=0 leaves the tests out, FRESH_RELEASE=build/release builds nothing)
#   release  what one downloads, in build/release: .deb and .rpm for amd64 and arm64, signed repositories of them, an image,
#            checksums, bills of materials, notes (KEY=…; TRIAL=1: not to be published, so that any Debian may build it)
#   docs    docs/configuration.md, from the schema of the configuration
#   analyze  the static analyzer over all native code; `check` has it for the parsers alone
#   format  formats all files as check requires    clean  removes what was built and installed here
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
# Two targets at once would disturb each other's installation or measurement; the programs that they call use all cores.
.NOTPARALLEL:

BUN := node_modules/.bin/bun
# The tools that come as npm packages run under Bun: no Node.js is needed, whatever their first lines say.
TOOL := $(BUN) run --bun
FIRST_BUN := build/first-bun
JOBS := $(shell nproc)
STAMPS := build/stamps
DASHBOARD_SOURCES = $(shell find dashboard -type f -not -name '*.test.ts') src/limits.ts src/native/constants.ts
NATIVE_SOURCES = $(shell find addon test bench -name '*.cpp' -o -name '*.[ch]')

# Debian's packages, by what needs them first: `make start` installs the first three lines.
BUILD_PACKAGES := g++ clang llvm bpftool libbpf-dev libxdp-dev libpcap-dev $(if $(shell command -v npm),,npm)
RUN_PACKAGES := gobgpd procps
LAB_PACKAGES := iproute2 bird2 socat
MACHINE_PACKAGES := qemu-system-x86 busybox-static kmod cpio xz-utils e2fsprogs
RPM_PACKAGES := rpm createrepo-c patchelf
TEST_PACKAGES := $(RPM_PACKAGES) doctest-dev etcd-server etcd-client clang-19 libclang-rt-dev prometheus prometheus-alertmanager openssl curl nginx systemd chromium chromium-headless-shell knot knot-dnsutils tshark glewlwyd slapd \
  softflowd fprobe pmacct nfdump nfdump-sflow nftables \
  $(MACHINE_PACKAGES) ethtool --if-available clickhouse-server
CHECK_PACKAGES := clang-format clang-tidy
DEB_PACKAGES := dpkg-dev binutils adduser gpg gpgv gpg-agent
# The compiler is that for the processor that this machine does not have.
RELEASE_PACKAGES := $(RPM_PACKAGES) qemu-user-static skopeo dnf cpio curl iproute2 $(if $(filter aarch64,$(shell uname -m)),g++-x86-64-linux-gnu,g++-aarch64-linux-gnu)
BENCH_PACKAGES := nftables fastnetmon wrk
TELEMETRY_PACKAGES := openvswitch-switch fastnetmon
ATTACK_PACKAGES := hping3 nftables wrk openssh-client openssh-server iperf3 dnsperf tcpreplay
FRESH_PACKAGES := debootstrap gpg qemu-user-static $(MACHINE_PACKAGES)

.PHONY: help setup start lab lab-scrub lab-attacks lab-routers lab-telemetry lab-cluster lab-upgrade cluster-model test conformance accuracy sampling captures spare check analyze format bench kernels powercut edge-sim soak truth ledger simulate exporters mutants judges fuzz addon dashboard screenshots docs dist deb release fresh clean
help:
	@sed -n '/^#/!q;s/^# //p' Makefile

setup: addon dashboard

start: setup
	@$(BUN) test/lab/demo/demo.ts

lab: setup
	@$(BUN) test/lab/demo/demo.ts --once

lab-scrub: setup
	@$(BUN) test/lab/scrub/scrub-demo.ts

lab-attacks: setup $(STAMPS)/test-packages $(STAMPS)/attack-packages
	@$(BUN) test/lab/scrub/attack-table.ts $(if $(ONLY),--only '$(ONLY)')

lab-routers: setup $(STAMPS)/fresh-packages
	@$(BUN) test/lab/routers/lab.ts

lab-cluster: setup $(STAMPS)/test-packages
	@$(BUN) test/lab/cluster/lab.ts

lab-upgrade: setup $(STAMPS)/test-packages
	@$(BUN) test/lab/cluster/upgrade.ts

lab-telemetry: setup $(STAMPS)/test-packages $(STAMPS)/telemetry-packages
	@$(BUN) test/telemetry/telemetry-lab.ts $(if $(ONLY),--only '$(ONLY)')

test: setup $(STAMPS)/test-packages $(STAMPS)/test-versions $(STAMPS)/judges
	@$(BUN) test/run.ts

conformance: setup
	@$(BUN) test/conformance.ts

sampling: setup
	@$(BUN) test/sampling.ts

accuracy: setup
	@$(BUN) test/accuracy.ts

captures: setup
	@$(BUN) test/captures.ts

spare: setup
	@$(BUN) test/spare.ts

soak: setup
	@$(BUN) test/lab/soak.ts --minutes 15

truth: setup $(STAMPS)/test-packages
	@$(BUN) test/lab/truth/truth.ts --floods $${FLOODS:-200} --seed $${SEED:-1}

ledger: setup $(STAMPS)/test-packages
	@$(BUN) test/lab/ledger/ledger.ts --floods $${FLOODS:-200} --seed $${SEED:-1}

simulate: setup $(STAMPS)/test-packages
	@$(MAKE) -C addon --no-print-directory -j$(JOBS) ../build/addon/misbehaving_rates
	SEED=$${SEED:-} HOURS=$${HOURS:-720} STEPS=$${STEPS:-100000} ROUNDS=$${ROUNDS:-200} \
	  SEEDS=$${SEEDS:-$$([ "$${SEED:-}" ] && echo 1 || echo 1000)} \
	  $(BUN) test test/simulation test/adversary src/mitigation/ban-simulation.test.ts --isolate --timeout 36000000

exporters: setup $(STAMPS)/test-packages
	@$(MAKE) -C addon --no-print-directory -j$(JOBS) ../build/addon/misbehaving_rates
	SEED=$${SEED:-} CASES=$${CASES:-5000} $(BUN) test test/simulation/misbehaving-exporters.test.ts --timeout 36000000

# One job, unless JOBS is set on the command line: its default is the number of cores, for the compilers.
cluster-model: setup
	HISTORIES=$${HISTORIES:-10000} SEED=$${SEED:-} $(BUN) test test/cluster/model.test.ts --timeout 36000000

mutants: setup
	@$(BUN) test/mutants/main.ts --seed "$${SEED:-1}" --count "$${COUNT:-300}" --only "$${ONLY:-}" --before "$${BEFORE:-}" \
	  --jobs $(if $(filter command%,$(origin JOBS)),$(JOBS),1)

fuzz: setup $(STAMPS)/test-packages
	@$(MAKE) -C addon -j$(JOBS) fuzz
	build/addon/fuzz_packet_parser -max_total_time=$${SECONDS_TO_FUZZ:-1800} -max_len=512 -print_final_stats=1
	build/addon/fuzz_flow_mutations $${DATAGRAMS_TO_FUZZ:-1000000000} test/telemetry/recorded/*.flows
	build/addon/fuzz_flow_decoder -max_total_time=$${SECONDS_TO_FUZZ:-1800} -max_len=2048 -print_final_stats=1
	$(BUN) test/fuzz-http.ts --requests 100000

dist: setup $(STAMPS)/deb-packages
	@$(BUN) deploy/compile.ts

deb: setup $(STAMPS)/deb-packages
	@$(BUN) deploy/package.ts

release: setup $(STAMPS)/deb-packages $(STAMPS)/release-packages
	@$(BUN) deploy/release.ts --key "$(KEY)" $(if $(TRIAL),--trial)
	@$(BUN) test/machines/release-check.ts

fresh: setup $(STAMPS)/fresh-packages
	@$(BUN) test/machines/fresh.ts $(SUITES) $(PARTS)

bench: setup $(STAMPS)/bench-packages $(STAMPS)/test-packages
	@$(BUN) bench/run.ts $(BENCH)

kernels: setup $(STAMPS)/test-packages
	@$(MAKE) -C addon --no-print-directory -j$(JOBS) unit programs
	@$(BUN) test/machines/kernels.ts $(ARGS)

powercut: setup $(STAMPS)/test-packages
	@CUTS=$${CUTS:-12} SEED=$${SEED:-} $(BUN) test/machines/power-cut.ts

judges: setup $(STAMPS)/judge-packages
	@$(BUN) test/judges/openapi.ts $(ARGS)

edge-sim: setup
	@$(BUN) bench/edge-sim/main.ts run $(ARGS)

check: setup $(STAMPS)/check-packages $(STAMPS)/judges
	$(TOOL) biome check .
	$(TOOL) oxlint --type-aware --deny-warnings .
	$(TOOL) tsc --noEmit
	$(TOOL) tsc --noEmit -p dashboard
	@echo clang-format
	@clang-format --dry-run --Werror $(NATIVE_SOURCES)
	@$(MAKE) -C addon --no-print-directory -j$(JOBS) tidy
	$(BUN) test --timeout 60000 test/architecture.test.ts test/citations.test.ts test/words.test.ts
	@$(BUN) test/commits.ts

# A name of its own for its results: those of `check` are of fewer checks.
analyze: setup $(STAMPS)/check-packages
	@$(MAKE) -C addon --no-print-directory -j$(JOBS) tidy ANALYZED=% TIDY=../build/addon/analyzed

screenshots: setup $(STAMPS)/test-packages
	@SCREENSHOTS=1 $(BUN) test --timeout 60000 test/browser/views.test.ts test/browser/attack-page.test.ts && echo pictures in build/screenshots

docs: $(STAMPS)/modules
	@$(BUN) docs/generate-configuration.ts

format: setup $(STAMPS)/check-packages
	$(TOOL) biome check --write .
	clang-format -i $(NATIVE_SOURCES)

addon: $(STAMPS)/setup-packages $(STAMPS)/modules $(STAMPS)/versions
	@$(MAKE) -C addon --no-print-directory -j$(JOBS) all
	@$(MAKE) -C test/lab --no-print-directory -j$(JOBS) all
	@$(MAKE) -C test/telemetry/sender --no-print-directory -j$(JOBS) all

dashboard: build/dashboard/files.json

build/dashboard/files.json: $(DASHBOARD_SOURCES) bun.lock | $(STAMPS)/modules
	@echo "building the dashboard"
	@$(BUN) dashboard/build.ts

define install_packages
	@setup/packages.sh build/apt.log $(1)
	@mkdir -p $(STAMPS) && touch $@
endef

$(STAMPS)/setup-packages: Makefile
	$(call install_packages,$(BUILD_PACKAGES) $(RUN_PACKAGES) $(LAB_PACKAGES))
$(STAMPS)/deb-packages: Makefile
	$(call install_packages,$(DEB_PACKAGES))
$(STAMPS)/release-packages: Makefile
	$(call install_packages,$(RELEASE_PACKAGES))
$(STAMPS)/test-packages: Makefile
	$(call install_packages,$(DEB_PACKAGES) $(TEST_PACKAGES))
$(STAMPS)/check-packages: Makefile
	$(call install_packages,$(CHECK_PACKAGES))
$(STAMPS)/fresh-packages: Makefile
	$(call install_packages,$(FRESH_PACKAGES))
$(STAMPS)/judge-packages: Makefile
	$(call install_packages,python3-venv)
$(STAMPS)/judges: test/judges/package.json test/judges/bun.lock | $(STAMPS)/modules
	@$(BUN) install --cwd test/judges --frozen-lockfile --silent
	@touch $@
$(STAMPS)/attack-packages: Makefile
	$(call install_packages,$(ATTACK_PACKAGES))
$(STAMPS)/telemetry-packages: Makefile
	$(call install_packages,$(TELEMETRY_PACKAGES))
$(STAMPS)/bench-packages: Makefile
	$(call install_packages,$(BENCH_PACKAGES))

# Versions newer than Debian's are accepted. One that is too old is refused with a remedy, before it fails less clearly.
$(STAMPS)/versions: setup/versions.ts $(STAMPS)/setup-packages $(STAMPS)/modules
	@$(BUN) setup/versions.ts
	@touch $@
$(STAMPS)/test-versions: setup/versions.ts $(STAMPS)/test-packages $(STAMPS)/modules
	@$(BUN) setup/versions.ts --all
	@touch $@

# Bun installs the modules. No install script of a module is run, except the one that puts Bun in place. The registry is
# the one that npm is configured with.
$(STAMPS)/modules: package.json bun.lock bunfig.toml setup/first-bun.sh | $(STAMPS)/setup-packages
	@setup/first-bun.sh bun.lock $(FIRST_BUN)
	@echo "installing npm packages"
	@rm -rf node_modules
	@npm_config_registry=$$(npm config get registry 2>/dev/null) $(FIRST_BUN)/bun install --frozen-lockfile --no-progress --no-summary
	@$(FIRST_BUN)/bun node_modules/bun/install.js
	@$(BUN) --version >/dev/null
	@mkdir -p $(STAMPS) && touch $@

clean:
	rm -rf build node_modules
