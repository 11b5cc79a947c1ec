// The data sources of sFlow agents (sFlow v5, 3.2): each samples at a rate of its own and numbers its samples.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "flow/flow_domain.h"
#include "flow/flow_exporter_status.h"
#include "flow/sequence_tracker.h"

namespace floodwall {

struct DataSourceKey {
  std::uint64_t agent = 0;
  std::uint32_t subAgent = 0;
  /// 0: an interface of this ifIndex.
  std::uint32_t kind = 0;
  std::uint32_t index = 0;
  friend bool operator==(const DataSourceKey&, const DataSourceKey&) = default;
};

/// The counters of an agent for a data source, as of `atMs`.
struct AgentCounts {
  std::uint32_t samples = 0;
  /// Packets that could have been sampled.
  std::uint32_t pool = 0;
  std::uint32_t drops = 0;
  std::uint64_t atMs = 0;
};

struct DataSource {
  SequenceTracker sequence;
  std::uint32_t rate = 0;
  std::uint64_t seenMs = 0;
  /// As the agent counts them.
  std::uint32_t drops = 0;
  AgentCounts since;
  /// Samples that each one stands for, since the agent left others out for lack of resources.
  float standsFor = 1;
  /// Bytes of the longest header so far, and whether a frame was ever said to be longer than its header: an agent of
  /// which none was may report the header's length for the frame's.
  std::uint32_t longestHeader = 0;
  bool hasLongFrames = false;
  bool hasDrops = false;
};

class DataSources {
 public:
  DataSources();
  /// Over kDataSourcesMax the ones that were not seen for longest are replaced by new ones, at most every 100 ms; null
  /// if there is no room.
  [[nodiscard]] DataSource* of(const DataSourceKey& key, std::uint64_t nowMs);
  /// Losses of all of them; see SequenceTracker.
  std::uint64_t takeLost(std::uint64_t nowMs) noexcept;
  void addTo(std::vector<SamplingStatus>& samplings) const;
  [[nodiscard]] std::size_t memoryBytes() const noexcept;

 private:
  struct Hash {
    std::uint64_t seed;
    std::size_t operator()(const DataSourceKey& key) const noexcept;
  };
  using Table = std::unordered_map<DataSourceKey, DataSource, Hash>;

  void makeRoom(std::uint64_t nowMs);

  Table table_;
  std::uint64_t roomMadeMs_ = 0;
  /// Found before, by the lowest bits of the index.
  std::array<Table::value_type*, 32> last_{};
};

}  // namespace floodwall
