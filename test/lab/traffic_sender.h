// The two ways out: frames made in the kernel (fast) and a packet socket (slow, needs nothing at the far end).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "traffic_plan.h"

namespace floodwall::lab {

struct SendOrder {
  std::string device;
  unsigned deviceIndex = 0;
  /// 0: as fast as it goes.
  double packetsPerSecond = 0;
  std::uint64_t packets = 0;
  std::uint64_t durationNs = 0;
  /// Counted from 1; 0: none.
  std::uint64_t markedPacket = 0;
};

struct Sent {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t deviceDrops = 0;
  /// CLOCK_MONOTONIC; 0 when nothing was sent.
  std::uint64_t firstPacketNs = 0;
  std::uint64_t durationNs = 0;
  /// From the first packet to the marked one; 0: none, or not sent.
  std::uint64_t markedPacketNs = 0;
  /// By how much the latest packet up to the marked one was late; 0: as fast as it went.
  std::uint64_t lateNs = 0;
};

/// Set by SIGINT and SIGTERM; both senders stop then and report what they sent.
extern std::atomic<bool> isInterrupted;

[[nodiscard]] std::uint64_t monotonicNs();
[[nodiscard]] Sent sendLive(const traffic_plan& plan, const SendOrder& order);
[[nodiscard]] Sent sendThroughSocket(const traffic_plan& plan, const SendOrder& order);

}  // namespace floodwall::lab
