// Finds the packet inside of tunnels and labels. Reads the frame a second time, from its beginning: few frames come
// here, and the others should not pay for what only these need. The same rules as bpf/take_apart.h.
#include "parse/layers.h"

namespace floodwall {
namespace {

constexpr std::uint32_t kEthernetHeader = 14;

/// What begins where the cursor is.
enum class Payload : std::uint8_t { nothing, ethernet, mpls, ipv4, ipv6, ip };

class Walk {
 public:
  Walk(const Frame& frame, Encapsulations kinds) : frame_(frame), kinds_(kinds), cursor_{frame.data, frame.captured} {}

  /// Steps to the IP header, which begins at networkAt() afterwards, and reads it.
  [[nodiscard]] ParseError readPacket(Payload payload, Packet& packet) noexcept {
    const std::uint16_t type = readLink(payload);
    networkAt_ = offset();
    return readNetwork(cursor_, type, packet);
  }
  /// Steps over the header of a tunnel, where the packet that was read last is one.
  [[nodiscard]] Payload openTunnel(const Packet& packet) noexcept;

  /// Bytes of the frame before the cursor.
  [[nodiscard]] std::size_t offset() const noexcept { return static_cast<std::size_t>(cursor_.at - frame_.data); }
  [[nodiscard]] std::size_t networkAt() const noexcept { return networkAt_; }
  /// Whether there was more than Ethernet before the IP header.
  [[nodiscard]] bool hasLabels() const noexcept { return hasLabels_; }
  /// The kind that was not asked for, by which reading ended.
  [[nodiscard]] Encapsulation left() const noexcept { return left_; }

 private:
  [[nodiscard]] bool isWanted(Encapsulation kind) noexcept {
    if (kinds_.has(kind)) return true;
    left_ = kind;
    return false;
  }
  [[nodiscard]] bool skip(std::size_t bytes) noexcept {
    if (!cursor_.has(bytes)) return false;
    cursor_.skip(bytes);
    return true;
  }
  [[nodiscard]] std::uint16_t readLink(Payload payload) noexcept;
  [[nodiscard]] Payload behindEthernet() noexcept;
  [[nodiscard]] Payload behindPppoe() noexcept;
  [[nodiscard]] Payload behindLabels() noexcept;
  [[nodiscard]] Payload byVersion() const noexcept;
  [[nodiscard]] Payload openGre() noexcept;
  [[nodiscard]] Payload openErspan(bool isNumbered) noexcept;
  [[nodiscard]] Payload openErspan3() noexcept;
  [[nodiscard]] Payload openUdp(std::uint16_t port) noexcept;
  [[nodiscard]] Payload openVxlan() noexcept;
  [[nodiscard]] Payload openGeneve() noexcept;
  [[nodiscard]] Payload openGtpU() noexcept;

