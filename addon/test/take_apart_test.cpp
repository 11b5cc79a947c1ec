// Packets in tunnels, labels and PPPoE: which one is counted, and with what length.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "engine_fixture.h"
#include "parse/packet_parser.h"
#include "tunnels.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

struct Parsed {
  ParseError error;
  Packet packet;
};

/// A copy that ends where the frame ends, for the address sanitizer.
Parsed parse(const Bytes& bytes, const Decapsulation& wanted, Link link = Link::ethernet) {
  const auto exact = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  const auto length = static_cast<std::uint32_t>(bytes.size());
  Parsed parsed{};
  parsed.error = parsePacket({exact.get(), length, length}, link, parsed.packet, wanted);
  return parsed;
}

const Address kOuter = ipv4(kForeign + 9), kInner = ipv4(kProtected + 1);
/// Ends of the tunnels.
Bytes outer(std::uint8_t protocol, const Bytes& payload) {
  return ethernet(0x0800) + ipv4Packet({.destination = kForeign + 9, .protocol = protocol}, payload);
}
const Bytes kPacket = ipv4Packet({}, udp(4000, 53, 10));
const Bytes kPacket6 = ipv6Packet({}, udp(4000, 53, 10));
const Bytes kFrame = ethernet(0x0800) + kPacket;
const Bytes kFrame6 = ethernet(0x86dd) + kPacket6;

struct Case {
  const char* name;
  Encapsulation kind;
  Bytes frame;
  /// Bytes that the inner packet counts.
  std::size_t wire;
};

std::vector<Case> tunnels() {
  using enum Encapsulation;
  const std::size_t bytes = kFrame.size();
  return {
      {"GRE", gre, outer(47, test::gre(0x0800, kPacket)), bytes},
      {"GRE with check sum, key and number", gre, outer(47, test::gre(0x0800, kPacket, 0xb000)), bytes},
      {"GRE with Ethernet", gre, outer(47, test::gre(0x6558, kFrame, 0x2000)), bytes},
      {"ERSPAN type I", erspan, outer(47, test::gre(0x88be, kFrame)), bytes},
      {"ERSPAN type II", erspan, outer(47, test::erspan(kFrame)), bytes},
      {"ERSPAN type II of a tagged frame", erspan,
       outer(47, test::erspan(ethernet(0x8100) + vlanTag(0x0800) + kPacket)), bytes + 4},
      {"ERSPAN type III", erspan, outer(47, erspan3(kFrame)), bytes},
      {"ERSPAN type III with a subheader", erspan, outer(47, erspan3(kFrame, 0, true)), bytes},
      {"ERSPAN type III of an IP packet", erspan, outer(47, erspan3(kPacket, 2)), bytes},
      {"IPIP", ipip, outer(4, kPacket), bytes},
      {"VXLAN", vxlan, outer(17, test::vxlan(kFrame)), bytes},
      {"Geneve", geneve, outer(17, test::geneve(0x6558, kFrame)), bytes},
      {"Geneve with options, of an IP packet", geneve, outer(17, test::geneve(0x0800, kPacket, 3)), bytes},
      {"GTP-U", gtpU, outer(17, test::gtpU(kPacket)), bytes},
      {"GTP-U with an extension header", gtpU, outer(17, gtpUExtended(kPacket)), bytes},
      {"MPLS in IP", mpls, outer(137, labels(2, kPacket)), bytes + 8},
  };
}

}  // namespace

