// What the forwarding program does with a frame that goes on without a tunnel, and what it leaves to the kernel.
#include "filter/forwarder.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "device/netdev_family.h"
#include "forward_box.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

struct Case {
  const char* name;
  Bytes frame;
  forward_outcome outcome;
};

Bytes with(Bytes bytes, std::size_t at, std::uint8_t value) {
  bytes.at(at) = value;
  return bytes;
}

Bytes ipv4To(std::uint32_t destination, std::size_t payload = 20) {
  return arriving(0x0800, ipv4Udp(payload, {.destination = destination}));
}

std::vector<Case> casesOfTheKernel() {
  const Bytes packet = ipv4Udp();
  const Bytes packet6 = ipv6Udp();
  return {
      {"ARP", arriving(0x0806, Bytes(46, 0)), FORWARD_KERNEL_NOT_IP},
      {"a VLAN tag", arriving(0x8100, vlanTag(0x0800) + packet), FORWARD_KERNEL_VLAN},
      {"the MAC address of another", with(arriving(0x0800, packet), 5, 7), FORWARD_KERNEL_OTHER_MAC},
      {"a TTL of 1", arriving(0x0800, sealed(with(packet, 8, 1))), FORWARD_KERNEL_TTL},
      {"a hop limit of 1", arriving(0x86dd, with(packet6, 7, 1)), FORWARD_KERNEL_TTL},
      {"IP options", arriving(0x0800, ipv4Udp(20, {.options = 1})), FORWARD_KERNEL_HEADER},
      {"a bad header checksum", arriving(0x0800, with(packet, 10, 0x5a)), FORWARD_KERNEL_HEADER},
      {"a source in 127/8", arriving(0x0800, ipv4Udp(20, {.source = 0x7f000001})), FORWARD_KERNEL_HEADER},
      {"a source in 224/4", arriving(0x0800, ipv4Udp(20, {.source = 0xe0000001})), FORWARD_KERNEL_HEADER},
      {"fewer bytes than its header says", arriving(0x0800, ipv4Udp(20, {.totalLength = 900})), FORWARD_KERNEL_HEADER},
      {"hop-by-hop options", arriving(0x86dd, ipv6Packet({.nextHeader = 0}, Bytes(16, 0))), FORWARD_KERNEL_HEADER},
      {"a source of one link", arriving(0x86dd, with(with(packet6, 8, 0xfe), 9, 0x80)), FORWARD_KERNEL_HEADER},
      {"multicast of IPv6", arriving(0x86dd, with(packet6, 24, 0xff)), FORWARD_KERNEL_HEADER},
      {"a local address", ipv4To(0x0a01fffe), FORWARD_KERNEL_LOCAL},
      {"a broadcast", ipv4To(0x0a01ffff), FORWARD_KERNEL_LOCAL},
      {"a blackhole", ipv4To(0x0a020001), FORWARD_KERNEL_UNREACHABLE},
      {"a route that prohibits", ipv4To(0x0a030001), FORWARD_KERNEL_UNREACHABLE},
      {"an unreachable route", ipv4To(0x0a040001), FORWARD_KERNEL_UNREACHABLE},
      {"a neighbor that is not known", ipv4To(0x0a010063), FORWARD_KERNEL_NEIGHBOR},
      {"more bytes than the MTU", ipv4To(kProtected + 1, 1473), FORWARD_KERNEL_MTU},
      {"an interface that takes no frames", ipv4To(kForeign + 77), FORWARD_KERNEL_EGRESS},
  };
}

}  // namespace

TEST_CASE("forwarding: a packet leaves one hop on, with the MAC addresses of its next link") {
  if (cannotRunXdp("forwarding")) return;
  inNewNamespace([] {
    const ForwardBox box;
    if (allXdpFeatures()) CHECK(box.forwarder.status().egress == std::vector<std::string>{"out0"});
    for (const Bytes& packet : {ipv4Udp(), ipv4Udp(1472), ipv4Udp(20, {.fragment = 0x2000}),
                                ipv4Udp(20, {.fragment = 99}), sealed(with(ipv4Udp(), 8, 2))}) {
      Outcome came{};
      CHECK(box.outcomeOf(arriving(0x0800, packet), &came) == FORWARD_REDIRECTED);
      CHECK(came.action == XDP_REDIRECT);
      CHECK(came.frame == leaving(0x0800, oneHopOn(packet)));
    }
    for (const Bytes& packet : {ipv6Udp(), ipv6Udp(1452)}) {
      const Outcome came = box.run(arriving(0x86dd, packet));
      CHECK(came.action == XDP_REDIRECT);
      CHECK(came.frame == leaving(0x86dd, oneHopOn(packet)));
    }
  });
}

