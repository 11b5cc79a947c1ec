// Captures live from an interface through libpcap: slower than AF_XDP, but on any driver, and it takes nothing away
// from the network stack.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/supervised_source.h"

namespace floodwall {

struct PcapLiveOptions {
  std::string interface;
  /// The worker is pinned to the first; empty: not pinned.
  std::vector<int> cpus;
};

/// Counts what the interface receives, not what it sends, as the other sources do. Throws SourceError.
[[nodiscard]] std::unique_ptr<CaptureSource> openPcapLive(PcapLiveOptions options, AddShard addShard);

}  // namespace floodwall