TEST_CASE("tunnels: the packet inside counts where that is configured, with its own frame's length") {
  for (const Case& tunnel : tunnels()) {
    CAPTURE(tunnel.name);
    const Parsed taken = parse(tunnel.frame, {.kinds = {tunnel.kind}});
    CHECK(taken.error == ParseError::none);
    CHECK(taken.packet.destination == kInner);
    CHECK(taken.packet.destinationPort == 53);
    CHECK(taken.packet.inside == Encapsulation::none);
    CHECK(taken.packet.wire == tunnel.wire);
    CHECK(std::equal(kPacket.begin(), kPacket.end(), tunnel.frame.begin() + taken.packet.innerAt));
    // All other kinds leave it, and say what it is.
    Encapsulations others;
    for (std::size_t i = 0; i < kEncapsulations; i++) {
      if (static_cast<Encapsulation>(i) != tunnel.kind) others.add(static_cast<Encapsulation>(i));
    }
    const Parsed left = parse(tunnel.frame, {.kinds = others});
    CHECK(left.packet.destination == kOuter);
    CHECK(left.packet.inside == tunnel.kind);
    CHECK(left.packet.innerAt == 0);
    CHECK(left.packet.wire == tunnel.frame.size());
  }
}

TEST_CASE("tunnels: nothing is taken apart unasked") {
  for (const Case& tunnel : tunnels()) {
    CAPTURE(tunnel.name);
    const Parsed left = parse(tunnel.frame, {});
    CHECK(left.packet.destination == kOuter);
    CHECK(left.packet.inside == tunnel.kind);
  }
}

TEST_CASE("tunnels: IPv6 in IPv4 and in IPv6, IPv4 in IPv6") {
  const Parsed sixInFour = parse(outer(41, kPacket6), {.kinds = {Encapsulation::sixInFour}});
  CHECK(sixInFour.packet.destination == ipv6(1, 1));
  CHECK(sixInFour.packet.wire == kFrame6.size());
  const Bytes inSix = ethernet(0x86dd) + ipv6Packet({.destination = ipv6(9, 9), .nextHeader = 41}, kPacket6);
  CHECK(parse(inSix, {.kinds = {Encapsulation::sixInFour}}).packet.destination == ipv6(1, 1));
  CHECK(parse(inSix, {.kinds = {Encapsulation::ipip}}).packet.destination == ipv6(9, 9));
  const Bytes four = ethernet(0x86dd) + ipv6Packet({.destination = ipv6(9, 9), .nextHeader = 4}, kPacket);
  CHECK(parse(four, {.kinds = {Encapsulation::ipip}}).packet.destination == kInner);
}

TEST_CASE("labels and PPPoE: IP behind them counts with the whole frame, and is no IP unasked") {
  constexpr auto mpls = Encapsulation::mpls, sessions = Encapsulation::pppoe;
  const Bytes stack = ethernet(0x8847) + labels(3, kPacket);
  const Parsed taken = parse(stack, {.kinds = {mpls}});
  CHECK(taken.packet.destination == kInner);
  CHECK(taken.packet.wire == stack.size());
  CHECK(taken.packet.innerAt == 14 + 12);
  CHECK(parse(stack, {}).error == ParseError::notIp);
  CHECK(parse(stack, {}).packet.inside == mpls);
  CHECK(parse(ethernet(0x8100) + vlanTag(0x8847) + labels(1, kPacket6), {.kinds = {mpls}}).packet.destination ==
        ipv6(1, 1));
  // A pseudowire with a control word carries Ethernet.
  CHECK(parse(ethernet(0x8847) + labels(2, Bytes(4) + kFrame), {.kinds = {mpls}}).packet.destination == kInner);
  CHECK(parse(ethernet(0x8847) + labels(MPLS_LABELS_MAX, kPacket), {.kinds = {mpls}}).error == ParseError::none);
  CHECK(parse(ethernet(0x8847) + labels(MPLS_LABELS_MAX + 1, kPacket), {.kinds = {mpls}}).error == ParseError::notIp);
  const Bytes session = ethernet(0x8864) + pppoe(0x0021, kPacket);
  CHECK(parse(session, {.kinds = {sessions}}).packet.destination == kInner);
  CHECK(parse(ethernet(0x8864) + pppoe(0x0057, kPacket6), {.kinds = {sessions}}).packet.destination == ipv6(1, 1));
  CHECK(parse(session, {}).packet.inside == sessions);
  // The protocol in one byte.
  CHECK(parse(ethernet(0x8864) + pppoeCompressed(0x21, kPacket), {.kinds = {sessions}}).packet.destination == kInner);
  const Bytes compressed6 = ethernet(0x8864) + pppoeCompressed(0x57, kPacket6);
  CHECK(parse(compressed6, {.kinds = {sessions}}).packet.destination == ipv6(1, 1));
  CHECK(parse(compressed6, {.kinds = {sessions}}).packet.innerAt == 14 + 7);
  CHECK(parse(ethernet(0x8864) + pppoeCompressed(0x2d, kPacket), {.kinds = {sessions}}).error == ParseError::notIp);
  // LCP is not IP.
  CHECK(parse(ethernet(0x8864) + pppoe(0xc021, kPacket), {.kinds = {sessions}}).error == ParseError::notIp);
}

