// Builds the headers of tunnels and labels, each with what is inside.
#pragma once

#include "packets.h"

namespace floodwall::test {

/// `flags`: C 0x8000, K 0x2000, S 0x1000, each with its word.
inline Bytes gre(std::uint32_t type, const Bytes& inner, std::uint32_t flags = 0) {
  Bytes bytes;
  put16(bytes, flags);
  put16(bytes, type);
  for (const std::uint32_t flag : {0x8000U, 0x2000U, 0x1000U}) {
    if ((flags & flag) != 0) append(bytes, {0, 0, 0, 7});
  }
  return bytes + inner;
}
/// Type II, with a sequence number in GRE.
inline Bytes erspan(const Bytes& frame) { return gre(0x88be, Bytes{0x10, 1, 0, 2, 0, 0, 0, 3} + frame, 0x1000); }
/// `frameType`: 0 is Ethernet, 2 is IP.
inline Bytes erspan3(const Bytes& frame, unsigned frameType = 0, bool hasSubheader = false) {
  Bytes header{0x20, 1, 0, 2, 1, 2, 3, 4, 0, 0, static_cast<std::uint8_t>(frameType << 2), hasSubheader};
  if (hasSubheader) header.resize(20);
  return gre(0x22eb, header + frame, 0x1000);
}
inline Bytes udpAround(std::uint16_t port, const Bytes& payload) {
  Bytes bytes;
  put16(bytes, 50'000);
  put16(bytes, port);
  put16(bytes, 8 + static_cast<std::uint32_t>(payload.size()));
  put16(bytes, 0);
  return bytes + payload;
}
inline Bytes vxlan(const Bytes& frame) { return udpAround(4789, Bytes{0x08, 0, 0, 0, 0, 0, 7, 0} + frame); }
/// `words` of options.
inline Bytes geneve(std::uint32_t type, const Bytes& inner, unsigned words = 0) {
  Bytes bytes{static_cast<std::uint8_t>(words), 0};
  put16(bytes, type);
  bytes.resize(8 + 4 * words);
  return udpAround(6081, bytes + inner);
}
inline Bytes gtpU(const Bytes& packet) { return udpAround(2152, Bytes{0x30, 0xff, 0, 0, 0, 0, 0, 1} + packet); }
/// With a sequence number and an extension header.
inline Bytes gtpUExtended(const Bytes& packet) {
  return udpAround(2152, Bytes{0x36, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0x85, 1, 0, 9, 0} + packet);
}
inline Bytes labels(unsigned count, const Bytes& inner) {
  Bytes bytes;
  for (unsigned i = 1; i <= count; i++) append(bytes, {0, 1, static_cast<std::uint8_t>(i == count), 64});
  return bytes + inner;
}
/// The protocol in one byte.
inline Bytes pppoeCompressed(std::uint8_t protocol, const Bytes& packet) {
  Bytes bytes{0x11, 0, 0, 1};
  put16(bytes, 1 + static_cast<std::uint32_t>(packet.size()));
  bytes.push_back(protocol);
  return bytes + packet;
}
inline Bytes pppoe(std::uint32_t protocol, const Bytes& packet) {
  Bytes bytes{0x11, 0, 0, 1};
  put16(bytes, 2 + static_cast<std::uint32_t>(packet.size()));
  put16(bytes, protocol);
  return bytes + packet;
}

}  // namespace floodwall::test
