// All network interfaces of the process's network namespace, with what forwarding must know of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace floodwall {

struct ListedLink {
  std::string name;
  unsigned index = 0;
  bool isUp = false;
  /// Ethernet, and not the loopback.
  bool isEthernet = false;
  std::array<std::uint8_t, 6> mac{};
  /// Part of a bridge, a bond or a VRF.
  bool hasMaster = false;
  /// An XDP program runs in its driver.
  bool hasNativeProgram = false;
};

/// Absent: the kernel did not answer in full.
[[nodiscard]] std::optional<std::vector<ListedLink>> listLinks();

}  // namespace floodwall
