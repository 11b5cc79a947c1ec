// Takes every frame of a mirror port through AF_XDP: one socket and one worker for each RX queue. Redirecting consumes
// the frame, hence only for ports that carry copies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/supervised_source.h"
#include "program/xdp_attach.h"

namespace floodwall {

enum class ZeroCopy : std::uint8_t {
  /// Where the driver can.
  automatic,
  /// An error where it cannot.
  on,
  off,
};

struct AfXdpOptions {
  std::string interface;
  /// Absent: all RX queues of the interface.
  std::optional<std::vector<std::uint32_t>> queues;
  XdpMode xdpMode = XdpMode::automatic;
  ZeroCopy zeroCopy = ZeroCopy::automatic;
  /// The CPU for each queue's worker in turn; empty: not pinned.
  std::vector<int> cpus;
};

/// Throws SourceError.
[[nodiscard]] std::unique_ptr<CaptureSource> openAfXdp(AfXdpOptions options, AddShard addShard);

}  // namespace floodwall
