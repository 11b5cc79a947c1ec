// Feeds anything to the parser, as both kinds of link and with any set of kinds to take apart, and asserts what holds
// for every frame.
#include <cstdlib>
#include <vector>

#include "parse/packet_parser.h"

namespace {

using namespace floodwall;

void check(bool holds) {
  if (!holds) std::abort();
}

void checkPacket(const Packet& packet, Link link, std::size_t size) {
  // A counted packet has an IP header, one class among the four, and ports only where it can have them.
  check(size >= packet.innerAt + (link == Link::ethernet && packet.innerAt == 0 ? 34U : 20U));
  check(packet.wire <= size + 7 + 14 && packet.wire >= 20);
  check(packet.transport <= Class::other);
  check(!packet.isSyn || packet.transport == Class::tcp);
  check(!packet.isLaterFragment || (packet.isFragment && packet.sourcePort == 0 && packet.destinationPort == 0));
}

void parseAs(Link link, const std::uint8_t* data, std::size_t size, Encapsulations kinds) {
  const auto captured = static_cast<std::uint32_t>(size);
  const Frame frame{data, captured, captured + 7};
  Packet packet;
  const ParseError outermost = parsePacket(frame, link, packet);
  check(static_cast<std::size_t>(outermost) <= kParseErrors);
  if (outermost == ParseError::none) {
    checkPacket(packet, link, size);
    check(packet.wire == captured + 7 && packet.innerAt == 0);
  }
  Decapsulation wanted{.kinds = kinds};
  ParseError error = parsePacket(frame, link, packet, wanted);
  // Nothing inside takes from what counts without a look inside.
  check(outermost != ParseError::none || error == ParseError::none);
  check(outermost == error || outermost == ParseError::notIp);
  if (error != ParseError::none) return;
  checkPacket(packet, link, size);
  // Outwards there are fewer tunnels than the bound, each around the one before.
  for (int tunnels = 0; packet.innerAt != 0 && packet.innerAt != wanted.before; tunnels++) {
    check(tunnels <= TUNNELS_MAX && (tunnels == 0 || packet.innerAt < wanted.before));
    wanted.before = packet.innerAt;
    check(parsePacket(frame, link, packet, wanted) == ParseError::none);
    checkPacket(packet, link, size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The last bytes say what is taken apart, so that frames of a corpus stay what they are.
  if (size < 2) return 0;
  const Encapsulations kinds(static_cast<std::uint16_t>(data[size - 1] << 8 | data[size - 2]));
  // In memory of their own, so that the address sanitizer sees reads beyond them.
  const std::vector<std::uint8_t> frame(data, data + size - 2);
  parseAs(Link::ethernet, frame.data(), frame.size(), kinds);
  parseAs(Link::rawIp, frame.data(), frame.size(), kinds);
  return 0;
}