TEST_CASE("forwarding: what the kernel must see reaches it unchanged, counted by its reason") {
  if (cannotRunXdp("forwarding, the kernel's cases")) return;
  inNewNamespace([] {
    const ForwardBox box;
    // In1 leads nowhere that takes frames.
    shell("ethtool -K in1 gro off; ip neigh add 192.0.2.77 lladdr 02:00:00:00:00:77 nud permanent dev in0");
    for (const Case& one : casesOfTheKernel()) {
      CAPTURE(one.name);
      Outcome came{};
      CHECK(box.outcomeOf(one.frame, &came) == one.outcome);
      CHECK(came.action == XDP_PASS);
      CHECK(came.frame == one.frame);
    }
    shell("echo 0 >/proc/sys/net/ipv4/conf/in0/forwarding");
    CHECK(box.outcomeOf(arriving(0x0800, ipv4Udp())) == FORWARD_KERNEL_OFF);
  });
}

TEST_CASE("forwarding: only to the networks that it is given, while they change") {
  if (cannotRunXdp("forwarding to networks")) return;
  inNewNamespace([] {
    ForwardBox box;
    const Bytes frame = arriving(0x0800, ipv4Udp()), frame6 = arriving(0x86dd, ipv6Udp());
    box.forwarder.setNetworks(std::vector{prefixOf(ipv4(0x0a050000), 112)});
    CHECK(box.outcomeOf(frame) == FORWARD_KERNEL_FOREIGN);
    CHECK(box.outcomeOf(frame6) == FORWARD_KERNEL_FOREIGN);
    box.forwarder.setNetworks(std::vector{prefixOf(ipv4(kProtected), 112)});
    CHECK(box.outcomeOf(frame) == FORWARD_REDIRECTED);
    CHECK(box.outcomeOf(frame6) == FORWARD_KERNEL_FOREIGN);
    box.forwarder.setNetworks(std::vector{prefixOf(ipv6(1, 0), 48)});
    CHECK(box.outcomeOf(frame) == FORWARD_KERNEL_FOREIGN);
    CHECK(box.outcomeOf(frame6) == FORWARD_REDIRECTED);
    box.forwarder.setNetworks(std::nullopt);
    CHECK(box.outcomeOf(frame) == FORWARD_REDIRECTED);
  });
}

TEST_CASE("forwarding: follows interfaces that come, go and change") {
  if (cannotRunXdp("forwarding, interfaces")) return;
  if (!allXdpFeatures()) {
    std::printf("skipped: forwarding, interfaces (before Linux 6.3 the kernel does not say which take frames)\n");
    return;
  }
  inNewNamespace([] {
    ForwardBox box;
    const Bytes frame = arriving(0x0800, ipv4Udp());
    // The far end takes no frames any more.
    shell("ethtool -K out1 gro off");
    box.forwarder.follow();
    CHECK(box.forwarder.status().egress.empty());
    CHECK(box.outcomeOf(frame) == FORWARD_KERNEL_EGRESS);
    shell(
        "ip link del out0; ip link add out0 address 02:00:00:00:01:01 type veth peer name out1; ethtool -K out1 gro on;"
        "ip link set out0 up; ip link set out1 up; ip address add 10.1.255.254/16 dev out0;"
        "ip neigh add 10.1.0.1 lladdr 02:00:00:00:01:09 nud permanent dev out0");
    CHECK(box.outcomeOf(frame) == FORWARD_KERNEL_EGRESS);
    box.forwarder.follow();
    CHECK(box.outcomeOf(frame) == FORWARD_REDIRECTED);
    shell("ip link set in0 address 02:00:00:00:00:55");
    box.forwarder.follow();
    CHECK(box.outcomeOf(frame) == FORWARD_KERNEL_OTHER_MAC);
    shell("ip link add br0 type bridge; ip link set in0 address 02:00:00:00:00:01; ip link set in0 master br0");
    box.forwarder.follow();
    CHECK(box.outcomeOf(frame) == FORWARD_KERNEL_OTHER_MAC);
  });
}

TEST_CASE("forwarding: a CPU leaves one packet in a while to the kernel, for its neighbor's sake") {
  if (cannotRunXdp("forwarding, neighbors")) return;
  inNewNamespace([] {
    const ForwardBox box;
    // A route that the CPU keeps is used without a look at its neighbor.
    const ForwardProgram program(box.forwarder.maps(), {.refreshNs = 3'600'000'000'000, .keepNs = 0});
    const Bytes frame = arriving(0x0800, ipv4Udp());
    stayOnThisCpu();
    // The monotonic clock may be younger than that.
    std::vector<std::uint32_t> actions;
    for (int i = 0; i < 3; i++) actions.push_back(ForwardBox::run(frame, program.fd()).action);
    CHECK(box.count(FORWARD_KERNEL_REFRESH) <= 1);
    CHECK(actions[1] == XDP_REDIRECT);
    const ForwardProgram eager(box.forwarder.maps(), {.refreshNs = 1, .keepNs = 0});
    // The clock of the program goes on with the jiffies.
    shell("sleep 0.02");
    const Outcome came = ForwardBox::run(frame, eager.fd());
    CHECK(came.action == XDP_PASS);
    CHECK(came.frame == frame);
    CHECK(box.count(FORWARD_KERNEL_REFRESH) >= 1);
  });
}

