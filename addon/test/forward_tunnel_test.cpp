// What comes out of a tunnel's near end, byte for byte, and how it deals with what does not fit. The expected outer
// headers are written here, from the RFCs and nothing of the program.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "forward_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint8_t kFin = 1, kSyn = 2, kAck = 16;

Bytes bytesOf(const Address& address) { return {address.bytes.begin(), address.bytes.end()}; }

/// An outer header over `inner`, from local to remote, that carries its traffic class.
Bytes outer4(std::uint8_t protocol, std::uint8_t trafficClass, const Bytes& inner) {
  Bytes ip = ipv4Packet({.source = kLocal, .destination = kRemote, .protocol = protocol, .fragment = 0x4000}, inner);
  ip[1] = trafficClass;
  set16(ip, 4, 0);
  return sealed(ip);
}
Bytes outer6(std::uint8_t protocol, std::uint8_t trafficClass, const Bytes& inner) {
  Bytes ip = ipv6Packet({.source = kLocal6, .destination = kRemote6, .nextHeader = protocol}, inner);
  ip[0] = static_cast<std::uint8_t>(0x60 | trafficClass >> 4);
  ip[1] = static_cast<std::uint8_t>(trafficClass << 4);
  return ip;
}

Bytes greOver(const Bytes& inner, std::uint32_t type, std::uint32_t key) {
  Bytes gre;
  put16(gre, key != 0 ? 0x2000 : 0);
  put16(gre, type);
  if (key != 0) {
    put16(gre, key >> 16);
    put16(gre, key & 0xffff);
  }
  return gre + inner;
}

/// `port`: the source port, which the test does not foretell.
Bytes vxlanOver(const Bytes& inner, std::uint32_t type, std::uint32_t vni, std::uint16_t port) {
  const Bytes within = ethernetTo(kFarMac, {0x02, 0xf1, 0x0a, 0x01, 0xff, 0xfe}, type) + inner;
  Bytes bytes;
  for (const std::uint32_t value : {std::uint32_t{port}, 4789U, static_cast<std::uint32_t>(16 + within.size()), 0U}) {
    put16(bytes, value);
  }
  append(bytes, {8, 0, 0, 0});
  put16(bytes, vni >> 8);
  put16(bytes, (vni & 0xff) << 8);
  return bytes + within;
}

Bytes withClass(Bytes ip, std::uint8_t trafficClass) {
  if (ip[0] >> 4 == 4) {
    ip[1] = trafficClass;
    return sealed(ip);
  }
  ip[0] = static_cast<std::uint8_t>(0x60 | trafficClass >> 4);
  ip[1] = static_cast<std::uint8_t>(trafficClass << 4);
  return ip;
}

/// What must come out for a packet.
Bytes expected(const TunnelFields& tunnel, const Bytes& packet, std::uint8_t trafficClass, const Bytes& came) {
  const bool isIpv4 = packet.at(0) >> 4 == 4;
  const std::uint32_t type = isIpv4 ? 0x0800 : 0x86dd;
  const Bytes inner = oneHopOn(packet);
  std::uint8_t protocol = isIpv4 ? 4 : 41;
  Bytes over = inner;
  if (tunnel.kind == FORWARD_GRE) {
    protocol = 47;
    over = greOver(inner, type, tunnel.key);
  }
  if (tunnel.kind == FORWARD_VXLAN) {
    protocol = 17;
    over = vxlanOver(inner, type, tunnel.key, at16(came, 14 + (tunnel.isOuterIpv4 ? 20 : 40)));
  }
  return tunnel.isOuterIpv4 ? leaving(0x0800, outer4(protocol, trafficClass, over))
                            : leaving(0x86dd, outer6(protocol, trafficClass, over));
}

bool isTcpWhole(const Bytes& packet) {
  const bool isIpv4 = packet.at(0) >> 4 == 4;
  const std::size_t addresses = isIpv4 ? 12 : 8, at = isIpv4 ? 20 : 40;
  const auto length = static_cast<std::uint32_t>(packet.size() - at);
  const auto pseudo = static_cast<std::uint16_t>(~checksumOf(packet, addresses, at - addresses));
  return checksumOf(packet, at, length, pseudo + 6 + length) == 0;
}

