// Takes what the inline program counted into a shard, reading by reading, and its samples. Used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "count/shard.h"
#include "inline/inline_hosts.h"
#include "inline/inline_program.h"

struct ring_buffer;

namespace floodwall {

/// The configured networks as the inline sources share them. Immutable.
struct InlinePrefixes {
  std::vector<PrefixValue> prefixes;
  std::uint32_t networkCount = 0;
  PrefixTable table;
};

class InlineReader {
 public:
  /// Both outlive the reader. Throws SourceError.
  InlineReader(InlineProgram& program, Shard& shard, std::uint32_t idleMs);
  ~InlineReader();
  InlineReader(const InlineReader&) = delete;
  InlineReader& operator=(const InlineReader&) = delete;

  void setNetworks(const InlinePrefixes& networks);
  void read(std::uint64_t nowMs);

 private:
  void readNetworks();
  void settleStats();

  struct CloseRing {
    void operator()(ring_buffer* ring) const;
  };

  InlineProgram& program_;
  Shard& shard_;
  /// The shard's counts before this session.
  ShardStats before_;
  /// By lane.
  std::vector<InlineHosts> hosts_;
  /// By network identifier, then lane.
  std::vector<Counters> networks_;
  std::uint64_t networkPackets_ = 0;
  /// Whether there were such packets before the last reading.
  bool isShortOfRows_ = false;
  const PrefixTable* replaced_ = nullptr;
  /// The shard that takes a sample, and the number of packets of which it is one.
  struct SampleSink {
    Shard& shard;
    std::uint32_t every;
  };
  static int takeSample(void* sink, void* data, std::size_t);
  SampleSink sink_;
  std::unique_ptr<ring_buffer, CloseRing> samples_;
  std::vector<std::uint32_t> keys_;
  std::vector<inline_counts> values_;
};

}  // namespace floodwall
