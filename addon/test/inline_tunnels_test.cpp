// The filter on an inline interface that takes tunnels apart: which of the packets in one another it judges.
#include <doctest/doctest.h>

#include "filter/prefix_sets.h"
#include "filter_box.h"
#include "inline_box.h"
#include "tunnels.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

Bytes inTunnel(std::uint32_t to, const Bytes& packet) {
  return ethernet(0x0800) + ipv4Packet({.destination = to, .protocol = 4}, packet);
}

std::vector<SetPrefix> only(std::uint32_t host) { return {{.address = inKernel(ipv4(host)), .length = 128}}; }

}  // namespace

TEST_CASE("xdp inline: rules apply to the outermost packet, then to the one that is counted") {
  if (cannotRunXdp("xdp inline: rules apply to the packet inside")) return;
  FilterBox filter;
  const InlineBox box(
      {.maxHosts = 16, .decapsulated = {Encapsulation::ipip, Encapsulation::mpls}, .filter = &filter.maps});
  const Bytes inner = ipv4Packet({}, udp(4000, 53)), foreign = ipv4Packet({.destination = kForeign + 1}, udp(1, 2));
  CHECK(box.run(inTunnel(kForeign + 9, inner)) == XDP_PASS);
  filter.rules.set(std::vector{ruleTo(ipv4(kProtected + 1), "inside")});
  CHECK(box.run(inTunnel(kForeign + 9, inner)) == XDP_DROP);
  CHECK(box.run(ethernet(0x8847) + labels(2, inner)) == XDP_DROP);
  CHECK(box.run(inTunnel(kForeign + 9, ipv4Packet({.destination = kProtected + 3}, udp(4000, 53)))) == XDP_PASS);
  // What is inside is no way around a rule for where the tunnel goes.
  CHECK(box.run(inTunnel(kProtected + 1, ipv4Packet({.destination = kProtected + 3}, udp(4000, 53)))) == XDP_DROP);
  CHECK(box.run(inTunnel(kProtected + 1, foreign)) == XDP_DROP);
  // Each frame has one verdict.
  CHECK(filter.verdicts() == 6);
}

TEST_CASE("xdp inline: a list that lets a tunnel pass says nothing of what is inside") {
  if (cannotRunXdp("xdp inline: lists and tunnels")) return;
  FilterBox filter;
  const InlineBox box({.maxHosts = 16, .decapsulated = {Encapsulation::ipip}, .filter = &filter.maps});
  const Bytes frame = inTunnel(kForeign + 9, ipv4Packet({.source = kForeign + 5}, udp(4000, 53)));
  filter.rules.set(std::vector{ruleTo(ipv4(kProtected + 1), "inside")});
  publishSet(filter.maps, FILTER_ALLOWLIST, only(kForeign + 1));
  publishSet(filter.maps, FILTER_WHITELIST, only(kForeign + 9));
  CHECK(box.run(frame) == XDP_DROP);
  // Whose own source is on the list.
  publishSet(filter.maps, FILTER_ALLOWLIST, only(kForeign + 5));
  CHECK(box.run(frame) == XDP_PASS);
  // Nor does a rule that lets tunnels to their end pass.
  WantedRule pass = ruleTo(ipv4(kForeign + 9), "end");
  pass.rule.action = FILTER_PASS;
  publishSet(filter.maps, FILTER_ALLOWLIST, {});
  filter.rules.set(std::vector{pass, ruleTo(ipv4(kProtected + 1), "inside")});
  CHECK(box.run(frame) == XDP_DROP);
  CHECK(filter.verdicts() == 3);
}
