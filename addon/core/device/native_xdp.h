// Obstacles to native XDP on an interface, as far as it can be read without trying: a try may reset the
// link. Knows drivers by name; the limits are those of their sources in Linux 5.18 to 6.12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/device_details.h"
#include "device/network_device.h"

namespace floodwall {

/// The largest MTU with which a driver takes native XDP while each frame is in one buffer. Absent: not known.
[[nodiscard]] std::optional<std::uint32_t> nativeMtuMost(const std::string& driver, std::size_t pageBytes);

struct Obstacle {
  /// "LRO is on".
  std::string found;
  /// The remedy, with the command; empty: there is none.
  std::string remedy;
};

/// `features`: see xdpFeatures().
[[nodiscard]] std::vector<Obstacle> nativeObstacles(const NetworkDevice& device, const DeviceDetails& details,
                                                    std::optional<std::uint64_t> features);

/// Why the driver refused native XDP with this errno, and what to do about it.
[[nodiscard]] std::string nativeRefusal(const NetworkDevice& device, const std::string& driver,
                                        std::vector<Obstacle> obstacles, int error);

}  // namespace floodwall
