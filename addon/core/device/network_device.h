// What the kernel says of a network interface at this moment, in the network namespace of the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace floodwall {

struct NetworkDevice {
  std::string name;
  unsigned index = 0;
  /// Set up by the administrator (IFF_UP), and the other end is there.
  bool isUp = false;
  bool hasCarrier = false;
  std::uint32_t mtu = 0;
  /// RX queues in use now; those allocated may be more.
  std::uint32_t rxQueues = 1;
};

/// Absent when there is no such interface.
[[nodiscard]] std::optional<NetworkDevice> findNetworkDevice(const std::string& name);

/// Throws SourceError that names the interface when there is none.
[[nodiscard]] NetworkDevice requireNetworkDevice(const std::string& name);

/// Empty when frames can arrive; else what is wrong with the link and what to do about it.
[[nodiscard]] std::string linkFault(const NetworkDevice& device);

}  // namespace floodwall