TEST_CASE("VXLAN goes to the ports that are named, and to the usual one where none are") {
  constexpr auto vxlan = Encapsulation::vxlan;
  const auto sentTo = [](std::uint16_t port) {
    return outer(17, udpAround(port, Bytes{0x08, 0, 0, 0, 0, 0, 7, 0} + kFrame));
  };
  constexpr std::uint16_t kPorts[] = {8472, 250};
  const Decapsulation others{.kinds = {vxlan}, .vxlanPorts = VxlanPorts(kPorts)};
  CHECK(parse(sentTo(8472), others).packet.destination == kInner);
  CHECK(parse(sentTo(250), others).packet.destination == kInner);
  CHECK(parse(sentTo(4789), others).packet.destination == kOuter);
  CHECK(parse(sentTo(4789), others).packet.inside == Encapsulation::none);
  CHECK(parse(sentTo(0), others).packet.destination == kOuter);
  CHECK(parse(sentTo(8472), {.kinds = {vxlan}}).packet.destination == kOuter);
  CHECK(parse(sentTo(8472), {.kinds = {}, .vxlanPorts = VxlanPorts(kPorts)}).packet.inside == vxlan);
  // A later fragment has no port, and TCP no VXLAN.
  const Bytes fragment = ipv4Packet({.destination = kForeign + 9, .fragment = 0x2001}, udp(1, 8472));
  CHECK(parse(ethernet(0x0800) + fragment, others).packet.destination == kOuter);
  CHECK(parse(outer(6, tcp(1, 8472, 0)), others).packet.inside == Encapsulation::none);
}

TEST_CASE("tunnels in tunnels: the innermost within the bound, then the packet around it and so on") {
  const auto nested = [](int depth) {
    Bytes packet = kPacket;
    for (int i = 1; i <= depth; i++) {
      packet = ipv4Packet({.destination = kForeign + static_cast<std::uint32_t>(i), .protocol = 4}, packet);
    }
    return ethernet(0x0800) + packet;
  };
  Decapsulation wanted{.kinds = {Encapsulation::ipip}};
  CHECK(parse(nested(TUNNELS_MAX), wanted).packet.destination == kInner);
  CHECK(parse(nested(TUNNELS_MAX + 1), wanted).packet.destination == ipv4(kForeign + 1));
  for (std::uint32_t around = 1; around <= TUNNELS_MAX; around++) {
    wanted.before = parse(nested(TUNNELS_MAX), wanted).packet.innerAt;
    CHECK(parse(nested(TUNNELS_MAX), wanted).packet.destination == ipv4(kForeign + around));
  }
  CHECK(parse(nested(TUNNELS_MAX), wanted).packet.innerAt == 0);
}

