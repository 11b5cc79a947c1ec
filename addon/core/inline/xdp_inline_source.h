// Counts the traffic of an interface that passes it on: the kernel counts (inline_program.h), and a thread reads the
// counts and samples twice in each tick. One source for all queues of the interface.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/supervised_source.h"
#include "filter/kernel_filter.h"
#include "program/xdp_attach.h"

namespace floodwall {

struct XdpInlineOptions {
  std::string interface;
  XdpMode xdpMode = XdpMode::automatic;
  /// One header in this number is copied out for samples; 0: none.
  std::uint32_t sampleEvery = 1000;
  /// The CPU of the reading thread; empty: not pinned.
  std::vector<int> cpus;
  /// As the engine has them.
  std::uint32_t maxHosts = 1U << 20;
  bool countOutgoing = false;
  std::uint32_t idleMs = 60'000;
  std::uint32_t tickMs = 100;
  /// Encapsulations that are removed.
  Encapsulations decapsulated{};
  VxlanPorts vxlanPorts{};
  /// Null, or the filter on the interface: then the counter's program, which has the filter inside, replaces its
  /// program.
  std::shared_ptr<KernelFilter> filter;
};

/// Counts nothing before its setNetworks. Throws SourceError.
[[nodiscard]] std::unique_ptr<CaptureSource> openXdpInline(const XdpInlineOptions& options, AddShard addShard);

}  // namespace floodwall
