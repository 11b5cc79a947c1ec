// Random frames around the protected networks, to compare two judges of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "packets.h"

namespace floodwall::test {

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

}  // namespace floodwall::test
