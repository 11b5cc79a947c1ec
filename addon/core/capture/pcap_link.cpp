#include "capture/pcap_link.h"

#include <pcap/pcap.h>

#include <algorithm>
#include <array>

#include "capture/capture_source.h"

namespace floodwall {
namespace {

constexpr std::uint32_t kSllHeader = 16, kSll2Header = 20, kFamilyHeader = 4, kVlanTag = 4;

/// Version 0: neither IPv4 nor IPv6.
constexpr std::uint8_t kNotIp[1] = {0};

Frame notIp(const Frame& frame) { return {kNotIp, 1, std::max(frame.wire, 1U)}; }

Frame skip(const Frame& frame, std::uint32_t bytes) {
  return {frame.data + bytes, frame.captured - bytes, frame.wire - bytes};
}

std::uint32_t u16(const std::uint8_t* at) { return static_cast<std::uint32_t>(at[0] << 8 | at[1]); }

/// Linux "cooked" captures: a header of their own, with the Ethernet type at `typeAt`.
Frame stripCooked(const Frame& frame, std::uint32_t header, std::uint32_t typeAt) {
  if (frame.captured < header) return notIp(frame);
  std::uint32_t type = u16(frame.data + typeAt);
  Frame rest = skip(frame, header);
  while ((type == 0x8100 || type == 0x88a8) && rest.captured >= kVlanTag) {
    type = u16(rest.data + 2);
    rest = skip(rest, kVlanTag);
  }
  return type == 0x0800 || type == 0x86dd ? rest : notIp(rest);
}

/// BSD loopback: the address family, in the byte order of the machine that captured (NULL) or of the network (LOOP).
Frame stripFamily(const Frame& frame) {
  if (frame.captured < kFamilyHeader) return notIp(frame);
  // AF_INET, and AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, and macOS.
  static constexpr std::array<std::uint8_t, 5> kFamilies = {2, 10, 24, 28, 30};
  const std::uint8_t* at = frame.data;
  const std::uint8_t family = at[0] | at[3];
  const bool isShort = at[1] == 0 && at[2] == 0 && (at[0] == 0 || at[3] == 0);
  const bool isIp = isShort && std::find(kFamilies.begin(), kFamilies.end(), family) != kFamilies.end();
  return isIp ? skip(frame, kFamilyHeader) : notIp(frame);
}

}  // namespace

PcapLink::PcapLink(int dlt, const std::string& origin) : dlt_(dlt) {
  static_assert(kEthernet == DLT_EN10MB);
  switch (dlt) {
    case DLT_EN10MB:
    case DLT_RAW:
    case DLT_IPV4:
    case DLT_IPV6:
    case DLT_LINUX_SLL:
    case DLT_LINUX_SLL2:
    case DLT_NULL:
    case DLT_LOOP:
      return;
    default:
      break;
  }
  const char* name = pcap_datalink_val_to_name(dlt);
  throw SourceError(origin + " has linktype " + (name != nullptr ? name : std::to_string(dlt)) +
                    ": only Ethernet, raw IP, Linux cooked and loopback captures are read");
}

Frame PcapLink::strip(const Frame& frame) const {
  switch (dlt_) {
    case DLT_LINUX_SLL:
      return stripCooked(frame, kSllHeader, 14);
    case DLT_LINUX_SLL2:
      return stripCooked(frame, kSll2Header, 0);
    case DLT_NULL:
    case DLT_LOOP:
      return stripFamily(frame);
    default:
      return frame;
  }
}

}  // namespace floodwall
