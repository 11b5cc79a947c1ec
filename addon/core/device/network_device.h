// The state of a network interface at this moment, by the kernel, in the network namespace of the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"

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

/// Asks the kernel about interfaces through a descriptor that it holds from the start: it also answers when the process
/// has no other one left. Parts that depend on an interface are given up only when find() says that it is absent.
class NetworkDevices {
 public:
  /// Throws SourceError.
  NetworkDevices();

  /// Absent: there is no such interface. Throws SourceError when that is not known.
  [[nodiscard]] std::optional<NetworkDevice> find(const std::string& name) const;
  /// Throws SourceError that names the interface, also when there is none.
  [[nodiscard]] NetworkDevice require(const std::string& name) const;

 private:
  UniqueFd socket_;
};

/// Empty when frames can arrive; else what is wrong with the link and what to do about it.
[[nodiscard]] std::string linkFault(const NetworkDevice& device);

}  // namespace floodwall
