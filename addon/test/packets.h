// Builds frames for tests. A builder shows what matters and fills in the rest.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "count/counters.h"
#include "parse/frame.h"
#include "parse/packet_parser.h"

namespace floodwall::test {

using Bytes = std::vector<std::uint8_t>;

inline void put16(Bytes& bytes, std::uint32_t value) {
  bytes.push_back(static_cast<std::uint8_t>(value >> 8));
  bytes.push_back(static_cast<std::uint8_t>(value));
}
inline void append(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
inline Bytes operator+(Bytes a, const Bytes& b) {
  append(a, b);
  return a;
}

inline Address ipv4(std::uint32_t host) {
  return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, static_cast<std::uint8_t>(host >> 24),
           static_cast<std::uint8_t>(host >> 16), static_cast<std::uint8_t>(host >> 8),
           static_cast<std::uint8_t>(host)}};
}
/// 2001:db8:<network>::<host>
inline Address ipv6(std::uint16_t network, std::uint64_t host) {
  Address address{
      {0x20, 0x01, 0x0d, 0xb8, static_cast<std::uint8_t>(network >> 8), static_cast<std::uint8_t>(network)}};
  for (unsigned i = 0; i < 8; i++) address.bytes[15 - i] = static_cast<std::uint8_t>(host >> (8 * i));
  return address;
}
inline constexpr std::uint32_t kProtected = 0x0a010000;  // 10.1.0.0
inline constexpr std::uint32_t kForeign = 0xc0000200;    // 192.0.2.0

inline Bytes ethernet(std::uint32_t type) {
  Bytes bytes(12, 0x02);
  put16(bytes, type);
  return bytes;
}
/// A tag as it follows the type field: priority and VLAN, then the next type.
inline Bytes vlanTag(std::uint32_t nextType) {
  Bytes bytes;
  put16(bytes, 100);
  put16(bytes, nextType);
  return bytes;
}

struct Ipv4Fields {
  std::uint32_t source = kForeign + 1;
  std::uint32_t destination = kProtected + 1;
  std::uint8_t protocol = 17;
  std::uint32_t fragment = 0;
  /// Words of options.
  unsigned options = 0;
  /// -1: what fits the payload.
  int totalLength = -1;
};
inline Bytes ipv4Packet(const Ipv4Fields& fields, const Bytes& payload) {
  const unsigned headerLength = 20 + 4 * fields.options;
  Bytes bytes{static_cast<std::uint8_t>(0x40 | headerLength / 4), 0};
  put16(bytes, fields.totalLength >= 0 ? static_cast<std::uint32_t>(fields.totalLength)
                                       : headerLength + static_cast<std::uint32_t>(payload.size()));
  put16(bytes, 1);
  put16(bytes, fields.fragment);
  append(bytes, {64, fields.protocol, 0, 0});
  put16(bytes, fields.source >> 16);
  put16(bytes, fields.source & 0xffff);
  put16(bytes, fields.destination >> 16);
  put16(bytes, fields.destination & 0xffff);
  bytes.resize(headerLength, 1);
  append(bytes, payload);
  return bytes;
}

struct Ipv6Fields {
  Address source = ipv6(9, 1);
  Address destination = ipv6(1, 1);
  std::uint8_t nextHeader = 17;
  int payloadLength = -1;
};
inline Bytes ipv6Packet(const Ipv6Fields& fields, const Bytes& payload) {
  Bytes bytes{0x60, 0, 0, 0};
  put16(bytes, fields.payloadLength >= 0 ? static_cast<std::uint32_t>(fields.payloadLength)
                                         : static_cast<std::uint32_t>(payload.size()));
  append(bytes, {fields.nextHeader, 64});
  bytes.insert(bytes.end(), fields.source.bytes.begin(), fields.source.bytes.end());
  bytes.insert(bytes.end(), fields.destination.bytes.begin(), fields.destination.bytes.end());
  append(bytes, payload);
  return bytes;
}

inline Bytes udp(std::uint16_t source, std::uint16_t destination, std::size_t payload = 0) {
  Bytes bytes;
  put16(bytes, source);
  put16(bytes, destination);
  put16(bytes, 8 + static_cast<std::uint32_t>(payload));
  put16(bytes, 0);
  bytes.resize(8 + payload, 0xaa);
  return bytes;
}
inline Bytes tcp(std::uint16_t source, std::uint16_t destination, std::uint8_t flags) {
  Bytes bytes;
  put16(bytes, source);
  put16(bytes, destination);
  bytes.resize(12, 0);
  append(bytes, {0x50, flags, 0, 0, 0, 0, 0, 0});
  return bytes;
}

inline Frame frameOf(const Bytes& bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  return {bytes.data(), length, length};
}

/// A UDP frame over Ethernet and IPv4.
inline Bytes udpFrame(std::uint32_t source, std::uint32_t destination, std::uint16_t port = 1234) {
  return ethernet(0x0800) + ipv4Packet({.source = source, .destination = destination}, udp(port, 53));
}

}  // namespace floodwall::test
