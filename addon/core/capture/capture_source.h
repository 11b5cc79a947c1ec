// The interface of every source of packets. A source owns its worker threads, each of which feeds one
// shard; it knows nothing of hosts, windows or thresholds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/source_error.h"
#include "count/networks.h"
#include "count/shard.h"
#include "parse/packet_parser.h"

namespace floodwall {

struct QueueStats {
  std::string interface;
  /// -1 where the source has no queues.
  int queue = -1;
  /// Counts of the shard: received = counted + untracked + foreign + parse errors.
  ShardStats shard;
  std::uint64_t droppedRingFull = 0;
  std::uint64_t droppedFillEmpty = 0;
  std::uint64_t droppedKernel = 0;
  /// Headers chosen as samples that found no room; their packets were counted.
  std::uint64_t lostSamples = 0;
  /// Packets of senders that are not configured.
  std::uint64_t refused = 0;
};

enum class SourceState : std::uint8_t { running, failed, ended };

struct SourceStatus {
  SourceState state = SourceState::running;
  /// The mode in use, as a text: "native, copy mode, 4 queues, real-time priority".
  std::string mode;
  /// The error and its remedy, if failed.
  std::string error;
  std::vector<QueueStats> queues;
};

class CaptureSource {
 public:
  CaptureSource() = default;
  CaptureSource(const CaptureSource&) = delete;
  CaptureSource& operator=(const CaptureSource&) = delete;
  /// Stops the workers, detaches the program and frees all; returns when the threads are joined.
  virtual ~CaptureSource() = default;
  /// May be called from any thread while the workers run.
  [[nodiscard]] virtual SourceStatus status() const = 0;
  /// For a source that counts in the kernel: the networks that its engine has, at first and after each change. Returns
  /// at once; the source uses them within a tick. Others leave the networks to their shards.
  virtual void setNetworks(const NetworksColumns&) {}
};

}  // namespace floodwall
