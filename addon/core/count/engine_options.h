// How an engine counts, for as long as it runs.
#pragma once

#include <cstdint>

namespace floodwall {

struct EngineOptions {
  /// Hosts tracked at most, and rows that each shard has at most: 1 to kHostsMax.
  std::uint32_t maxHosts = 1U << 20;
  /// kWindowMsMin to kWindowMsMax.
  std::uint32_t windowMs = 1000;
  /// kTickMsMin to kTickMsMax; divides windowMs.
  std::uint32_t tickMs = 100;
  bool countOutgoing = false;
  /// A host without packets for this long leaves; at least the window, at most kIdleMsMax.
  std::uint32_t idleMs = 60'000;
  /// Seed of hashes; 0: at random, as it must be where senders could choose addresses that collide.
  std::uint64_t hashSeed = 0;
};
inline constexpr std::uint32_t kHostsMax = 16'000'000;
inline constexpr std::uint32_t kWindowMsMin = 200, kWindowMsMax = 60'000;
inline constexpr std::uint32_t kTickMsMin = 20, kTickMsMax = 1'000;
inline constexpr std::uint32_t kIdleMsMax = 3'600'000;

}  // namespace floodwall
