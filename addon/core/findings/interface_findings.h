// All that can be read of a network interface before a program is attached to it, to judge whether it is
// fit. Changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/device_details.h"
#include "device/native_xdp.h"
#include "device/network_device.h"
#include "program/xdp_attach.h"

namespace floodwall {

struct InterfaceFindings {
  NetworkDevice device;
  DeviceDetails details;
  /// See nativeMtuMost().
  std::optional<std::uint32_t> nativeMtuMost;
  /// Bits of XdpFeature; absent: this kernel does not say.
  std::optional<std::uint64_t> xdpFeatures;
  std::vector<Obstacle> nativeObstacles;
  std::optional<AttachedProgram> attached;
};

/// Absent: there is no such interface in the network namespace of the process.
[[nodiscard]] std::optional<InterfaceFindings> readInterface(const std::string& name);

}  // namespace floodwall
