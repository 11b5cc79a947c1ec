// Receives mirrored frames that a switch or router sends in GRE or ERSPAN to an address of this machine. The kernel
// delivers them beside all other traffic of the interface, and puts fragments together first; it takes some 1 us a
// packet, so that a port for nothing else is better read by AF_XDP.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/prefix_table.h"
#include "capture/supervised_source.h"

namespace floodwall {

struct MirrorTunnelOptions {
  /// As the status calls it.
  std::string name;
  /// An address of this machine.
  Address address;
  /// Senders that are accepted. Packets of others are only counted, as refused.
  std::vector<PrefixValue> from;
  /// Buffer of the kernel for packets that the worker has not taken.
  std::uint32_t bufferBytes = 64U << 20;
  /// The worker is pinned to the first; empty: not pinned.
  std::vector<int> cpus;
};

/// Packets come with the IP header of the tunnel: its shards must take GRE apart. Throws SourceError.
[[nodiscard]] std::unique_ptr<CaptureSource> openMirrorTunnel(MirrorTunnelOptions options, AddShard addShard);

}  // namespace floodwall
