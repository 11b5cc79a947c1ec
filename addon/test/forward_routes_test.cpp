// Routes that a CPU keeps for a moment: for which packets, for how long, and that they are not kept where something
// else than the destination decides.
#include <doctest/doctest.h>

#include <ctime>
#include <string>
#include <vector>

#include "device/route_choice.h"
#include "forward_box.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint64_t kHourNs = 3'600'000'000'000;
const Bytes kOtherMac{2, 0, 0, 0, 1, 0x55};

/// Behind out0 are neighbors with another MAC address than before.
void changeNeighbors() {
  shell(
      "for a in 10.1.0.1 10.1.0.9 2001:db8:1::1; do"
      "  ip neigh replace $a lladdr 02:00:00:00:01:55 nud permanent dev out0; done");
}

Bytes nextMacOf(const Outcome& outcome) {
  CHECK(outcome.action == XDP_REDIRECT);
  return {outcome.frame.begin(), outcome.frame.begin() + 6};
}

std::uint64_t coarseNs() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// A forwarding program that keeps routes for this time.
struct Keeping : ForwardBox {
  explicit Keeping(std::uint64_t keepNs, const std::vector<ForwardTunnel>& tunnels = {})
      : ForwardBox(tunnels), keeping(forwarder.maps(), {.refreshNs = 0, .answersPerSecond = 0, .keepNs = keepNs}) {
    stayOnThisCpu();
    lengthen();
  }
  /// So that no test depends on how fast the machine is.
  void lengthen() const {
    auto& until = forwarder.maps().headRow().keeping_until_ns;
    if (until != 0) until += kHourNs;
  }
  void follow() {
    forwarder.follow();
    lengthen();
  }
  [[nodiscard]] Outcome send(const Bytes& frame) const { return run(frame, keeping.fd()); }
  [[nodiscard]] bool keepsFor(const Bytes& frame) const {
    const Bytes before = nextMacOf(send(frame));
    shell("ip neigh replace 10.1.0.1 lladdr 02:00:00:00:01:77 nud permanent dev out0");
    const bool keeps = nextMacOf(send(frame)) == before;
    shell("ip neigh replace 10.1.0.1 lladdr 02:00:00:00:01:09 nud permanent dev out0");
    return keeps;
  }
  ForwardProgram keeping;
};

const Bytes kFrame = arriving(0x0800, ipv4Udp());
const Bytes kFrame6 = arriving(0x86dd, ipv6Udp());

struct Change {
  const char* name;
  const char* made;
  bool isByDestination = false;
};

const std::vector<Change> kChanges = {
    {"a rule by source", "ip rule add from 198.18.0.0/15 lookup 100"},
    {"a rule by source, of IPv6", "ip -6 rule add from 2001:db8:5::/48 lookup 100"},
    {"a rule by type of service", "ip rule add tos 0x10 lookup 100"},
    {"a rule by protocol", "ip rule add ipproto tcp lookup 100"},
    {"a rule by mark", "ip rule add fwmark 1 lookup 100"},
    {"several next hops", "ip route add 10.9.0.0/16 nexthop via 10.1.0.1 nexthop via 10.1.0.9"},
    {"several next hops, of IPv6, one by one",
     "ip -6 route add 2001:db8:9::/48 via 2001:db8:1::1; ip -6 route append 2001:db8:9::/48 via 2001:db8:1::9"},
    {"a route by type of service", "ip route add 10.9.0.0/16 tos 0x10 via 10.1.0.1"},
    {"a group of next hops",
     "ip nexthop add id 1 via 10.1.0.1 dev out0; ip nexthop add id 2 via 10.1.0.9 dev out0;"
     "ip nexthop add id 3 group 1/2"},
    {"a rule by destination", "ip rule add to 10.9.0.0/16 lookup 100", true},
    {"a rule by interface", "ip rule add iif in0 lookup 100", true},
    {"a route in another table", "ip route add 10.9.0.0/16 via 10.1.0.1 table 100", true},
    {"a single next hop of its own", "ip nexthop add id 1 via 10.1.0.1 dev out0; ip route add 10.9.0.0/16 nhid 1",
     true},
    {"another way to the same network",
     "ip route add 10.9.0.0/16 via 10.1.0.1;"
     "ip route add 10.9.0.0/16 via 10.1.0.9 metric 9",
     true},
};

}  // namespace

