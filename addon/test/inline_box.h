// The inline counter with networks of its own, run over single frames in the kernel (BPF_PROG_TEST_RUN).
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "inline/inline_counts.h"
#include "inline/inline_program.h"
#include "packets.h"

namespace floodwall::test {

/// Says so when the test cannot run here: `if (cannotRunXdp("…")) return;`
inline bool cannotRunXdp(const char* test) {
  if (geteuid() == 0) return false;
  std::printf("skipped: %s (needs root to load an XDP program)\n", test);
  return true;
}

inline constexpr std::uint32_t kIpv4Network = 0, kIpv6Network = 1;
/// 10.1.0.0/16 and 2001:db8:1::/48.
inline std::vector<PrefixValue> protectedNetworks() {
  return {{.address = ipv4(kProtected), .length = 112, .value = kIpv4Network},
          {.address = ipv6(1, 0), .length = 48, .value = kIpv6Network}};
}

class InlineBox {
 public:
  explicit InlineBox(const InlineProgramOptions& options = {.maxHosts = 1U << 16}) : program(options) {
    stayOnOneCpu();
    program.setNetworks(protectedNetworks(), 2);
  }

  /// The verdict; checks that the frame comes out as it went in.
  std::uint32_t run(const Bytes& frame, int repeat = 1) const {
    Bytes out(frame.size() + 512);
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<std::uint32_t>(frame.size());
    options.data_out = out.data();
    options.data_size_out = static_cast<std::uint32_t>(out.size());
    options.repeat = repeat;
    REQUIRE(bpf_prog_test_run_opts(program.programFd(), &options) == 0);
    out.resize(options.data_size_out);
    CHECK(out == frame);
    return options.retval;
  }

  /// Without looking at what comes out, for many frames.
  void feed(const Bytes& frame) const {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<std::uint32_t>(frame.size());
    REQUIRE(bpf_prog_test_run_opts(program.programFd(), &options) == 0);
  }

  [[nodiscard]] Counters host(const Address& address, Direction direction = Direction::incoming) {
    Counters sum;
    forEachRow(address, direction, [&](const inline_row& row) { addTo(sum, countersOf(row.counts)); });
    return sum;
  }
  [[nodiscard]] bool hasHost(const Address& address, Direction direction = Direction::incoming) {
    bool isThere = false;
    forEachRow(address, direction, [&](const inline_row&) { isThere = true; });
    return isThere;
  }
  [[nodiscard]] Counters network(std::uint32_t network) const {
    std::vector<inline_counts> ofLanes(256);
    Counters sum;
    REQUIRE(bpf_map_lookup_elem(program.networksFd(), &network, ofLanes.data()) == 0);
    for (const inline_counts& counts : ofLanes) addTo(sum, countersOf(counts));
    return sum;
  }

  InlineProgram program;

 private:
  /// Each CPU has its own view of which flows are new, as its queue has its own flows.
  static void stayOnOneCpu() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &set);
    REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
  }
  template <typename See>
  void forEachRow(const Address& address, Direction direction, See&& see) {
    InlineTable& table = program.table();
    for (std::uint32_t lane = 0; lane < table.lanes(); lane++) {
      if (program.directionOf(lane) != direction) continue;
      if (const auto row = table.find(lane, address)) see(table.row(lane, *row));
    }
  }
};

}  // namespace floodwall::test