Bytes sliced(const Bytes& bytes, std::size_t from) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end()};
}

}  // namespace

TEST_CASE("tunnels: every kind over both families, with both families inside, byte for byte") {
  if (cannotRunXdp("tunnels")) return;
  for (const TunnelFields& fields :
       {TunnelFields{.kind = FORWARD_GRE}, TunnelFields{.kind = FORWARD_GRE, .key = 0xdeadbeef},
        TunnelFields{.kind = FORWARD_IPIP}, TunnelFields{.kind = FORWARD_VXLAN, .key = 0x123456},
        TunnelFields{.kind = FORWARD_GRE, .isOuterIpv4 = false},
        TunnelFields{.kind = FORWARD_GRE, .isOuterIpv4 = false, .key = 7},
        TunnelFields{.kind = FORWARD_IPIP, .isOuterIpv4 = false},
        TunnelFields{.kind = FORWARD_VXLAN, .isOuterIpv4 = false, .key = 9}}) {
    CAPTURE(fields.kind);
    CAPTURE(fields.isOuterIpv4);
    CAPTURE(fields.key);
    inNewNamespace([&] {
      ForwardTunnel tunnel = tunnelOf(fields);
      // Of IPv6, the last four bytes of the near end's address name it.
      if (!fields.isOuterIpv4) {
        const Bytes local = bytesOf(kLocal6);
        CHECK(completed(tunnel.form).source_mac[5] == local[15]);
      }
      const ForwardBox box({tunnel});
      for (const std::uint8_t trafficClass : Bytes{0x00, 0xb9, 0x03}) {
        for (const Bytes& model : {ipv4Udp(), ipv4Udp(1372), ipv6Udp(), ipv6Udp(1352)}) {
          const Bytes packet = withClass(model, trafficClass);
          Outcome came{};
          CHECK(box.outcomeOf(arriving(packet[0] >> 4 == 4 ? 0x0800 : 0x86dd, packet), &came) == FORWARD_TUNNELED);
          CHECK(came.action == XDP_REDIRECT);
          Bytes wanted = expected(fields, packet, trafficClass, came.frame);
          if (fields.kind == FORWARD_VXLAN && !fields.isOuterIpv4) {
            const auto& mac = completed(tunnel.form).source_mac;
            std::copy(std::begin(mac), std::end(mac), wanted.begin() + 14 + 40 + 16 + 6);
          }
          CHECK(came.frame == wanted);
        }
      }
    });
  }
}

TEST_CASE("tunnels: what is behind a short packet in its frame does not go into the tunnel") {
  if (cannotRunXdp("tunnels, padding")) return;
  inNewNamespace([] {
    const TunnelFields fields{.kind = FORWARD_VXLAN, .key = 5};
    const ForwardBox box({tunnelOf(fields)});
    const Outcome came = box.run(arriving(0x0800, ipv4Udp(4)) + Bytes(14, 0xee));
    CHECK(came.frame == expected(fields, ipv4Udp(4), 0, came.frame));
  });
}

TEST_CASE("tunnels: the source port of VXLAN is that of the flow") {
  if (cannotRunXdp("tunnels, ports")) return;
  inNewNamespace([] {
    const ForwardBox box({tunnelOf({.kind = FORWARD_VXLAN, .key = 5})});
    const auto portOf = [&](std::uint16_t port, std::size_t payload) {
      return at16(box.run(arriving(0x0800, sealed(ipv4Packet({}, udp(port, 53, payload))))).frame, 34);
    };
    std::vector<std::uint16_t> ports;
    for (std::uint16_t flow = 1; flow <= 64; flow++) {
      ports.push_back(portOf(flow, 10));
      CHECK(ports.back() >= 0xc000);
      CHECK(portOf(flow, 700) == ports.back());
    }
    std::sort(ports.begin(), ports.end());
    CHECK(std::unique(ports.begin(), ports.end()) - ports.begin() > 50);
  });
}

