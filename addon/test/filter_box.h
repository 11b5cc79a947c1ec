// The filter with maps of its own, run over single frames in the kernel (BPF_PROG_TEST_RUN).
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/boot_clock.h"
#include "filter/filter_maps.h"
#include "filter/filter_program.h"
#include "filter/pair_table.h"
#include "filter/rule_table.h"
#include "inline_box.h"

namespace floodwall::test {

inline ip_address inKernel(const Address& address) {
  ip_address made{};
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

/// What came of a frame.
struct Outcome {
  std::uint32_t action;
  Bytes frame;
};

inline std::uint32_t at32(const Bytes& bytes, std::size_t at) {
  return std::uint32_t{bytes.at(at)} << 24 | std::uint32_t{bytes.at(at + 1)} << 16 |
         std::uint32_t{bytes.at(at + 2)} << 8 | bytes.at(at + 3);
}

/// 0 when the checksum within is right (RFC 1071). `sum`: that of the pseudo header.
inline std::uint16_t checksumOf(const Bytes& bytes, std::size_t from, std::size_t count, std::uint32_t sum = 0) {
  for (std::size_t i = 0; i < count; i++) sum += std::uint32_t{bytes.at(from + i)} << (i % 2 == 0 ? 8 : 0);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
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
  [[nodiscard]] Outcome run(const Bytes& frame) const {
    Bytes out(frame.size() + 256);
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<std::uint32_t>(frame.size());
    options.data_out = out.data();
    options.data_size_out = static_cast<std::uint32_t>(out.size());
    options.repeat = 1;
    REQUIRE(bpf_prog_test_run_opts(program.fd(), &options) == 0);
    out.resize(options.data_size_out);
    return {.action = options.retval, .frame = std::move(out)};
  }
  /// Loading the program takes an emulated machine seconds, so a box is used more than once: without what it knows of
  /// sources and has counted.
  void forget() const {
    for (source_set& set : maps.sources()) set = {};
    for (allowance_set& set : maps.allowances()) set = {};
    const std::vector<filter_stats> zeros(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    const std::uint32_t slot = 0;
    REQUIRE(bpf_map_update_elem(maps.statsFd(), &slot, zeros.data(), BPF_ANY) == 0);
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
