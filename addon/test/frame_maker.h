// Random frames around the protected networks, to compare two judges of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "encapsulation_abi.h"
#include "tunnels.h"

namespace floodwall::test {

/// Random frames: most of them sound, half of those then damaged.
class FrameMaker {
 public:
  /// `nests`: most packets are in tunnels, labels or PPPoE.
  explicit FrameMaker(std::uint32_t seed, bool nests = false) : random_(seed), nests_(nests) {}

  Bytes make() {
    const bool isIpv6 = below(2) == 0;
    Packet packet{isIpv6 ? 0x86ddU : 0x0800U, isIpv6 ? ipv6Frame() : ipv4Frame()};
    if (nests_) {
      for (std::uint32_t left = below(TUNNELS_MAX + 2); left > 0; left--) packet = around(packet);
      packet = behind(packet);
    }
    Bytes frame = link(packet.type) + packet.bytes;
    if (below(2) == 0) damage(frame);
    // The kernel takes no frame without a whole Ethernet header.
    if (frame.size() < 14) frame.resize(14);
    return frame;
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_()) % bound; }
  std::uint8_t byte() { return static_cast<std::uint8_t>(random_()); }
  std::uint16_t port() { return static_cast<std::uint16_t>(1 + below(3)); }

  /// What an Ethernet header of this type has behind it.
  struct Packet {
    std::uint32_t type;
    Bytes bytes;
  };

  Packet in(std::uint8_t protocol, const Bytes& payload) {
    if (below(3) == 0) {
      return {0x86dd, ipv6Packet({.source = ipv6(9, 1), .destination = ipv6(endOf(), below(4)), .nextHeader = protocol},
                                 payload)};
    }
    return {0x0800, ipv4Packet({.destination = (endOf() == 1 ? kProtected : kForeign) + below(4),
                                .protocol = protocol,
                                .fragment = below(16) == 0 ? 0x2000U : 0,
                                .options = below(8) == 0 ? below(11) : 0},
                               payload)};
  }
  std::uint16_t endOf() { return below(3) == 0 ? 1 : 2; }
  /// A tunnel around the packet. Some headers do not fit what they carry.
  Packet around(const Packet& packet) {
    const auto flags = below(2) == 0 ? 0U : below(8) << 13 | below(2) << 12;
    const Bytes frame = link(packet.type) + packet.bytes;
    switch (below(12)) {
      case 0:
        return in(47, gre(packet.type, packet.bytes, flags));
      case 1:
        return in(47, gre(0x6558, frame, flags));
      case 2:
        return in(47, gre(0x88be, frame));
      case 3:
        return in(47, erspan(frame));
      case 4:
        return in(47, erspan3(below(2) == 0 ? frame : packet.bytes, below(3), below(2) == 0));
      case 5:
        return in(packet.type == 0x86dd ? 41 : 4, packet.bytes);
      case 6:
        return in(17, vxlan(frame));
      case 7:
        return in(17, geneve(0x6558, frame, below(8)));
      case 8:
        return in(17, geneve(packet.type, packet.bytes, below(3)));
      case 9:
        return in(17, below(2) == 0 ? gtpU(packet.bytes) : gtpUExtended(packet.bytes));
      case 10:
        return in(137, labels(1 + below(18), packet.bytes));
      default:
        return in(47, gre(0x8847, labels(1 + below(3), packet.bytes), flags));
    }
  }
  Packet behind(const Packet& packet) {
    switch (below(8)) {
      case 0:
        return {0x8847, labels(1 + below(18), packet.bytes)};
      case 3:
        return {0x8847, labels(1 + below(3), pseudowire(packet))};
      case 4:
        return {0x8864, pppoeCompressed(packet.type == 0x86dd ? 0x57 : 0x21, packet.bytes)};
      case 1:
        return {0x8847, labels(1 + below(3), Bytes(4) + link(packet.type) + packet.bytes)};
      case 2:
        return {0x8864, pppoe(packet.type == 0x86dd ? 0x57 : 0x21, packet.bytes)};
      default:
        return packet;
    }
  }

  /// Without a control word, to an address that may look like something else.
  Bytes pseudowire(const Packet& packet) {
    constexpr std::array<std::uint8_t, 8> kFirst{0x00, 0x02, 0x45, 0x46, 0x4c, 0x60, 0x6c, 0xf0};
    Bytes frame = link(packet.type) + packet.bytes;
    frame[0] = kFirst[below(kFirst.size())];
    if (below(2) == 0) frame[1] = 0;
    return frame;
  }
  Bytes link(std::uint32_t type) {
    constexpr std::array<std::uint32_t, 3> kTags{0x8100, 0x88a8, 0x9100};
    switch (below(8)) {
      case 0:
        return ethernet(kTags[below(3)]) + vlanTag(type);
      case 1:
        return ethernet(kTags[below(3)]) + vlanTag(kTags[below(3)]) + vlanTag(type);
      case 2:
        return tags(3 + below(VLAN_TAGS_MAX)) + vlanTag(type);
      default:
        return ethernet(type);
    }
  }
  Bytes tags(std::uint32_t count) {
    Bytes bytes = ethernet(0x8100);
    while (--count > 0) append(bytes, vlanTag(0x8100));
    return bytes;
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
      const auto units = static_cast<std::uint8_t>(kind == 44 ? 0 : below(8) == 0 ? below(32) : below(3));
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
          // Mostly in the headers, where it matters.
          frame[below(static_cast<std::uint32_t>(std::min<std::size_t>(frame.size(), nests_ ? 200 : 80)))] = byte();
        }
    }
  }

  std::mt19937 random_;
  bool nests_;
};

}  // namespace floodwall::test