TEST_CASE("tunnels: what cannot be read inside leaves the packet around it") {
  const Decapsulation all{.kinds = Encapsulations::all()};
  const Bytes damaged[] = {
      outer(47, gre(0x0800, Bytes(20))),                                     // no IPv4 header
      outer(47, gre(0x0800, Bytes(kPacket.begin(), kPacket.begin() + 19))),  // a cut one
      outer(47, gre(0x0800, kPacket, 0x4000)),                               // routing
      outer(47, gre(0x0800, kPacket, 0x0001)),                               // PPTP
      outer(47, {0x00}),
      outer(17, vxlan(ethernet(0x0806) + Bytes(28))),  // ARP
      outer(17, udpAround(4789, Bytes(8) + kFrame)),   // without bit I
      outer(17, udpAround(6081, Bytes{0x40, 0, 0x65, 0x58, 0, 0, 0, 0} + kFrame)),
      outer(17, udpAround(6081, Bytes{0x3f, 0, 0x65, 0x58, 0, 0, 0, 0} + kFrame)),
      outer(17, udpAround(2152, Bytes{0x30, 0x01, 0, 0, 0, 0, 0, 1} + kPacket)),  // an echo request
      outer(17, udpAround(2152, Bytes{0x34, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 0} + kPacket)),
      outer(47, erspan3(kFrame, 1)),
      ethernet(0x0800) + ipv4Packet({.destination = kForeign + 9, .protocol = 4, .fragment = 0x2001}, kPacket),
  };
  for (const Bytes& frame : damaged) {
    CAPTURE(frame);
    const Parsed parsed = parse(frame, all);
    CHECK(parsed.error == ParseError::none);
    CHECK(parsed.packet.destination == kOuter);
    CHECK(parsed.packet.wire == frame.size());
  }
}

TEST_CASE("tunnels: every cut of a frame counts to a packet that it still shows") {
  const Decapsulation all{.kinds = Encapsulations::all()};
  for (const Case& tunnel : tunnels()) {
    CAPTURE(tunnel.name);
    for (std::size_t length = 34; length <= tunnel.frame.size(); length++) {
      const Parsed parsed = parse(Bytes(tunnel.frame.begin(), tunnel.frame.begin() + static_cast<long>(length)), all);
      CHECK(parsed.error == ParseError::none);
      CHECK((parsed.packet.destination == kOuter || parsed.packet.destination == kInner));
    }
  }
}

TEST_CASE("a shard counts the innermost packet in the networks, and samples that one") {
  Engine engine({.maxHosts = 16, .countOutgoing = false});
  setNetworks(engine, {{ipv4(kProtected), 112}});
  const auto shard = engine.addShard();
  shard->setDecapsulation({Encapsulation::ipip, Encapsulation::mpls});
  const Bytes foreign = ipv4Packet({.destination = kForeign + 1}, udp(1, 2));
  const std::vector<Bytes> frames{
      outer(4, kPacket),
      // A foreign packet hides nothing of what goes to the host around it, at any depth.
      ethernet(0x0800) + ipv4Packet({.destination = kProtected + 2, .protocol = 4}, foreign),
      outer(4, ipv4Packet({.destination = kProtected + 2, .protocol = 4}, foreign)),
      ethernet(0x8847) + labels(1, ipv4Packet({.destination = kProtected + 2}, udp(1, 2))),
      outer(4, foreign),
      outer(47, gre(0x0800, kPacket)),
  };
  shard->leaveIdle();
  for (const Bytes& frame : frames) {
    const Frame one = frameOf(frame);
    shard->countFrames({&one, 1}, Link::ethernet);
  }
  shard->enterIdle();
  engine.fold(1'000'000'000);
  const ShardStats stats = shard->stats();
  CHECK(stats.receivedPackets == frames.size());
  CHECK(stats.countedPackets == 4);
  CHECK(stats.foreignPackets == 2);
  CHECK(stats.encapsulated[static_cast<std::size_t>(Encapsulation::gre)] == 1);
  std::vector<std::uint8_t> records(8 * sizeof(sample_record));
  CHECK(engine.readSamples(kInner, records, 128) == 1);
  CHECK(engine.readSamples(ipv4(kProtected + 2), records, 128) == 3);
  const auto& sample = reinterpret_cast<const sample_record&>(*records.data());
  CHECK(sample.wire_bytes <= kFrame.size() + 20);
}
