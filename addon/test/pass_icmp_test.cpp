// ICMP that passes whatever rules say, within its budget.
#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "filter_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint8_t kIcmp = 1, kIcmpv6 = 58, kNeighborSolicitation = 135;

/// An error or a message; of an error, `quoted` is the packet that it is about.
Bytes icmp(std::uint8_t type, std::uint8_t code, const Bytes& quoted = {}) {
  Bytes bytes{type, code};
  bytes.resize(8);
  return bytes + quoted;
}

/// A packet of the first victim that was too big.
const Bytes kSent = ipv4Packet({.source = kProtected + 1, .destination = kForeign + 1}, udp(443, 4000));
const Bytes kSent6 = ipv6Packet({.source = ipv6(1, 1), .destination = ipv6(9, 1)}, udp(443, 4000));

/// All traffic to two victims is discarded.
struct VictimBox : FilterBox {
  VictimBox() { rules.set(std::vector{ruleTo(ipv4(kProtected + 1), "4"), ruleTo(ipv6(1, 1), "6")}); }

  [[nodiscard]] bool passes(const Bytes& error, std::uint32_t fragment = 0) const {
    return !drops(ethernet(0x0800) + ipv4Packet({.protocol = kIcmp, .fragment = fragment}, error));
  }
  [[nodiscard]] bool passes6(const Bytes& message, std::uint8_t hopLimit, const Bytes& before = {}) const {
    const std::uint8_t next = before.empty() ? kIcmpv6 : 0;
    Bytes packet = ipv6Packet({.nextHeader = next}, before + message);
    packet[7] = hopLimit;
    return !drops(ethernet(0x86dd) + packet);
  }
};

}  // namespace

TEST_CASE("icmp: neighbor discovery and that a packet is too big pass, and nothing else") {
  if (cannotRunXdp("icmp: what passes")) return;
  const VictimBox box;
  for (std::uint8_t type = 133; type <= 137; type++) CHECK(box.passes6(icmp(type, 0), 255));
  CHECK(box.passes6(icmp(kNeighborSolicitation, 0), 255, {kIcmpv6, 0, 1, 4, 0, 0, 0, 0}));
  CHECK(box.passes6(icmp(2, 0, kSent6), 57));
  CHECK(box.passes(icmp(3, 4, kSent)));
  CHECK(box.verdict(FILTER_PASS_ICMP).packets == 8);
  for (const auto type : std::to_array<std::uint8_t>({132, 138, 128, 1})) {
    CHECK_FALSE(box.passes6(icmp(type, 0, kSent6), 255));
  }
  CHECK_FALSE(box.passes6(icmp(kNeighborSolicitation, 0), 254));
  CHECK_FALSE(box.passes(icmp(3, 3, kSent)));
  CHECK_FALSE(box.passes(icmp(8, 0, kSent)));
  // Each protocol in the other's packets.
  CHECK(box.drops(ethernet(0x0800) + ipv4Packet({.protocol = kIcmpv6}, icmp(2, 0, kSent6))));
  CHECK(box.drops(ethernet(0x86dd) + ipv6Packet({.nextHeader = kIcmp}, icmp(3, 4, kSent))));
  CHECK(box.verdict(FILTER_PASS_ICMP).packets == 8);
}

TEST_CASE("icmp: what is cut off, in pieces, too long or about another's packet is not too big") {
  if (cannotRunXdp("icmp: what does not pass")) return;
  const VictimBox box;
  CHECK_FALSE(box.passes({}));
  CHECK_FALSE(box.passes(icmp(3, 4)));
  CHECK_FALSE(box.passes6(icmp(2, 0), 57));
  CHECK_FALSE(box.passes(icmp(3, 4, kSent), 0x2000));
  CHECK_FALSE(box.passes(icmp(3, 4, kSent), 185));
  CHECK_FALSE(box.passes(icmp(3, 4, kSent + Bytes(600))));
  CHECK_FALSE(box.passes6(icmp(2, 0, kSent6 + Bytes(1300)), 57));
  CHECK_FALSE(box.passes(icmp(3, 4, ipv4Packet({.source = kProtected + 2}, udp(443, 4000)))));
  CHECK_FALSE(box.passes6(icmp(2, 0, ipv6Packet({.source = ipv6(1, 2)}, udp(443, 4000))), 57));
  CHECK(box.verdict(FILTER_PASS_ICMP).packets == 0);
  CHECK(box.passes(icmp(3, 4, kSent + Bytes(500))));
}

TEST_CASE("icmp: a flood in the form of what passes meets the rules, and takes nothing from another destination") {
  if (cannotRunXdp("icmp: budgets")) return;
  const VictimBox box;
  const auto passing = [&](auto&& passes) {
    int passed = 0;
    for (int i = 0; i < 2000; i++) passed += passes() ? 1 : 0;
    return passed;
  };
  // Of a hundred a second, those of a tenth of a second at once.
  CHECK(passing([&] { return box.passes(icmp(3, 4, kSent)); }) < 1000);
  CHECK(box.passes6(icmp(2, 0, kSent6), 57));
  CHECK(passing([&] { return box.passes6(icmp(2, 0, kSent6), 57); }) < 1000);
  CHECK(box.passes6(icmp(kNeighborSolicitation, 0), 255));
  CHECK(passing([&] { return box.passes6(icmp(kNeighborSolicitation, 0), 255); }) < 1000);
  CHECK(box.verdict(FILTER_DROP_RULE).packets > 3000);
}

TEST_CASE("icmp: a blocked source has none of it, and where there are no rules it is as any packet") {
  if (cannotRunXdp("icmp: blocked")) return;
  FilterBox box;
  const Bytes frame = ethernet(0x0800) + ipv4Packet({.protocol = kIcmp}, icmp(3, 4, kSent));
  CHECK_FALSE(box.drops(frame));
  // Nor does a rule for another's address ask for it.
  box.rules.set(std::vector{ruleTo(ipv4(kForeign), "another")});
  CHECK_FALSE(box.drops(frame));
  CHECK(box.verdict(FILTER_PASS_DEFAULT).packets == 2);
  box.rules.set(std::vector{ruleTo(ipv4(kProtected + 1), "rule")});
  box.pairs.put(std::vector{pairOf(ipv4(kForeign + 1), ipv4(kProtected + 1))}, std::vector{inAnHour()});
  CHECK(box.drops(frame));
  CHECK(box.verdict(FILTER_DROP_SOURCE).packets == 1);
}