  const Frame& frame_;
  Encapsulations kinds_;
  Cursor cursor_;
  std::size_t networkAt_ = 0;
  bool hasLabels_ = false;
  Encapsulation left_ = Encapsulation::none;
};

/// kTypeIpv4, kTypeIpv6, or 0: it is not IP.
std::uint16_t Walk::readLink(Payload payload) noexcept {
  for (int ethernets = 0;;) {
    switch (payload) {
      case Payload::ipv4:
        return kTypeIpv4;
      case Payload::ipv6:
        return kTypeIpv6;
      case Payload::ip:
        payload = byVersion();
        break;
      case Payload::mpls:
        hasLabels_ = true;
        payload = behindLabels();
        break;
      case Payload::ethernet:
        if (ethernets++ == ETHERNETS_MAX) return 0;
        payload = behindEthernet();
        break;
      case Payload::nothing:
        return 0;
    }
  }
}

Payload Walk::behindEthernet() noexcept {
  std::uint16_t type = 0;
  if (readEthernet(cursor_, type) != ParseError::none) return Payload::nothing;
  switch (type) {
    case kTypeIpv4:
      return Payload::ipv4;
    case kTypeIpv6:
      return Payload::ipv6;
    case TYPE_MPLS:
    case TYPE_MPLS_MULTICAST:
      return isWanted(Encapsulation::mpls) ? Payload::mpls : Payload::nothing;
    case TYPE_PPPOE_SESSION:
      return isWanted(Encapsulation::pppoe) ? behindPppoe() : Payload::nothing;
    default:
      return Payload::nothing;
  }
}

/// Version and type 1, code 0 (RFC 2516, 4), then the protocol of PPP, uncompressed.
Payload Walk::behindPppoe() noexcept {
  constexpr std::size_t kHeader = 8;
  if (!cursor_.has(kHeader) || cursor_.u16(0) != 0x1100) return Payload::nothing;
  const std::uint16_t protocol = cursor_.u16(6);
  cursor_.skip(kHeader);
  hasLabels_ = true;
  if (protocol == 0x0021) return Payload::ipv4;
  return protocol == 0x0057 ? Payload::ipv6 : Payload::nothing;
}

/// What follows the last label is told by its first four bits (RFC 4928, 3; RFC 4385, 3).
Payload Walk::behindLabels() noexcept {
  constexpr std::size_t kLabel = 4, kControlWord = 4;
  for (int labels = 0;; labels++) {
    if (labels == MPLS_LABELS_MAX || !cursor_.has(kLabel)) return Payload::nothing;
    const bool isLast = (cursor_.at[2] & 1U) != 0;
    cursor_.skip(kLabel);
    if (isLast) break;
  }
  if (cursor_.has(kControlWord) && cursor_.at[0] >> 4 == 0) {
    cursor_.skip(kControlWord);
    return Payload::ethernet;
  }
  return byVersion();
}

Payload Walk::byVersion() const noexcept {
  if (!cursor_.has(1)) return Payload::nothing;
  const int version = cursor_.at[0] >> 4;
  if (version == 4) return Payload::ipv4;
  return version == 6 ? Payload::ipv6 : Payload::nothing;
}

Payload Walk::openTunnel(const Packet& packet) noexcept {
  if (packet.isLaterFragment) return Payload::nothing;
  switch (packet.protocol) {
    case PROTOCOL_IPV4:
      return isWanted(Encapsulation::ipip) ? Payload::ipv4 : Payload::nothing;
    case PROTOCOL_IPV6:
      return isWanted(Encapsulation::sixInFour) ? Payload::ipv6 : Payload::nothing;
    case PROTOCOL_MPLS:
      return isWanted(Encapsulation::mpls) ? Payload::mpls : Payload::nothing;
    case PROTOCOL_GRE:
      return openGre();
    case 17:
      return openUdp(packet.destinationPort);
    default:
      return Payload::nothing;
  }
}

/// Version 0 without source routes (RFC 1701), which nobody sends any more; version 1 is PPTP (RFC 2637).
Payload Walk::openGre() noexcept {
  constexpr std::uint16_t kCheckSum = 0x8000, kRouting = 0x4000, kKey = 0x2000, kSequence = 0x1000, kVersion = 0x0007;
  if (!cursor_.has(4)) return Payload::nothing;
  const std::uint16_t flags = cursor_.u16(0), type = cursor_.u16(2);
  if ((flags & (kRouting | kVersion)) != 0) return Payload::nothing;
  const bool isMirror = type == TYPE_ERSPAN || type == TYPE_ERSPAN_3;
  if (!isWanted(isMirror ? Encapsulation::erspan : Encapsulation::gre)) return Payload::nothing;
  const std::size_t words =
      1U + ((flags & kCheckSum) != 0 ? 1 : 0) + ((flags & kKey) != 0 ? 1 : 0) + ((flags & kSequence) != 0 ? 1 : 0);
  if (!skip(words * 4)) return Payload::nothing;
  switch (type) {
    case kTypeIpv4:
      return Payload::ipv4;
    case kTypeIpv6:
      return Payload::ipv6;
    case TYPE_BRIDGING:
      return Payload::ethernet;
    case TYPE_MPLS:
    case TYPE_MPLS_MULTICAST:
      return isWanted(Encapsulation::mpls) ? Payload::mpls : Payload::nothing;
    case TYPE_ERSPAN:
      return openErspan((flags & kSequence) != 0);
    case TYPE_ERSPAN_3:
      return openErspan3();
    default:
      return Payload::nothing;
  }
}

/// Type II has a sequence number in GRE and a header of its own; type I has neither.
Payload Walk::openErspan(bool isNumbered) noexcept {
  constexpr std::size_t kHeader = 8;
  return !isNumbered || skip(kHeader) ? Payload::ethernet : Payload::nothing;
}

/// Frame type 0 is Ethernet, 2 is IP. Bit O says that a subheader of the platform follows.
Payload Walk::openErspan3() noexcept {
  constexpr std::size_t kHeader = 12, kSubheader = 8;
  if (!cursor_.has(kHeader)) return Payload::nothing;
  const int frameType = cursor_.at[10] >> 2 & 0x1f;
  const bool hasSubheader = (cursor_.at[11] & 1U) != 0;
  if (!skip(kHeader + (hasSubheader ? kSubheader : 0))) return Payload::nothing;
  if (frameType == 0) return Payload::ethernet;
  return frameType == 2 ? Payload::ip : Payload::nothing;
}

Payload Walk::openUdp(std::uint16_t port) noexcept {
  constexpr std::size_t kHeader = 8;
  Encapsulation kind = Encapsulation::none;
  if (port == PORT_VXLAN) kind = Encapsulation::vxlan;
  if (port == PORT_GENEVE) kind = Encapsulation::geneve;
  if (port == PORT_GTP_U) kind = Encapsulation::gtpU;
  if (kind == Encapsulation::none || !isWanted(kind) || !skip(kHeader)) return Payload::nothing;
  if (kind == Encapsulation::vxlan) return openVxlan();
  return kind == Encapsulation::geneve ? openGeneve() : openGtpU();
}

/// Bit I must be set (RFC 7348, 5). Bits of its extensions do not move what follows.
Payload Walk::openVxlan() noexcept {
  constexpr std::size_t kHeader = 8;
  constexpr std::uint8_t kHasNetwork = 0x08;
  if (!cursor_.has(kHeader) || (cursor_.at[0] & kHasNetwork) == 0) return Payload::nothing;
  cursor_.skip(kHeader);
  return Payload::ethernet;
}

Payload Walk::openGeneve() noexcept {
  constexpr std::size_t kHeader = 8;
  if (!cursor_.has(kHeader) || cursor_.at[0] >> 6 != 0) return Payload::nothing;
  const std::uint16_t type = cursor_.u16(2);
  if (!skip(kHeader + (cursor_.at[0] & 0x3fU) * 4)) return Payload::nothing;
  if (type == TYPE_BRIDGING) return Payload::ethernet;
  if (type == kTypeIpv4) return Payload::ipv4;
  return type == kTypeIpv6 ? Payload::ipv6 : Payload::nothing;
}

/// Version 1, protocol type 1, message G-PDU (TS 29.281, 5.1). With any of the flags E, S and PN four bytes follow;
/// with E the last of them is the type of an extension header, and so is the last byte of each (5.2).
Payload Walk::openGtpU() noexcept {
  constexpr std::size_t kHeader = 8, kOptional = 4;
  constexpr std::uint8_t kVersionAndType = 0xf0, kIsVersion1 = 0x30, kHasOptional = 0x07, kHasExtension = 0x04;
  constexpr std::uint8_t kUserData = 0xff;
  if (!cursor_.has(kHeader)) return Payload::nothing;
  const std::uint8_t flags = cursor_.at[0];
  if ((flags & kVersionAndType) != kIsVersion1 || cursor_.at[1] != kUserData) return Payload::nothing;
  cursor_.skip(kHeader);
  if ((flags & kHasOptional) == 0) return byVersion();
  if (!cursor_.has(kOptional)) return Payload::nothing;
  std::uint8_t next = (flags & kHasExtension) != 0 ? cursor_.at[3] : 0;
  cursor_.skip(kOptional);
  for (int extensions = 0; next != 0; extensions++) {
    if (extensions == GTP_EXTENSIONS_MAX || !cursor_.has(1)) return Payload::nothing;
    const std::size_t length = cursor_.at[0] * std::size_t{4};
    if (length == 0 || !cursor_.has(length)) return Payload::nothing;
    next = cursor_.at[length - 1];
    cursor_.skip(length);
  }
  return byVersion();
}

}  // namespace

ParseError takeApart(const Frame& frame, Link link, Packet& packet, const Decapsulation& wanted,
                     ParseError error) noexcept {
  Walk walk(frame, wanted.kinds);
  Payload payload = link == Link::ethernet ? Payload::ethernet : Payload::ip;
  for (int tunnels = 0;; tunnels++) {
    const std::size_t begin = walk.offset();
    const bool isEthernet = payload == Payload::ethernet;
    Packet inner;
    const ParseError innerError = walk.readPacket(payload, inner);
    if (tunnels == 0) {
      error = innerError;
      inner.wire = frame.wire;
    } else {
      // What cannot be read, or is not to be, leaves the packet around it.
      if (walk.networkAt() >= wanted.before) break;
      inner.wire = frame.wire - static_cast<std::uint32_t>(begin) + (isEthernet ? 0 : kEthernetHeader);
    }
    if (innerError != ParseError::none) break;
    if (tunnels > 0 || walk.hasLabels()) inner.innerAt = static_cast<std::uint8_t>(walk.networkAt());
    packet = inner;
    if (tunnels == TUNNELS_MAX) break;
    payload = walk.openTunnel(packet);
    if (payload == Payload::nothing) break;
  }
  packet.inside = walk.left();
  return error;
}

}  // namespace floodwall