TEST_CASE("tunnels: the longest prefix decides, between tunnels and networks too") {
  if (cannotRunXdp("tunnels, prefixes")) return;
  inNewNamespace([] {
    ForwardTunnel wide = tunnelOf({.kind = FORWARD_IPIP}), narrow = tunnelOf({.kind = FORWARD_GRE});
    narrow.networks = {prefixOf(ipv4(kProtected + 1), 128)};
    ForwardBox box({wide, narrow});
    const auto protocolTo = [&](std::uint32_t destination) {
      return box.run(arriving(0x0800, ipv4Udp(20, {.destination = destination}))).frame.at(23);
    };
    CHECK(protocolTo(kProtected + 1) == 47);
    CHECK(protocolTo(kProtected + 2) == 4);
    // A network within a tunnel's goes without it.
    box.forwarder.setNetworks(std::vector{prefixOf(ipv4(kProtected + 9), 128)});
    CHECK(protocolTo(kProtected + 9) == 17);
    CHECK(protocolTo(kProtected + 2) == 4);
    CHECK(box.outcomeOf(arriving(0x0800, ipv4Udp(20, {.destination = 0xc6336407}))) == FORWARD_KERNEL_FOREIGN);
  });
}

TEST_CASE("tunnels: the kernel gets the whole outer packet where the way to the far end is not known yet") {
  if (cannotRunXdp("tunnels, neighbors")) return;
  inNewNamespace([] {
    const TunnelFields fields{.kind = FORWARD_GRE};
    const ForwardBox box({tunnelOf(fields)});
    shell("ip neigh del 10.1.0.9 dev out0");
    Outcome came{};
    CHECK(box.outcomeOf(arriving(0x0800, ipv4Udp()), &came) == FORWARD_TUNNELED_KERNEL);
    CHECK(came.action == XDP_PASS);
    const Bytes wanted = expected(fields, ipv4Udp(), 0, came.frame);
    CHECK(came.frame == ethernetTo(kOurMac, kFromMac, 0x0800) + sliced(wanted, 14));
  });
}

TEST_CASE("tunnels: the kernel learns each second that the next hop is in use, and asks for it again") {
  if (cannotRunXdp("tunnels, use of neighbors")) return;
  for (const bool isIpv4 : {true, false}) {
    inNewNamespace([&] {
      ForwardBox box({tunnelOf({.isOuterIpv4 = isIpv4})});
      const std::string hop = isIpv4 ? "10.1.0.9" : "2001:db8:1::9";
      shell("ip neigh replace " + hop + " lladdr 02:00:00:00:01:09 nud stale dev out0");
      static_cast<void>(box.run(isIpv4 ? arriving(0x0800, ipv4Udp()) : arriving(0x86dd, ipv6Udp())));
      shell("ip neigh show " + hop + " | grep -q STALE");
      box.forwarder.follow();
      shell("ip neigh show " + hop + " | grep -Eq 'DELAY|PROBE'");
      shell("ip neigh del " + hop + " dev out0");
      box.forwarder.follow();
      shell("ip neigh show " + hop + " | grep -Eq 'INCOMPLETE|FAILED|PROBE'");
    });
  }
}

