// Asks the kernel's generic netlink family "netdev" what XDP a driver offers. Linux 6.3 and later; the family is absent
// before.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace floodwall {

/// Bits of the kernel's enum netdev_xdp_act (include/uapi/linux/netdev.h).
enum XdpFeature : std::uint64_t {
  kXdpBasic = 1U << 0,
  kXdpRedirect = 1U << 1,
  /// Frames that a program elsewhere redirects to this interface are sent.
  kXdpTakesRedirects = 1U << 2,
  kXdpZeroCopy = 1U << 3,
  kXdpOffload = 1U << 4,
  /// Frames in several buffers are received.
  kXdpFragments = 1U << 5,
  kXdpTakesFragments = 1U << 6,
};

/// Absent: this kernel does not say.
[[nodiscard]] std::optional<std::uint64_t> xdpFeatures(unsigned interfaceIndex);
/// Features of all interfaces, by their index.
[[nodiscard]] std::optional<std::unordered_map<unsigned, std::uint64_t>> allXdpFeatures();

}  // namespace floodwall
