// A reader that decodes what a sample keeps of a frame reads what the parser read in the frame.
#include "count/kept_header.h"

#include <doctest/doctest.h>

#include <random>

#include "frame_maker.h"
#include "parse/packet_parser.h"
#include "record_abi.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

Bytes keptOf(const Bytes& frame, Link link = Link::ethernet) {
  Bytes kept(RECORD_FRAME_BYTES);
  kept.resize(keepHeader(frameOf(frame), link, kept));
  return kept;
}

bool isSame(const floodwall::Packet& one, const floodwall::Packet& other) {
  return one.source == other.source && one.destination == other.destination && one.protocol == other.protocol &&
         one.sourcePort == other.sourcePort && one.destinationPort == other.destinationPort &&
         one.tcpFlags == other.tcpFlags && one.isFragment == other.isFragment &&
         one.isLaterFragment == other.isLaterFragment;
}

Bytes extension(std::uint8_t next, std::uint8_t units) {
  Bytes bytes{next, units};
  bytes.resize((units + 1U) * 8, 1);
  return bytes;
}

Bytes longChain(const Bytes& last) {
  const Bytes options = extension(60, 30) + extension(17, 30);
  return ethernet(0x86dd) + ipv6Packet({.nextHeader = 60}, options + last);
}

}  // namespace

TEST_CASE("kept header: has what the parser reads, of random frames") {
  static_assert(kKeptHeaderMin <= RECORD_FRAME_BYTES);
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  FrameMaker maker(seed);
  std::size_t shortened = 0;
  for (int i = 0; i < 15'000; i++) {
    const Bytes frame = maker.make();
    const Bytes kept = keptOf(frame);
    floodwall::Packet wanted, packet;
    const ParseError error = parsePacket(frameOf(frame), Link::ethernet, wanted);
    REQUIRE(parsePacket(frameOf(kept), Link::ethernet, packet) == error);
    if (error != ParseError::none) continue;
    REQUIRE(isSame(packet, wanted));
    const std::size_t most = std::min<std::size_t>(frame.size(), RECORD_FRAME_BYTES);
    if (kept != Bytes(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(most))) shortened++;
  }
  CHECK(shortened > 30);
}

TEST_CASE("kept header: long extension headers are shortened, and all else stays as it came") {
  const Bytes transport = udp(123, 4444, 440), frame = longChain(transport);
  const Bytes kept = keptOf(frame);
  REQUIRE(kept.size() == RECORD_FRAME_BYTES);
  const std::size_t chainAt = 14 + 40;
  CHECK(std::equal(kept.begin(), kept.begin() + chainAt, frame.begin()));
  const Bytes chain(kept.begin() + chainAt, kept.begin() + chainAt + 16);
  CHECK(chain == Bytes{60, 0, 1, 1, 1, 1, 1, 1, 17, 0, 1, 1, 1, 1, 1, 1});
  CHECK(std::equal(kept.begin() + chainAt + 16, kept.end(), transport.begin()));
}

TEST_CASE("kept header: a packet without an Ethernet header gets one, also before a long chain") {
  const Bytes frame = longChain(udp(123, 4444)), raw(frame.begin() + 14, frame.end());
  const Bytes kept = keptOf(raw, Link::rawIp);
  CHECK(Bytes(kept.begin(), kept.begin() + 14) == Bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x86, 0xdd});
  CHECK(Bytes(kept.begin() + 14, kept.end()) == [&] {
    const Bytes whole = keptOf(frame);
    return Bytes(whole.begin() + 14, whole.end());
  }());
}

TEST_CASE("kept header: a frame without long extension headers is kept as it came") {
  for (const Bytes& payload : {udp(1, 2, 440), udp(1, 2)}) {
    const Bytes frame = ethernet(0x86dd) + ipv6Packet({.nextHeader = 60}, extension(17, 0) + payload);
    const Bytes kept = keptOf(frame);
    CHECK(kept.size() == std::min<std::size_t>(frame.size(), RECORD_FRAME_BYTES));
    CHECK(std::equal(kept.begin(), kept.end(), frame.begin()));
  }
}