TEST_CASE("tunnels: a packet that is too big and must not be fragmented is answered with the MTU") {
  if (cannotRunXdp("tunnels, too big")) return;
  inNewNamespace([] {
    const ForwardBox box({tunnelOf({.kind = FORWARD_GRE, .mtu = 1400})});
    const Bytes packet = ipv4Udp(1373, {.fragment = 0x4000});
    Outcome came{};
    CHECK(box.outcomeOf(arriving(0x0800, packet), &came) == FORWARD_ANSWER_TOO_BIG);
    CHECK(came.action == XDP_TX);
    const auto quoteOf = [](const Bytes& whole) { return Bytes(whole.begin(), whole.begin() + FORWARD_QUOTE_BYTES); };
    Bytes icmp = Bytes{3, 4, 0, 0, 0, 0, 1400 >> 8, 1400 & 0xff} + quoteOf(packet);
    set16(icmp, 2, checksumOf(icmp, 0, icmp.size()));
    Bytes answer =
        ipv4Packet({.source = kProtected + 1, .destination = kForeign + 1, .protocol = 1, .fragment = 0x4000}, icmp);
    set16(answer, 4, 0);
    CHECK(came.frame == ethernetTo(kFromMac, kOurMac, 0x0800) + sealed(answer));
    CHECK(box.outcomeOf(arriving(0x0800, ipv4Udp(1372, {.fragment = 0x4000}))) == FORWARD_TUNNELED);

    const Bytes packet6 = ipv6Udp(1353);
    CHECK(box.outcomeOf(arriving(0x86dd, packet6), &came) == FORWARD_ANSWER_TOO_BIG);
    Bytes icmp6 = Bytes{2, 0, 0, 0, 0, 0, 1400 >> 8, 1400 & 0xff} + quoteOf(packet6);
    Bytes answer6 = ipv6Packet({.source = ipv6(1, 1), .destination = ipv6(9, 1), .nextHeader = 58}, icmp6);
    const auto pseudo = static_cast<std::uint16_t>(~checksumOf(answer6, 8, 32));
    set16(answer6, 42, checksumOf(answer6, 40, icmp6.size(), pseudo + 58 + static_cast<std::uint32_t>(icmp6.size())));
    CHECK(came.frame == ethernetTo(kFromMac, kOurMac, 0x86dd) + answer6);
  });
}

TEST_CASE("tunnels: the MTU in an answer is that of the way to the far end where it is less") {
  if (cannotRunXdp("tunnels, MTU of the route")) return;
  inNewNamespace([] {
    const ForwardBox box({tunnelOf({.kind = FORWARD_GRE, .mtu = 1400})});
    shell("ip route change 198.51.100.0/24 via 10.1.0.9 mtu lock 1000");
    Outcome came{};
    CHECK(box.outcomeOf(arriving(0x0800, ipv4Udp(1000, {.fragment = 0x4000})), &came) == FORWARD_ANSWER_TOO_BIG);
    CHECK(at16(came.frame, 14 + 20 + 6) == 1000 - 24);
    CHECK(box.outcomeOf(arriving(0x0800, ipv4Udp(976 - 28, {.fragment = 0x4000}))) == FORWARD_TUNNELED);
  });
}

TEST_CASE("tunnels: what is too big and must not be answered is dropped, with a reason of its own") {
  if (cannotRunXdp("tunnels, dropped")) return;
  inNewNamespace([] {
    const ForwardBox box({tunnelOf({.kind = FORWARD_GRE, .mtu = 1400})});
    // May be fragmented; errors of ICMP; a later fragment.
    for (const Bytes& packet : {ipv4Udp(1373), sealed(ipv4Packet({.protocol = 1, .fragment = 0x4000}, Bytes(1400, 3))),
                                ipv4Udp(1373, {.fragment = 0x4000 | 9})}) {
      CHECK(box.outcomeOf(arriving(0x0800, packet)) == FORWARD_DROP_TOO_BIG);
    }
    for (const std::uint8_t header : Bytes{58, 60, 43, 44}) {
      CHECK(box.outcomeOf(arriving(0x86dd, ipv6Packet({.nextHeader = header}, Bytes(1400, 1)))) ==
            FORWARD_DROP_TOO_BIG);
    }
    const Bytes ping = sealed(ipv4Packet({.protocol = 1, .fragment = 0x4000}, Bytes{8, 0} + Bytes(1400, 0)));
    CHECK(box.outcomeOf(arriving(0x0800, ping)) == FORWARD_ANSWER_TOO_BIG);
  });
}

