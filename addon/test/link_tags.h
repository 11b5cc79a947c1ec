// Tags of switches, mirrors and taps, for tests.
#pragma once

#include <vector>

#include "packets.h"

namespace floodwall::test {

inline Bytes number16(std::uint32_t value) {
  Bytes bytes;
  put16(bytes, value);
  return bytes;
}

struct LinkTag {
  const char* name;
  std::uint32_t type;
  /// Between the two types.
  Bytes tag;

  [[nodiscard]] Bytes behind(std::uint32_t next, const Bytes& packet) const {
    return ethernet(type) + tag + number16(next) + packet;
  }
};

inline std::vector<LinkTag> linkTags() {
  const Bytes time{0, 0, 0, 0, 0x5f, 0x5e, 0x10, 0};
  return {
      {"VLAN", 0x8100, {0, 100}},
      {"VN-tag", 0x8926, {0x80, 1, 0, 2}},
      {"E-tag", 0x893f, {0, 1, 0x10, 2, 0, 0}},
      {"Cisco metadata", 0x8909, {1, 1, 0, 1, 0, 16}},
      {"Cisco metadata with more options", 0x8909, {1, 2, 0, 1, 0, 16, 0, 2, 0, 0}},
      {"Arista, TAI in 64 bits", 0xd28b, Bytes{0, 1, 0, 0x10} + time},
      {"Arista, UTC in 64 bits", 0xd28b, Bytes{0, 1, 1, 0x10} + time},
      {"Arista, TAI in 48 bits", 0xd28b, {0, 1, 0, 0x20, 0, 1, 0, 0, 0, 2}},
      {"Arista, UTC in 48 bits", 0xd28b, {0, 1, 1, 0x20, 0, 1, 0, 0, 0, 2}},
      {"SNAP", 100, {0xaa, 0xaa, 3, 0, 0, 0}},
  };
}

}  // namespace floodwall::test
