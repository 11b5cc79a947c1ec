// The filter with maps of its own, run over single frames in the kernel (BPF_PROG_TEST_RUN).
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include <cstring>
#include <string>

#include "base/boot_clock.h"
#include "filter/filter_maps.h"
#include "filter/filter_program.h"
#include "filter/pair_table.h"
#include "filter/rule_table.h"
#include "inline_box.h"

namespace floodwall::test {

inline inline_address inKernel(const Address& address) {
  inline_address made{};
  std::memcpy(made.bytes, address.bytes.data(), sizeof made.bytes);
  return made;
}

inline PairKey pairOf(const Address& source, const Address& victim) {
  return {.source = inKernel(source), .victim = inKernel(victim)};
}

inline std::uint64_t inAnHour() { return bootNs() + 3'600'000'000'000; }

/// Matches everything to one address.
inline WantedRule ruleTo(const Address& destination, const std::string& id) {
  WantedRule wanted{.id = id};
  wanted.rule.expires_at_ns = inAnHour();
  wanted.rule.asks = FILTER_ASKS_DESTINATION;
  wanted.rule.destination = inKernel(destination);
  wanted.rule.destination_length = 128;
  wanted.destinationLength = 128;
  return wanted;
}

struct FilterBox {
  explicit FilterBox(
      const FilterShape& shape = {.pairsMax = 1000, .rulesMax = 64, .prefixesMax = 64, .sourcesMax = 1000})
      : maps(FilterMaps::create(shape)), pairs(maps), rules(maps), program(maps, false) {}

  [[nodiscard]] bool drops(const Bytes& frame, int repeat = 1) const {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<std::uint32_t>(frame.size());
    options.repeat = repeat;
    REQUIRE(bpf_prog_test_run_opts(program.fd(), &options) == 0);
    return options.retval == XDP_DROP;
  }
  [[nodiscard]] filter_count verdict(filter_verdict verdict) const { return maps.stats().verdicts[verdict]; }
  [[nodiscard]] std::uint64_t verdicts() const {
    std::uint64_t sum = 0;
    for (const filter_count& count : maps.stats().verdicts) sum += count.packets;
    return sum;
  }

  FilterMaps maps;
  PairTable pairs;
  RuleTable rules;
  FilterProgram program;
};

}  // namespace floodwall::test
