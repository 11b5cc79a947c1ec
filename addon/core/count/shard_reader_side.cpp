#include "count/shard_reader_side.h"

#include "count/watched_hosts.h"

namespace floodwall {

ShardReaderSide::ShardReaderSide(std::shared_ptr<const Control> control)
    : shared_(std::move(control)),
      control_(*shared_),
      recent_(kSampledOutcomes, kRecentSamples),
      watchedRings_(kWatchedMax, kWatchedSamples),
      profiles_(control_.profiles, control_.epochsPerSecond) {}

ShardStats ShardReaderSide::stats() const noexcept {
  const auto read = [&](std::size_t i) { return stats_[i].load(std::memory_order_relaxed); };
  ShardStats stats;
  stats.receivedPackets = read(kReceivedPackets);
  stats.receivedBytes = read(kReceivedBytes);
  stats.countedPackets = read(kCounted);
  stats.untrackedPackets = read(kUntracked);
  stats.foreignPackets = read(kForeign);
  for (std::size_t i = 0; i < kParseErrors; i++) stats.parseErrors[i] = read(kErrors + i);
  for (std::size_t i = 0; i < kEncapsulations; i++) stats.encapsulated[i] = read(kEncapsulated + i);
  for (std::size_t i = 0; i < kNotIpKinds; i++) stats.notIp[i] = read(kNotIp + i);
  stats.etherTypes = etherTypes_.counts();
  return stats;
}

RecordStats ShardReaderSide::recordStats() const noexcept {
  return {clampedRecords_.load(std::memory_order_relaxed), unspreadRecords_.load(std::memory_order_relaxed),
          spreadingRecords_.load(std::memory_order_relaxed)};
}

}  // namespace floodwall
