// Finds the packet inside of tunnels and labels. Reads the frame a second time, from its beginning: few frames come
// here, and the others should not pay for what only these need. The same rules as bpf/take_apart.h.
#include "parse/ethernet_tags.h"
#include "parse/layers.h"

namespace floodwall {
namespace {

constexpr std::uint32_t kEthernetHeader = 14;
constexpr std::size_t kIpv4Header = 20, kIpv6Header = 40;

/// Whether a packet of the length is all that is on the wire, but for what a link adds.
bool isAll(std::size_t length, std::size_t onWire) noexcept {
  return length == onWire || length + CHECK_SEQUENCE == onWire || (length < onWire && onWire <= PADDED_MAX);
}

/// Whether an IPv4 header without options, which is complete, has a correct checksum.
bool hasIpv4Checksum(const Cursor& cursor) noexcept {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < kIpv4Header; at += 2) sum += cursor.u16(at);
  return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

/// The payload that begins at the cursor.
enum class Payload : std::uint8_t { nothing, ethernet, mpls, ipv4, ipv6, ip };

class Walk {
 public:
  Walk(const Frame& frame, const Decapsulation& wanted)
      : frame_(frame), wanted_(wanted), cursor_{frame.data, frame.captured} {}

  /// Steps to the IP header, which begins at networkAt() afterwards, and reads it.
  [[nodiscard]] ParseError readPacket(Payload payload, Packet& packet) noexcept {
    const std::uint16_t type = readLink(payload);
    networkAt_ = offset();
    if (type == 0) return linkError_;
    return readNetwork(cursor_, type, packet);
  }
  /// Steps over the header of a tunnel, where the packet that was read last is one.
  [[nodiscard]] Payload openTunnel(const Packet& packet) noexcept;

  /// Bytes of the frame before the cursor.
  [[nodiscard]] std::size_t offset() const noexcept { return static_cast<std::size_t>(cursor_.at - frame_.data); }
  [[nodiscard]] std::size_t networkAt() const noexcept { return networkAt_; }
  /// Whether there was more than Ethernet before the IP header.
  [[nodiscard]] bool hasLabels() const noexcept { return hasLabels_; }
  /// The kind that was not requested, at which reading ended.
  [[nodiscard]] Encapsulation left() const noexcept { return left_; }

 private:
  [[nodiscard]] bool isWanted(Encapsulation kind) noexcept {
    if (wanted_.kinds.has(kind)) return true;
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
  [[nodiscard]] Payload behindLastLabel() noexcept;
  [[nodiscard]] bool leadsToIp(std::size_t offset) const noexcept;
  [[nodiscard]] Payload byVersion() const noexcept;
  [[nodiscard]] Payload openGre() noexcept;
  [[nodiscard]] Payload openErspan(bool isNumbered) noexcept;
  [[nodiscard]] Payload openErspan3() noexcept;
  [[nodiscard]] Payload openUdp(std::uint16_t port) noexcept;
  [[nodiscard]] Payload openVxlan() noexcept;
  [[nodiscard]] Payload openGeneve() noexcept;
  [[nodiscard]] Payload openGtpU() noexcept;

  const Frame& frame_;
  const Decapsulation& wanted_;
  Cursor cursor_;
  std::size_t networkAt_ = 0;
  bool hasLabels_ = false;
  Encapsulation left_ = Encapsulation::none;
  /// Why there is no IP header, where the frame itself is cut or has too many tags.
  ParseError linkError_ = ParseError::notIp;
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
  const bool isOutermost = offset() == 0;
  std::uint16_t type = 0;
  if (const ParseError error = readEthernet(cursor_, type); error != ParseError::none) {
    if (isOutermost) linkError_ = error;
    return Payload::nothing;
  }
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

/// Version and type 1, code 0 (RFC 2516, 4), then the protocol of PPP: an odd byte is the last one of it, so that one
/// that begins with an odd byte was compressed (RFC 1661, 2 and 6.5).
Payload Walk::behindPppoe() noexcept {
  constexpr std::size_t kHeader = 8;
  if (!cursor_.has(kHeader) || cursor_.u16(0) != 0x1100) return Payload::nothing;
  const bool isCompressed = (cursor_.at[6] & 1U) != 0;
  const std::uint16_t protocol = isCompressed ? cursor_.at[6] : cursor_.u16(6);
  cursor_.skip(isCompressed ? kHeader - 1 : kHeader);
  hasLabels_ = true;
  if (protocol == 0x0021) return Payload::ipv4;
  return protocol == 0x0057 ? Payload::ipv6 : Payload::nothing;
}

Payload Walk::behindLabels() noexcept {
  constexpr std::size_t kLabel = 4;
  for (int labels = 0;; labels++) {
    if (labels == MPLS_LABELS_MAX || !cursor_.has(kLabel)) return Payload::nothing;
    const bool isLast = (cursor_.at[2] & 1U) != 0;
    cursor_.skip(kLabel);
    if (isLast) return behindLastLabel();
  }
}

/// Labels do not say what follows them. Its first four bits separate IP from a control word (RFC 4928, 3), but a
/// pseudowire without one begins with a MAC address, and one of these may begin with any bits: read as IP it makes up a
/// host.
///
/// So IPv4 is believed for its checksum, which routers look at, or with options for its length, and IPv6 for its
/// length. That must be exact, since it is in the place of an address's bytes, and small numbers are frequent there.
/// Both come before an Ethernet header that leads to an IP header: who sends a packet chooses a source that looks like
/// one, but not a checksum or a length that is wrong. Last comes IPv4 for its length alone, as in captures from before
/// a card had computed the checksum: no station has an address that begins with 45, which is a group's.
Payload Walk::behindLastLabel() noexcept {
  constexpr std::size_t kControlWord = 4;
  if (!cursor_.has(kIpv4Header)) return byVersion();
  const std::size_t onWire = cursor_.left + (frame_.wire - frame_.captured);
  const unsigned first = cursor_.at[0], version = first >> 4;
  const std::size_t length4 = cursor_.u16(2);
  if (first == 0x45 ? hasIpv4Checksum(cursor_) : version == 4 && first > 0x45 && isAll(length4, onWire)) {
    return Payload::ipv4;
  }
  if (version == 6 && isAll(kIpv6Header + cursor_.u16(4), onWire)) return Payload::ipv6;
  const bool isEthernet = leadsToIp(0);
  // The control word of Ethernet begins with zeros (RFC 4448, 4.6), as few addresses do.
  if (version == 0 && (cursor_.u16(0) == 0 || !isEthernet) && leadsToIp(kControlWord)) {
    cursor_.skip(kControlWord);
    return Payload::ethernet;
  }
  if (isEthernet) return Payload::ethernet;
  return first == 0x45 && isAll(length4, onWire) ? Payload::ipv4 : Payload::nothing;
}

/// Whether an Ethernet header at the offset leads to an IP header, or to more labels.
bool Walk::leadsToIp(std::size_t offset) const noexcept {
  Walk trial = *this;
  trial.cursor_.skip(offset);
  switch (trial.behindEthernet()) {
    case Payload::ipv4:
      return trial.byVersion() == Payload::ipv4;
    case Payload::ipv6:
      return trial.byVersion() == Payload::ipv6;
    case Payload::mpls:
      return true;
    default:
      return false;
  }
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

/// Version 0 without source routes (RFC 1701), which is out of use; version 1 is PPTP (RFC 2637).
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
  if (wanted_.vxlanPorts.has(port)) kind = Encapsulation::vxlan;
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
  Walk walk(frame, wanted);
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
      // If the inside cannot be read, or must not be, the packet around it counts.
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
