#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "frame_maker.h"
#include "inline_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

using Bits = std::array<std::uint8_t, 16>;
using Flow = std::tuple<Bits, Bits, std::uint8_t, std::uint16_t, std::uint16_t>;

/// What the kernel should have counted, by the rules of the parser in user space.
class Model {
 public:
  enum Outcome { kCounted, kForeign, kFirstError };

  explicit Model(Encapsulations kinds = {}) : kinds_(kinds) {}

  int count(const Bytes& frame) {
    Packet packet;
    const ParseError error = parse(frame, packet);
    if (error != ParseError::none) return kFirstError + static_cast<int>(error);
    const bool isIncoming = table_.match(packet.destination) != PrefixTable::kNone;
    const bool isOutgoing = !isIncoming && table_.match(packet.source) != PrefixTable::kNone;
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
  /// As Shard::chooseLayer().
  ParseError parse(const Bytes& frame, Packet& packet) const {
    Decapsulation wanted{.kinds = kinds_};
    for (;;) {
      const ParseError error = parsePacket(frameOf(frame), Link::ethernet, packet, wanted);
      if (error != ParseError::none || packet.innerAt == 0 || packet.innerAt == wanted.before) return error;
      if (isOurs(packet.destination) || isOurs(packet.source)) return error;
      wanted.before = packet.innerAt;
    }
  }
  [[nodiscard]] bool isOurs(const Address& address) const { return table_.match(address) != PrefixTable::kNone; }

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

  Encapsulations kinds_;
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

namespace {

void agreeOn(int frames, FrameMaker maker, Encapsulations kinds) {
  InlineBox box({.maxHosts = 1U << 16, .countOutgoing = true, .decapsulated = kinds});
  Model model(kinds);
  std::set<int> seen;
  inline_stats before = box.program.stats();
  for (int i = 0; i < frames; i++) {
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
  // Every outcome came up, where there are frames enough.
  if (frames >= 20'000) CHECK(seen.size() == 2 + INLINE_ERRORS);
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
  // Two flows of this number have one set and one signature once in a few hundred runs; then both hosts miss one.
  CHECK(missed <= 2);
}

}  // namespace

TEST_CASE("xdp inline: judges random frames, sound and damaged, as the parser in user space does") {
  if (cannotRunXdp("xdp inline: judges random frames as the parser in user space does")) return;
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  agreeOn(20'000, FrameMaker(seed), {});
}

TEST_CASE("xdp inline: takes random tunnels apart as the parser in user space does") {
  if (cannotRunXdp("xdp inline: takes random tunnels apart as the parser in user space does")) return;
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  agreeOn(20'000, FrameMaker(seed, true), Encapsulations::all());
  // Any set of kinds.
  agreeOn(5'000, FrameMaker(seed + 1, true), Encapsulations(static_cast<std::uint16_t>(seed)));
}