TEST_CASE(
    "kept routes: of packets to one destination that came the same way, until the owner says that they are void") {
  if (cannotRunXdp("kept routes")) return;
  inNewNamespace([] {
    Keeping box(kHourNs);
    for (const Bytes& frame : {kFrame, kFrame6}) CHECK(nextMacOf(box.send(frame)) == kNextMac);
    changeNeighbors();
    for (const Bytes& frame : {kFrame, kFrame6}) CHECK(nextMacOf(box.send(frame)) == kNextMac);
    const Bytes packet = ipv4Udp(333, {.source = kForeign + 9});
    CHECK(box.send(arriving(0x0800, packet)).frame == leaving(0x0800, oneHopOn(packet)));
    CHECK(nextMacOf(box.send(arriving(0x0800, ipv4Udp(20, {.destination = 0x0a010009})))) == kOtherMac);
    box.follow();
    for (const Bytes& frame : {kFrame, kFrame6}) CHECK(nextMacOf(box.send(frame)) == kOtherMac);
    shell("ip route add blackhole 10.1.0.1/32");
    CHECK(nextMacOf(box.send(kFrame)) == kOtherMac);
    box.forwarder.setNetworks(std::nullopt);
    CHECK(box.send(kFrame).action == XDP_PASS);
  });
}

TEST_CASE("kept routes: more destinations than there is room for leave by their own ways") {
  if (cannotRunXdp("kept routes, many")) return;
  inNewNamespace([] {
    SHOW_SEED();
    const Keeping box(kHourNs);
    shell(
        "ip neigh replace 10.1.0.1 lladdr 02:00:00:00:01:55 nud permanent dev out0;"
        "ip route add 10.8.0.0/16 via 10.1.0.1; ip route add 10.9.0.0/16 via 10.1.0.9");
    Random random;
    for (int i = 0; i < 20'000; i++) {
      const bool isFirst = random.below(2) == 0;
      const auto host = static_cast<std::uint32_t>(random.below(8000));
      const Outcome came =
          box.send(arriving(0x0800, ipv4Udp(20, {.destination = (isFirst ? 0x0a080000 : 0x0a090000) + host})));
      REQUIRE(nextMacOf(came) == (isFirst ? kOtherMac : kNextMac));
    }
  });
}

TEST_CASE("kept routes: what takes a closer look takes it all the same") {
  if (cannotRunXdp("kept routes, closer looks")) return;
  inNewNamespace([] {
    const Keeping box(kHourNs);
    CHECK(nextMacOf(box.send(kFrame)) == kNextMac);
    Bytes other = kFrame, last = ipv4Udp();
    other.at(5) = 7;
    last.at(8) = 1;
    CHECK(box.send(other).action == XDP_PASS);
    CHECK(box.count(FORWARD_KERNEL_OTHER_MAC) == 1);
    CHECK(box.send(arriving(0x0800, sealed(last))).action == XDP_PASS);
    CHECK(box.count(FORWARD_KERNEL_TTL) == 1);
    CHECK(nextMacOf(box.send(arriving(0x0800, ipv4Udp(1472)))) == kNextMac);
    CHECK(box.send(arriving(0x0800, ipv4Udp(1473))).action == XDP_PASS);
    CHECK(box.count(FORWARD_KERNEL_MTU) == 1);
  });
}

