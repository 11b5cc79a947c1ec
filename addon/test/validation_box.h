// A filter whose rules have sources of TCP prove their address, and segments to run through it.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "filter_box.h"
#include "siphash.h"

namespace floodwall::test {

inline constexpr std::uint8_t kFin = 1, kSyn = 2, kRst = 4, kAck = 16, kEce = 64, kCwr = 128;
inline constexpr std::uint32_t kIsn = 0xfffffffe;

/// A TCP segment and what is around it.
struct Segment {
  std::uint8_t flags = kSyn;
  std::uint32_t sequence = kIsn;
  std::uint32_t acknowledgement = 0;
  std::uint16_t port = 40'000;
  std::uint32_t source = kForeign + 1;
  std::uint32_t victim = kProtected + 1;
  Bytes rest{};
};

inline Bytes header(const Segment& segment) {
  Bytes bytes = tcp(segment.port, 443, segment.flags);
  for (std::size_t i = 0; i < 4; i++) {
    bytes[4 + i] = static_cast<std::uint8_t>(segment.sequence >> (24 - 8 * i));
    bytes[8 + i] = static_cast<std::uint8_t>(segment.acknowledgement >> (24 - 8 * i));
  }
  return bytes + segment.rest;
}

inline Bytes frameOf(const Segment& segment) {
  return ethernet(0x0800) +
         ipv4Packet({.source = segment.source, .destination = segment.victim, .protocol = 6}, header(segment));
}

/// Ways in which a segment may be wrapped; `network` is where its IP header begins.
struct Wrapping {
  const char* name;
  std::size_t network;
  bool isIpv6;
  std::function<Bytes(const Bytes&)> wrap;
};

inline std::vector<Wrapping> wrappings() {
  const auto in4 = [](const Bytes& segment) { return ipv4Packet({.protocol = 6}, segment); };
  const auto in6 = [](const Bytes& segment) { return ipv6Packet({.nextHeader = 6}, segment); };
  return {
      {"IPv4", 14, false, [=](const Bytes& s) { return ethernet(0x0800) + in4(s); }},
      {"IPv4 with options", 14, false,
       [](const Bytes& s) { return ethernet(0x0800) + ipv4Packet({.protocol = 6, .options = 10}, s); }},
      {"IPv4 in a VLAN", 18, false, [=](const Bytes& s) { return ethernet(0x8100) + vlanTag(0x0800) + in4(s); }},
      {"IPv4 in QinQ", 22, false,
       [=](const Bytes& s) { return ethernet(0x88a8) + vlanTag(0x8100) + vlanTag(0x0800) + in4(s); }},
      {"IPv6", 14, true, [=](const Bytes& s) { return ethernet(0x86dd) + in6(s); }},
      {"IPv6 in a VLAN", 18, true, [=](const Bytes& s) { return ethernet(0x8100) + vlanTag(0x86dd) + in6(s); }},
      {"IPv6 with an extension header", 14, true,
       [](const Bytes& s) {
         return ethernet(0x86dd) + ipv6Packet({.nextHeader = 60}, Bytes{6, 0, 1, 4, 0, 0, 0, 0} + s);
       }},
  };
}

struct ValidationBox : FilterBox {
  explicit ValidationBox(filter_action action, std::uint32_t sourcesMax = 1000)
      : FilterBox({.pairsMax = 10, .rulesMax = 64, .prefixesMax = 64, .sourcesMax = sourcesMax}) {
    for (const Address& victim : {ipv4(kProtected + 1), ipv4(kProtected + 2), ipv6(1, 1)}) {
      WantedRule wanted = ruleTo(victim, "validate " + std::to_string(wantedRules.size()));
      wanted.rule.asks |= FILTER_ASKS_PROTOCOL;
      wanted.rule.protocol = 6;
      wanted.rule.action = static_cast<std::uint8_t>(action);
      wantedRules.push_back(wanted);
    }
    rules.set(wantedRules);
  }

  void change(const std::function<void(filter_rule&)>& how) {
    for (WantedRule& wanted : wantedRules) how(wanted.rule);
    rules.set(wantedRules);
  }
  void changeAction(filter_action action) {
    change([&](filter_rule& rule) { rule.action = static_cast<std::uint8_t>(action); });
  }

  using FilterBox::run;
  [[nodiscard]] Outcome run(const Segment& segment) const { return run(frameOf(segment)); }
  [[nodiscard]] std::uint32_t actionOn(const Segment& segment) const { return run(segment).action; }

  /// Opens a connection as a client would whose packets all arrive; true: the victim sees its SYN in the end.
  [[nodiscard]] bool connects(const Segment& syn) const {
    const Outcome first = run(syn);
    if (first.action == XDP_PASS) return true;
    if (first.action != XDP_TX) return false;
    const std::uint8_t flags = first.frame.at(14 + 20 + 13);
    Segment answer = syn;
    if (flags == (kSyn | kAck)) {
      answer.flags = kAck;
      answer.sequence = syn.sequence + 1;
      answer.acknowledgement = at32(first.frame, 14 + 20 + 4) + 1;
    } else {
      answer.flags = kRst;
      answer.sequence = at32(first.frame, 14 + 20 + 8);
    }
    if (run(answer).action == XDP_PASS) return false;
    return run(syn).action == XDP_PASS;
  }

  /// The cookie that this box gives, computed from what the header says and nothing of the program.
  [[nodiscard]] std::uint32_t cookie(const Segment& segment, bool isTransparent, unsigned age = 0,
                                     unsigned key = 0) const {
    const auto inNetworkOrder = [](std::uint32_t address) { return __builtin_bswap32(address); };
    const auto period = static_cast<std::uint32_t>(bootNs() >> COOKIE_PERIOD_SHIFT) - age;
    siphash_state state = siphash_begin(maps.head().cookie_keys[key]);
    siphash_add(&state, std::uint64_t{inNetworkOrder(segment.source)} << 32 | inNetworkOrder(segment.victim));
    siphash_add(&state, 15ULL << 56 |
                            std::uint64_t{(period & COOKIE_PERIOD_MASK) << 1 | (isTransparent ? 1U : 0U)} << 32 |
                            std::uint32_t{segment.port} << 16 | 443U);
    const auto hash = static_cast<std::uint32_t>(siphash_end(&state));
    return (hash & ~COOKIE_TAG_MASK) | (key != 0 ? COOKIE_KEY : 0) | (period & COOKIE_ODD_PERIOD);
  }

  /// Moves the times of all entries into the past.
  void age(std::uint32_t units) const {
    for (source_set& set : maps.sources()) {
      for (__u64& entry : set.sources) {
        if (entry != 0) entry -= std::uint64_t{units} << SOURCE_TIME_AT;
      }
    }
  }
  [[nodiscard]] std::size_t known(source_state state) const {
    std::size_t found = 0;
    for (const source_set& set : maps.sources()) {
      found += static_cast<std::size_t>(std::count_if(std::begin(set.sources), std::end(set.sources), [&](__u64 entry) {
        return (entry & SOURCE_STATE_MASK) == state;
      }));
    }
    return found;
  }

  std::vector<WantedRule> wantedRules;
};

}  // namespace floodwall::test
