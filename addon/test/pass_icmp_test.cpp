// ICMP that passes whatever rules say, within its budget.
#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "filter_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint8_t kIcmp = 1, kIcmpv6 = 58, kNeighborSolicitation = 135;

Bytes icmp(std::uint8_t type, std::uint8_t code) {
  Bytes bytes{type, code};
  bytes.resize(8 + 28);
  return bytes;
}

/// All traffic to two victims is discarded.
struct VictimBox : FilterBox {
  VictimBox() { rules.set(std::vector{ruleTo(ipv4(kProtected + 1), "4"), ruleTo(ipv6(1, 1), "6")}); }

  [[nodiscard]] bool passes(std::uint8_t type, std::uint8_t code, std::uint32_t fragment = 0) const {
    return !drops(ethernet(0x0800) + ipv4Packet({.protocol = kIcmp, .fragment = fragment}, icmp(type, code)));
  }
  [[nodiscard]] bool passes6(std::uint8_t type, std::uint8_t hopLimit, const Bytes& before = {}) const {
    const std::uint8_t next = before.empty() ? kIcmpv6 : 0;
    Bytes packet = ipv6Packet({.nextHeader = next}, before + icmp(type, 0));
    packet[7] = hopLimit;
    return !drops(ethernet(0x86dd) + packet);
  }
};

}  // namespace

TEST_CASE("icmp: neighbor discovery and that a packet is too big pass, and nothing else") {
  if (cannotRunXdp("icmp: what passes")) return;
  const VictimBox box;
  for (std::uint8_t type = 133; type <= 137; type++) CHECK(box.passes6(type, 255));
  CHECK(box.passes6(kNeighborSolicitation, 255, {kIcmpv6, 0, 1, 4, 0, 0, 0, 0}));
  CHECK(box.passes6(2, 57));
  CHECK(box.passes(3, 4));
  CHECK(box.verdict(FILTER_PASS_ICMP).packets == 8);
  for (const auto type : std::to_array<std::uint8_t>({132, 138, 128, 1})) CHECK_FALSE(box.passes6(type, 255));
  CHECK_FALSE(box.passes6(kNeighborSolicitation, 254));
  CHECK_FALSE(box.passes(3, 3));
  CHECK_FALSE(box.passes(8, 0));
  CHECK_FALSE(box.passes(3, 4, 185));
  // Each protocol in the other's packets.
  CHECK(box.drops(ethernet(0x0800) + ipv4Packet({.protocol = kIcmpv6}, icmp(2, 0))));
  CHECK(box.drops(ethernet(0x86dd) + ipv6Packet({.nextHeader = kIcmp}, icmp(3, 4))));
  // Cut off before its type.
  CHECK(box.drops(ethernet(0x0800) + ipv4Packet({.protocol = kIcmp}, {})));
  CHECK(box.verdict(FILTER_PASS_ICMP).packets == 8);
}

TEST_CASE("icmp: a flood in the form of what passes meets the rules, and takes nothing from another victim") {
  if (cannotRunXdp("icmp: budgets")) return;
  const VictimBox box;
  const auto passing = [&](auto&& passes) {
    int passed = 0;
    for (int i = 0; i < 1000; i++) passed += passes() ? 1 : 0;
    return passed;
  };
  // Of a hundred a second, those of a tenth of a second at once.
  CHECK(passing([&] { return box.passes(3, 4); }) < 500);
  CHECK(box.passes6(2, 57));
  CHECK(passing([&] { return box.passes6(2, 57); }) < 500);
  CHECK(box.passes6(kNeighborSolicitation, 255));
  CHECK(box.verdict(FILTER_DROP_RULE).packets > 1000);
}

TEST_CASE("icmp: a blocked source has none of it, and where there are no rules it is as any packet") {
  if (cannotRunXdp("icmp: blocked")) return;
  FilterBox box;
  const Bytes frame = ethernet(0x0800) + ipv4Packet({.protocol = kIcmp}, icmp(3, 4));
  CHECK_FALSE(box.drops(frame));
  CHECK(box.verdict(FILTER_PASS_DEFAULT).packets == 1);
  box.rules.set(std::vector{ruleTo(ipv4(kProtected + 1), "rule")});
  box.pairs.put(std::vector{pairOf(ipv4(kForeign + 1), ipv4(kProtected + 1))}, std::vector{inAnHour()});
  CHECK(box.drops(frame));
  CHECK(box.verdict(FILTER_DROP_SOURCE).packets == 1);
}
