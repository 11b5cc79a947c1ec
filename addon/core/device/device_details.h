// Driver, rings and offloads of a network interface: read without changing anything, in the network
// namespace of the process. Drivers answer what they know; the rest is absent.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace floodwall {

struct NowAndMost {
  std::uint32_t now = 0;
  std::uint32_t most = 0;
};

struct DeviceDetails {
  std::string driver;
  std::string driverVersion;
  /// "0000:01:00.0"; empty for devices of software.
  std::string bus;
  std::optional<NowAndMost> rxQueues;
  std::optional<NowAndMost> txQueues;
  /// Channels that receive and send: of a driver that counts them so, each is one of the queues above.
  std::optional<NowAndMost> combined;
  std::optional<NowAndMost> rxRing;
  /// Whether these offloads are on.
  std::optional<bool> lro;
  std::optional<bool> groHw;
  std::optional<bool> gro;
  /// The driver takes VLAN tags off the frame before XDP sees it.
  std::optional<bool> rxVlan;
  /// Devices for VLANs over this one, or over the bond or bridge that it is a part of.
  std::uint32_t vlanDevices = 0;
};

/// How many devices for VLANs over the interface there are in what the kernel says in /proc/net/vlan/config.
[[nodiscard]] std::uint32_t countVlanDevices(std::istream& config, std::string_view interface);

[[nodiscard]] DeviceDetails readDeviceDetails(const std::string& interface);

}  // namespace floodwall
