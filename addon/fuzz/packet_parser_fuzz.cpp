// Feeds anything to the parser, as both kinds of link, and asserts what holds for every frame. libFuzzer puts the bytes
// in memory of their exact size, so that the address sanitizer sees each read beyond them.
#include <cstdlib>

#include "parse/packet_parser.h"

namespace {

using namespace floodwall;

void check(bool holds) {
  if (!holds) std::abort();
}

void parseAs(Link link, const std::uint8_t* data, std::size_t size) {
  const auto captured = static_cast<std::uint32_t>(size);
  Packet packet;
  const ParseError error = parsePacket({data, captured, captured + 7}, link, packet);
  check(static_cast<std::size_t>(error) <= kParseErrors);
  if (error != ParseError::none) return;
  // A counted packet has an IP header, one class among the four, and ports only where it can have them.
  check(size >= (link == Link::ethernet ? 34U : 20U));
  check(packet.wire == captured + 7);
  check(packet.transport <= Class::other);
  check(!packet.isSyn || packet.transport == Class::tcp);
  check(!packet.isLaterFragment || (packet.isFragment && packet.sourcePort == 0 && packet.destinationPort == 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  parseAs(Link::ethernet, data, size);
  parseAs(Link::rawIp, data, size);
  return 0;
}
