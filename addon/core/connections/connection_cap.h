// Bounds the TCP connections that a listener of this process has accepted. The HTTP library accepts without a bound,
// and a peer that opens connections and sends nothing would use up the descriptors of the process.
#pragma once

#include <cstdint>

namespace floodwall {

struct ConnectionCap {
  /// Port of the listener.
  std::uint16_t port = 0;
  /// Connections of all peers; half of the process's limit of descriptors where that is less.
  std::uint32_t total = 0;
  /// Connections of one IPv4 address or one IPv6 /64. Loopback has no such bound: a proxy in front connects from there.
  std::uint32_t perAddress = 0;
};

struct ConnectionCount {
  std::uint32_t open = 0;
  std::uint32_t closedOfAddress = 0;
  std::uint32_t closedOfTotal = 0;
};

/// Shuts down what is over the cap; the owner of the descriptor closes it. Over the total, the peers with the most
/// connections lose some. For each peer, connections that sent nothing are closed first, then those silent for longest.
/// Must be called on the thread that closes the listener's connections, since another one might find a descriptor used
/// again. Throws std::system_error.
ConnectionCount limitConnections(const ConnectionCap& cap);

}  // namespace floodwall