TEST_CASE("forwarding: the filter hands over what it passes, and nothing else") {
  if (cannotRunXdp("forwarding behind the filter")) return;
  inNewNamespace([] {
    ForwardBox box;
    FilterBox filter;
    for (const bool hasFragments : {false, true}) {
      CAPTURE(hasFragments);
      const FilterProgram forwards(filter.maps, hasFragments, box.forwarder.callFd(hasFragments));
      CHECK(ForwardBox::run(arriving(0x0800, ipv4Udp()), forwards.fd()).action == XDP_REDIRECT);
      const auto before = box.outcomes();
      filter.rules.set(std::vector{ruleTo(ipv4(kProtected + 1), "drop")});
      CHECK(ForwardBox::run(arriving(0x0800, ipv4Udp()), forwards.fd()).action == XDP_DROP);
      CHECK(box.outcomes() == before);
      filter.rules.set({});
      const InlineProgram inlined({.maxHosts = 16,
                                   .hasFragments = hasFragments,
                                   .filter = &filter.maps,
                                   .forwardCall = box.forwarder.callFd(hasFragments)});
      CHECK(ForwardBox::run(arriving(0x0800, ipv4Udp()), inlined.programFd()).action == XDP_REDIRECT);
    }
    const FilterProgram alone(filter.maps, false);
    CHECK(ForwardBox::run(arriving(0x0800, ipv4Udp()), alone.fd()).action == XDP_PASS);
  });
}

TEST_CASE("forwarding: of a kernel that does not say, only drivers that surely send are trusted") {
  const ListedLink link{.name = "eth0", .index = 1, .isUp = true, .isEthernet = true, .hasNativeProgram = true};
  const std::uint64_t takes = kXdpBasic | kXdpTakesRedirects, takesNot = kXdpBasic | kXdpRedirect;
  CHECK(takesRedirects(link, &takes, ""));
  CHECK_FALSE(takesRedirects(link, &takesNot, ""));
  CHECK(takesRedirects(link, nullptr, "ice"));
  CHECK_FALSE(takesRedirects(link, nullptr, "veth"));
  ListedLink other = link;
  other.hasNativeProgram = false;
  CHECK_FALSE(takesRedirects(other, nullptr, "ice"));
  other = link;
  other.isUp = false;
  CHECK_FALSE(takesRedirects(other, &takes, ""));
}

TEST_CASE("forwarding: no frame, however it is made up, goes on other than whole") {
  if (cannotRunXdp("forwarding, random frames")) return;
  inNewNamespace([] {
    SHOW_SEED();
    ForwardBox box({tunnelOf({.kind = FORWARD_VXLAN, .key = 7, .mtu = 576})});
    Random random;
    const std::vector<Bytes> models = {arriving(0x0800, ipv4Udp(600)), arriving(0x86dd, ipv6Udp(600)),
                                       arriving(0x0800, sealed(ipv4Packet({.protocol = 6}, tcp(1, 2, 2)))),
                                       ipv4To(0xc6336407)};
    for (int round = 0; round < 4000; round++) {
      Bytes frame = models[random.below(models.size())];
      for (std::uint64_t changes = random.below(4); changes > 0; changes--) {
        frame[random.below(std::min<std::uint64_t>(frame.size(), 80))] = static_cast<std::uint8_t>(random.below(256));
      }
      if (random.below(4) == 0) frame.resize(14 + random.below(frame.size()));
      if (frame.size() > 34 && frame[12] == 8 && random.below(2) == 0 && (frame[14] & 15) == 5) {
        const Bytes ip = sealed(Bytes(frame.begin() + 14, frame.end()));
        std::copy(ip.begin(), ip.end(), frame.begin() + 14);
      }
      Outcome came{};
      const forward_outcome outcome = box.outcomeOf(frame, &came);
      CAPTURE(round);
      if (came.action == XDP_PASS && outcome != FORWARD_TUNNELED_KERNEL) CHECK(came.frame.size() == frame.size());
      if (came.action == XDP_TX) CHECK(came.frame.size() < frame.size());
      if (came.action == XDP_REDIRECT && at16(came.frame, 12) == 0x0800) CHECK(checksumOf(came.frame, 14, 20) == 0);
      CHECK((came.action == XDP_REDIRECT) == (outcome == FORWARD_REDIRECTED || outcome == FORWARD_TUNNELED));
    }
    CHECK(box.count(FORWARD_REDIRECTED) > 0);
    CHECK(box.count(FORWARD_TUNNELED) > 0);
  });
}
