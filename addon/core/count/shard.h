// The counts of one worker. One thread counts, the engine's fold takes the counts over without a lock and without
// stopping it. A shard knows packets and networks; it knows nothing of windows, thresholds or where frames come from.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/address.h"
#include "count/counters.h"
#include "parse/frame.h"
#include "parse/packet_parser.h"

namespace floodwall {

/// received = counted + untracked + foreign + the sum of parseErrors, whenever the worker is between two batches.
struct ShardStats {
  std::uint64_t receivedPackets = 0;
  std::uint64_t receivedBytes = 0;
  /// To or from a host that has a row.
  std::uint64_t countedPackets = 0;
  /// To or from a network, but its host has no row: counted to the network.
  std::uint64_t untrackedPackets = 0;
  /// No counted address lies in the networks. Sources are only looked at when outgoing traffic is counted.
  std::uint64_t foreignPackets = 0;
  std::array<std::uint64_t, kParseErrors> parseErrors{};
};

class ShardState;

/// Made by Engine::addShard. One thread at a time is its worker, and only the worker may call what is not const.
class Shard {
 public:
  explicit Shard(std::unique_ptr<ShardState> state);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// Counts any number of frames; does not keep them. Not while idle.
  void countFrames(std::span<const Frame> frames, Link link);
  /// Adds what the kernel counted for a host since the last call, and to the stats as received and counted. A packet
  /// that the kernel counted in both directions must be handed over in one of them only for its stats to add up.
  void addHostCounts(const Address& address, Direction direction, const Counters& delta);
  /// The same for packets of hosts for which the kernel had no row.
  void addNetworkCounts(std::uint32_t network, Direction direction, const Counters& delta);
  /// Adds to the stats and to nothing else: outcomes that the kernel alone saw, or, modulo 2^64, corrections.
  /// Received packets are the sum of the others.
  void addOutcomes(const ShardStats& delta);
  /// Keeps a header that the kernel chose as a sample. Does not count.
  void addSample(const Frame& frame, Link link);

  /// Put these around every wait that may block: a worker that is neither idle nor counting holds up each fold.
  void enterIdle() noexcept;
  void leaveIdle() noexcept;

  /// Any thread.
  [[nodiscard]] ShardStats stats() const;

  [[nodiscard]] ShardState& state() noexcept { return *state_; }

 private:
  std::unique_ptr<ShardState> state_;
};

}  // namespace floodwall
