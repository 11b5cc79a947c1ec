// The filter with the tables that the benches measure it with.
#pragma once

#include <bpf/bpf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/boot_clock.h"
#include "filter/filter_maps.h"
#include "filter/filter_program.h"
#include "filter/pair_table.h"
#include "filter/rule_table.h"

namespace floodwall {

inline constexpr std::uint32_t kHosts = 65'536, kPairs = 100'000, kRules = 4096, kRulesOfVictim = 8;
inline constexpr std::uint32_t kFirstSource = 0xc6120001, kFirstTarget = 0x0a010000, kFirstRuleVictim = 0x0a020000;
inline constexpr std::uint64_t kHourNs = 3'600'000'000'000;
inline constexpr std::uint8_t kUdp = 17;
/// A neighbor of the interface that packets leave by, and that interface's number.
inline constexpr std::uint32_t kForwardTarget = 0x0a0b0001, kOutIndex = 77;
/// Those of hosts behind that neighbor.
inline constexpr std::uint32_t kFirstForwardHost = 0x0a0b8000, kForwardHosts = 1000;
/// 2001:db8:1::/64; the last word varies.
inline constexpr std::array<std::uint8_t, 12> kIpv6Start{0x20, 0x01, 0x0d, 0xb8, 0, 1};

inline ip_address mapped(std::uint32_t address) {
  ip_address made{};
  made.words[2] = htobe32(0xffff);
  made.words[3] = htobe32(address);
  return made;
}

inline ip_address ipv6(std::uint32_t last) {
  ip_address made{};
  std::copy(kIpv6Start.begin(), kIpv6Start.end(), std::begin(made.bytes));
  made.words[3] = htobe32(last);
  return made;
}

inline void check(int error, const char* what) {
  if (error < 0) throw std::runtime_error(std::string(what) + ": " + strerror(-error));
}

struct Filter {
  Filter()
      : maps(FilterMaps::create({.pairsMax = kPairs, .rulesMax = kRules, .prefixesMax = 1024})),
        pairs(maps),
        rules(maps),
        program(maps, false) {}

  void putPairs(std::uint32_t count) {
    std::vector<PairKey> keys;
    for (std::uint32_t i = 0; i < count; i++) keys.push_back({mapped(kFirstSource + i), mapped(kFirstTarget)});
    pairs.put(keys, std::vector<std::uint64_t>(count, bootNs() + kHourNs));
  }
  void putPairs6(std::uint32_t count) {
    std::vector<PairKey> keys;
    for (std::uint32_t i = 0; i < count; i++) keys.push_back({ipv6(kFirstSource + i), ipv6(kFirstTarget)});
    pairs.put(keys, std::vector<std::uint64_t>(count, bootNs() + kHourNs));
  }
  static WantedRule ruleTo(std::uint32_t victim, const std::string& id) {
    WantedRule wanted{.id = id};
    wanted.rule.expires_at_ns = bootNs() + kHourNs;
    wanted.rule.asks = FILTER_ASKS_DESTINATION;
    wanted.rule.destination = mapped(victim);
    wanted.rule.destination_length = 128;
    wanted.destinationLength = 128;
    return wanted;
  }
  void putOneRule() { rules.set(std::vector{ruleTo(kFirstTarget, "wide")}); }
  /// Only the last rule of a victim matches.
  void putRules() {
    std::vector<WantedRule> wanted;
    for (std::uint32_t i = 0; i < kRules; i++) {
      WantedRule rule = ruleTo(kFirstRuleVictim + i / kRulesOfVictim, std::to_string(i));
      rule.rule.asks |= FILTER_ASKS_PROTOCOL;
      rule.rule.protocol = kUdp;
      const auto which = static_cast<std::uint16_t>(i % kRulesOfVictim);
      if (which + 1 != kRulesOfVictim) {
        rule.rule.asks |= FILTER_ASKS_LENGTH;
        rule.rule.length_min = 20;
        rule.rule.length_max = 65'535;
        rule.rule.source_ports = 1;
        rule.rule.ports[0] = {.from = static_cast<__u16>(1 + which), .to = static_cast<__u16>(1 + which)};
      }
      wanted.push_back(rule);
    }
    rules.set(wanted);
  }
  [[nodiscard]] std::function<std::uint64_t()> verdict(filter_verdict which) const {
    return [this, which] { return maps.stats().verdicts[which].packets; };
  }

  FilterMaps maps;
  PairTable pairs;
  RuleTable rules;
  FilterProgram program;
};

}  // namespace floodwall
