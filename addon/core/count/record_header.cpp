#include "count/record_header.h"

#include <algorithm>
#include <cstring>

namespace floodwall {
namespace {

constexpr std::size_t kEthernet = 14, kIpv4 = 20, kIpv6 = 40;
constexpr std::uint8_t kTcp = 6, kFragmentHeader = 44;
/// More fragments follow; or this one is at an offset of 8 bytes.
constexpr unsigned kMoreFragments = 0x2000, kLaterFragment = 1;

void put16(std::uint8_t* at, std::size_t value) noexcept {
  at[0] = static_cast<std::uint8_t>(value >> 8);
  at[1] = static_cast<std::uint8_t>(value);
}

std::uint8_t* putIpv4(std::uint8_t* at, const Packet& packet) noexcept {
  at[0] = 0x45;
  if (packet.isFragment) put16(at + 6, packet.isLaterFragment ? kLaterFragment : kMoreFragments);
  at[9] = packet.protocol;
  std::copy_n(packet.source.bytes.begin() + 12, 4, at + 12);
  std::copy_n(packet.destination.bytes.begin() + 12, 4, at + 16);
  return at + kIpv4;
}

std::uint8_t* putIpv6(std::uint8_t* at, const Packet& packet) noexcept {
  at[0] = 0x60;
  at[6] = packet.isFragment ? kFragmentHeader : packet.protocol;
  std::copy_n(packet.source.bytes.begin(), 16, at + 8);
  std::copy_n(packet.destination.bytes.begin(), 16, at + 24);
  at += kIpv6;
  if (!packet.isFragment) return at;
  at[0] = packet.protocol;
  put16(at + 2, packet.isLaterFragment ? kLaterFragment << 3 : 1);
  return at + 8;
}

}  // namespace

Frame frameOf(const FlowRecord& record, RecordHeader& bytes) noexcept {
  const Packet& packet = record.packet;
  bytes = {};
  const bool isV4 = isIpv4Mapped(packet.destination);
  put16(&bytes[12], isV4 ? 0x0800 : 0x86dd);
  std::uint8_t* const ip = &bytes[kEthernet];
  std::uint8_t* at = isV4 ? putIpv4(ip, packet) : putIpv6(ip, packet);
  // Without a port, what follows is not known.
  if (!packet.isLaterFragment && (packet.sourcePort != 0 || packet.destinationPort != 0 || packet.tcpFlags != 0)) {
    put16(at, packet.sourcePort);
    put16(at + 2, packet.destinationPort);
    at += 4;
    if (packet.protocol == kTcp) {
      at[8] = 0x50;
      at[9] = packet.tcpFlags;
      at += 10;
    }
  }
  const auto captured = static_cast<std::uint32_t>(at - bytes.data());
  const std::uint32_t wire = std::max(packet.wire, captured);
  const std::size_t length = std::min<std::size_t>(wire - kEthernet, 0xffff);
  if (isV4) {
    put16(ip + 2, length);
  } else {
    put16(ip + 4, length - kIpv6);
  }
  return {bytes.data(), captured, wire};
}

}  // namespace floodwall