TEST_CASE("kept routes: the answers of a tunnel's networks offer its MSS, whatever is kept") {
  if (cannotRunXdp("kept routes, MSS")) return;
  inNewNamespace([] {
    ForwardTunnel tunnel = tunnelOf({});
    tunnel.networks = {prefixOf(ipv4(0xc6336400), 120)};
    const Keeping box(kHourNs, {tunnel});
    const Ipv4Fields back{.source = 0xc6336407, .protocol = 6};
    Bytes syn = tcp(443, 40'000, 0x12) + Bytes{2, 4, 0x05, 0xb4};
    syn.at(12) = 0x60;
    CHECK(box.send(arriving(0x0800, sealed(ipv4Packet(back, tcp(443, 40'000, 0x10))))).action == XDP_REDIRECT);
    CHECK(box.send(arriving(0x0800, sealed(ipv4Packet(back, syn)))).action == XDP_REDIRECT);
    CHECK(box.forwarder.status().stats.clamped == 1);
  });
}

TEST_CASE("kept routes: for their time, and only while the owner comes by") {
  if (cannotRunXdp("kept routes, time")) return;
  inNewNamespace([] {
    const Keeping box(1);
    CHECK(nextMacOf(box.send(kFrame)) == kNextMac);
    changeNeighbors();
    for (const std::uint64_t tick = coarseNs(); coarseNs() == tick;) continue;
    CHECK(nextMacOf(box.send(kFrame)) == kOtherMac);

    const ForwardProgram never(box.forwarder.maps(), {.refreshNs = 0, .keepNs = 0});
    const ForwardProgram hour(box.forwarder.maps(), {.refreshNs = 0, .keepNs = kHourNs});
    box.forwarder.maps().headRow().keeping_until_ns = 1;
    CHECK_FALSE(box.forwarder.status().keepsRoutes);
    for (const ForwardProgram* program : {&never, &hour}) {
      CHECK(nextMacOf(ForwardBox::run(kFrame, program->fd())) == kOtherMac);
    }
    shell("ip neigh replace 10.1.0.1 lladdr 02:00:00:00:01:09 nud permanent dev out0");
    for (const ForwardProgram* program : {&never, &hour}) {
      CHECK(nextMacOf(ForwardBox::run(kFrame, program->fd())) == kNextMac);
    }
  });
}

TEST_CASE("kept routes: the kernel is shown a packet by the next look-up, not while the route is kept") {
  if (cannotRunXdp("kept routes, refreshes")) return;
  inNewNamespace([] {
    const Keeping box(kHourNs);
    const ForwardProgram brief(box.forwarder.maps(), {.refreshNs = 0, .keepNs = 1'000'000});
    const ForwardProgram eager(box.forwarder.maps(), {.refreshNs = 1, .keepNs = 1'000'000});
    CHECK(nextMacOf(box.send(kFrame6)) == kNextMac);
    CHECK(nextMacOf(ForwardBox::run(kFrame, brief.fd())) == kNextMac);
    // The clock of the program goes on with the jiffies.
    shell("sleep 0.02");
    CHECK(nextMacOf(ForwardBox::run(kFrame6, eager.fd())) == kNextMac);
    CHECK(box.count(FORWARD_KERNEL_REFRESH) == 0);
    const Outcome came = ForwardBox::run(kFrame, eager.fd());
    CHECK(came.action == XDP_PASS);
    CHECK(came.frame == kFrame);
    CHECK(box.count(FORWARD_KERNEL_REFRESH) == 1);
  });
}

TEST_CASE("kept routes: not where policy rules decide, and again once they are gone") {
  if (cannotRunXdp("kept routes, rules")) return;
  inNewNamespace([] {
    Keeping box(kHourNs);
    CHECK(box.forwarder.status().keepsRoutes);
    CHECK(box.keepsFor(kFrame));
    shell("ip rule add from 198.18.0.0/15 lookup 100");
    box.follow();
    CHECK_FALSE(box.forwarder.status().keepsRoutes);
    CHECK_FALSE(box.keepsFor(kFrame));
    shell("ip rule del from 198.18.0.0/15 lookup 100");
    for (int second = 0; second <= 30; second++) box.follow();
    CHECK(box.forwarder.status().keepsRoutes);
    CHECK(box.keepsFor(kFrame));
  });
}

TEST_CASE("route choice: by destination alone or not, as it is found and as it changes") {
  if (cannotRunXdp("route choice")) return;
  for (const Change& change : kChanges) {
    CAPTURE(change.name);
    inNewNamespace([&] {
      REQUIRE(ForwardBox::prepared());
      RouteChoice before;
      CHECK(before.isByDestination());
      shell(change.made);
      RouteChoice after;
      CHECK(before.isByDestination() == change.isByDestination);
      CHECK(after.isByDestination() == change.isByDestination);
    });
  }
}