TEST_CASE("tunnels: answers are bounded") {
  if (cannotRunXdp("tunnels, bounded answers")) return;
  inNewNamespace([] {
    const ForwardBox box({tunnelOf({.kind = FORWARD_GRE, .mtu = 1400})}, 1);
    const Bytes frame = arriving(0x0800, ipv4Udp(1373, {.fragment = 0x4000}));
    std::uint64_t answered = 0;
    for (int i = 0; i < 300; i++) answered += box.run(frame).action == XDP_TX ? 1U : 0U;
    CHECK(answered >= FORWARD_ANSWER_BURST);
    CHECK(answered < 200);
    CHECK(box.count(FORWARD_DROP_ANSWER_LIMIT) == 300 - answered);
  });
}

TEST_CASE("tunnels: the MSS of SYN and SYN-ACK is lowered to what fits, and never raised") {
  if (cannotRunXdp("tunnels, MSS")) return;
  inNewNamespace([] {
    const TunnelFields fields{.kind = FORWARD_IPIP, .mtu = 1300};
    ForwardBox box({tunnelOf(fields)});
    const Bytes nop{1}, nops{1, 1, 1};
    struct Case {
      std::uint8_t flags;
      Bytes options, wanted;
    };
    for (const bool isIpv4 : {true, false}) {
      const std::uint16_t most = isIpv4 ? 1260 : 1240;
      for (const Case& one : std::vector<Case>{
               {kSyn, mss(1460), mss(most)},
               {kSyn | kAck, mss(1460), mss(most)},
               {kSyn, nop + mss(1460) + nops, nop + mss(most) + nops},
               {kSyn, Bytes{4, 2, 1} + mss(9000) + nop, Bytes{4, 2, 1} + mss(most) + nop},
               {kSyn, Bytes(36, 1) + mss(1460), Bytes(36, 1) + mss(most)},
               {kSyn, mss(most), mss(most)},
               {kSyn, mss(536), mss(536)},
               {kAck, mss(1460), mss(1460)},
               {kSyn | kFin, mss(1460), mss(most)},
               // Lengths that lead nowhere, and an end before it.
               {kSyn, Bytes{8, 0, 1, 1} + mss(1460), Bytes{8, 0, 1, 1} + mss(1460)},
               {kSyn, Bytes{8, 60, 1, 1} + mss(1460), Bytes{8, 60, 1, 1} + mss(1460)},
               {kSyn, Bytes{0, 0, 0, 0} + mss(1460), Bytes{0, 0, 0, 0} + mss(1460)},
               {kSyn, Bytes{2, 3, 9, 1}, Bytes{2, 3, 9, 1}},
           }) {
        CAPTURE(isIpv4);
        CAPTURE(one.options.size());
        const Outcome came = box.run(arriving(isIpv4 ? 0x0800 : 0x86dd, tcpPacket(isIpv4, one.flags, one.options)));
        const Bytes inner = sliced(came.frame, 14 + 20);
        CHECK(isTcpWhole(inner));
        CHECK(inner == oneHopOn(tcpPacket(isIpv4, one.flags, one.wanted)));
      }
    }
    const auto clamped = box.forwarder.status().stats.clamped;
    CHECK(clamped == 12);
    // What comes back from behind the tunnel, on its way to anybody.
    const Bytes back = tcpPacket(true, kSyn | kAck, mss(1460), true);
    const Outcome came = box.run(arriving(0x0800, back));
    CHECK(came.frame == leaving(0x0800, oneHopOn(tcpPacket(true, kSyn | kAck, mss(1260), true))));
    CHECK(box.forwarder.status().stats.clamped == clamped + 1);
  });
}

TEST_CASE("tunnels: both ends have addresses of one family") {
  ForwardTunnel tunnel = tunnelOf({});
  tunnel.form.remote = inKernel(kRemote6);
  CHECK_THROWS_WITH_AS((void)completed(tunnel.form),
                       "a tunnel has addresses of two families: local and remote must both be IPv4 or IPv6",
                       FilterError);
}
