#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "inline_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

using Bits = std::array<std::uint8_t, 16>;
using Flow = std::tuple<Bits, Bits, std::uint8_t, std::uint16_t, std::uint16_t>;

/// Random frames: most of them sound, half of those then damaged.
class FrameMaker {
 public:
  explicit FrameMaker(std::uint32_t seed) : random_(seed) {}

  Bytes make() {
    const bool isIpv6 = below(2) == 0;
    Bytes frame = link(isIpv6 ? 0x86dd : 0x0800) + (isIpv6 ? ipv6Frame() : ipv4Frame());
    if (below(2) == 0) damage(frame);
    // The kernel takes no frame without a whole Ethernet header.
    if (frame.size() < 14) frame.resize(14);
    return frame;
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_()) % bound; }
  std::uint8_t byte() { return static_cast<std::uint8_t>(random_()); }
  std::uint16_t port() { return static_cast<std::uint16_t>(1 + below(3)); }

  Bytes link(std::uint32_t type) {
    constexpr std::array<std::uint32_t, 3> kTags{0x8100, 0x88a8, 0x9100};
    switch (below(8)) {
      case 0:
        return ethernet(kTags[below(3)]) + vlanTag(type);
      case 1:
        return ethernet(kTags[below(3)]) + vlanTag(kTags[below(3)]) + vlanTag(type);
      case 2:
        return ethernet(kTags[below(3)]) + vlanTag(0x8100) + vlanTag(0x8100) + vlanTag(type);
      default:
        return ethernet(type);
    }
  }
  std::uint8_t protocol() {
    constexpr std::array<std::uint8_t, 10> kProtocols{6, 6, 17, 17, 1, 58, 47, 132, 136, 33};
    return kProtocols[below(kProtocols.size())];
  }
  /// Mostly what is there; else it may end the packet within a header, or claim more than there is.
  int lengthField() { return below(3) == 0 ? static_cast<int>(below(80)) : -1; }
  Bytes transport(std::uint8_t protocol) {
    if (protocol == 6) return tcp(port(), port(), byte());
    return udp(port(), port(), below(40));
  }
  Bytes ipv4Frame() {
    constexpr std::array<std::uint32_t, 6> kFragments{0, 0, 0x4000, 0x2000, 0x2010, 185};
    const std::uint8_t number = protocol();
    return ipv4Packet({.source = (below(2) == 0 ? kProtected : kForeign) + below(4),
                       .destination = (below(4) != 0 ? kProtected : kForeign) + below(8),
                       .protocol = number,
                       .fragment = kFragments[below(kFragments.size())],
                       .options = below(3) == 0 ? below(11) : 0,
                       .totalLength = lengthField()},
                      transport(number));
  }
  Bytes ipv6Frame() {
    constexpr std::array<std::uint8_t, 8> kExtensions{0, 43, 60, 135, 139, 140, 51, 44};
    const std::uint8_t number = protocol();
    Bytes payload = transport(number);
    std::uint8_t next = number;
    for (std::uint32_t left = below(3) == 0 ? below(11) : 0; left > 0; left--) {
      const std::uint8_t kind = kExtensions[below(kExtensions.size())];
      const auto units = static_cast<std::uint8_t>(kind == 44 ? 0 : below(3));
      Bytes extension{next, units};
      extension.resize(kind == 51 ? (units + 2U) * 4 : (units + 1U) * 8);
      // Most fragment headers are of a first fragment.
      if (kind == 44 && below(3) == 0) extension[2] = byte();
      payload = extension + payload;
      next = kind;
    }
    return ipv6Packet({.source = ipv6(static_cast<std::uint16_t>(below(2)), below(4)),
                       .destination = ipv6(static_cast<std::uint16_t>(below(4) != 0 ? 1 : 2), below(8)),
                       .nextHeader = next,
                       .payloadLength = lengthField()},
                      payload);
  }
  void damage(Bytes& frame) {
    switch (below(4)) {
      case 0:
        frame.resize(below(static_cast<std::uint32_t>(frame.size() + 1)));
        break;
      case 1:
        frame.resize(frame.size() + below(64));
        break;
      default:
        for (std::uint32_t times = 1 + below(4); times > 0; times--) {
          // Mostly in the headers, where it tells.
          frame[below(static_cast<std::uint32_t>(std::min<std::size_t>(frame.size(), 80)))] = byte();
        }
    }
  }

  std::mt19937 random_;
};

