// The network device that traffic goes through, its counters, and the namespace that it is in.
#pragma once

#include <cstdint>
#include <string>

namespace floodwall::lab {

struct DeviceCounters {
  /// Frames of the live path that the far end's queue took.
  std::uint64_t liveFrames = 0;
  /// Frames of sockets that it did not take.
  std::uint64_t socketDrops = 0;
};

/// Throws std::runtime_error unless this process is in a named network namespace that is not the host's.
void requireOwnNamespace();
/// Throws std::runtime_error when there is no such device or it is not a veth.
[[nodiscard]] unsigned requireVeth(const std::string& device);
[[nodiscard]] DeviceCounters readCounters(const std::string& device);

}  // namespace floodwall::lab