/// What the kernel should have counted, by the rules of the parser in user space.
class Model {
 public:
  enum Outcome { kCounted, kForeign, kFirstError };

  int count(const Bytes& frame) {
    Packet packet;
    const ParseError error = parsePacket(frameOf(frame), Link::ethernet, packet);
    if (error != ParseError::none) return kFirstError + static_cast<int>(error);
    const bool isIncoming = table_.match(packet.destination) != PrefixTable::kNone;
    const bool isOutgoing = table_.match(packet.source) != PrefixTable::kNone;
    if (!isIncoming && !isOutgoing) return kForeign;
    const Flow flow{packet.source.bytes, packet.destination.bytes, packet.protocol, packet.sourcePort,
                    packet.destinationPort};
    const bool isNew = !packet.isLaterFragment && flows_.insert(flow).second;
    if (isIncoming) add(hosts[0][packet.destination.bytes], packet, isNew);
    if (isOutgoing) add(hosts[1][packet.source.bytes], packet, isNew);
    return kCounted;
  }

  std::array<std::map<Bits, Counters>, 2> hosts;

 private:
  static void add(Counters& totals, const Packet& packet, bool isNew) {
    const auto addTo = [&](Class counted) {
      totals.packets[static_cast<std::size_t>(counted)]++;
      totals.bytes[static_cast<std::size_t>(counted)] += packet.wire;
    };
    addTo(packet.transport);
    if (packet.isSyn) addTo(Class::tcpSyn);
    if (packet.isFragment) addTo(Class::fragment);
    totals.newFlows += isNew ? 1 : 0;
  }

  PrefixTable table_{protectedNetworks()};
  std::set<Flow> flows_;
};

std::string text(const Counters& totals) {
  std::string text = std::to_string(totals.newFlows) + " flows";
  for (std::size_t i = 0; i < kClasses; i++) {
    text += ", " + std::to_string(totals.packets[i]) + "/" + std::to_string(totals.bytes[i]);
  }
  return text;
}

std::uint64_t countOf(const inline_stats& stats, int outcome) {
  if (outcome == Model::kCounted) return stats.counted_packets;
  if (outcome == Model::kForeign) return stats.foreign_packets;
  return stats.errors[outcome - Model::kFirstError];
}

}  // namespace

TEST_CASE("xdp inline: judges random frames, sound and damaged, as the parser in user space does") {
  if (cannotRunXdp("xdp inline: judges random frames as the parser in user space does")) return;
  constexpr int kFrames = 20'000;
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  FrameMaker maker(seed);
  InlineBox box({.maxHosts = 1U << 16, .countOutgoing = true});
  Model model;
  std::set<int> seen;
  inline_stats before = box.program.stats();
  for (int i = 0; i < kFrames; i++) {
    const Bytes frame = maker.make();
    CAPTURE(i);
    CAPTURE(frame);
    REQUIRE(box.run(frame) == XDP_PASS);
    const int outcome = model.count(frame);
    seen.insert(outcome);
    const inline_stats after = box.program.stats();
    REQUIRE(after.received_packets == before.received_packets + 1);
    REQUIRE(after.received_bytes == before.received_bytes + frame.size());
    REQUIRE(countOf(after, outcome) == countOf(before, outcome) + 1);
    before = after;
  }
  // Every outcome came up.
  CHECK(seen.size() == 2 + INLINE_ERRORS);
  std::uint64_t missed = 0;
  for (const Direction direction : {Direction::incoming, Direction::outgoing}) {
    for (const auto& [bits, expected] : model.hosts[static_cast<std::size_t>(direction)]) {
      Counters counted = box.host(Address{bits}, direction);
      REQUIRE(counted.newFlows <= expected.newFlows);
      missed += expected.newFlows - counted.newFlows;
      counted.newFlows = expected.newFlows;
      CHECK(text(counted) == text(expected));
    }
  }
  // Two flows of so many have one set and one signature once in a few hundred runs; then both hosts miss one.
  CHECK(missed <= 2);
}
