// The counts that each host got in each bucket of the window, so that they can be subtracted when the bucket leaves it.
// Entries are as long as what they hold: memory follows activity, not windows times hosts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/lazy_array.h"
#include "count/totals.h"

namespace floodwall {

struct JournalEntry {
  std::uint32_t host;
  Direction direction;
  Totals totals;
};

/// Entries lie in chunks that are chained by bucket and come from one bounded pool. An entry is a byte (which classes,
/// new flows, direction), the host and the counts that are not zero, as numbers of seven bits a byte (LEB128): 7 to 10
/// bytes for a quiet host.
class Journal {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{16} << 10;

  /// A chunk is open in each bucket, so that there are at least as many chunks as buckets.
  Journal(std::uint32_t buckets, std::size_t bytes);

  /// False, and nothing is kept, when the journal is full.
  [[nodiscard]] bool append(std::uint32_t bucket, const JournalEntry& entry) noexcept;

  /// Takes some entries out of the bucket, at most kTaken, and returns how many; 0 when it is empty.
  std::size_t take(std::uint32_t bucket, std::vector<JournalEntry>& out);
  static constexpr std::size_t kTaken = 64;

  /// Where a reading of a bucket goes on.
  struct Place {
    std::uint32_t chunk;
    std::uint32_t byte;
  };
  [[nodiscard]] Place begin(std::uint32_t bucket) const noexcept {
    return {buckets_[bucket].first, buckets_[bucket].taken};
  }
  /// As take(), but the entries stay, and `place` moves on.
  std::size_t read(Place& place, std::vector<JournalEntry>& out) const;

  [[nodiscard]] std::size_t residentBytes() const { return chunks_.residentBytes(); }

 private:
  static constexpr std::uint32_t kNoChunk = 0xffffffff;
  /// Header, host, and every count at its longest.
  static constexpr std::size_t kEntryBytesMax = 1 + 5 + Totals::kCount * 10;

  struct Chunk {
    std::uint32_t next;
    std::uint32_t used;
    std::array<std::uint8_t, kChunkBytes - 8> bytes;
  };
  struct Bucket {
    std::uint32_t first = kNoChunk;
    std::uint32_t last = kNoChunk;
    /// Bytes of the first chunk that take() has read.
    std::uint32_t taken = 0;
  };

  std::uint32_t newChunk() noexcept;

  LazyArray<Chunk> chunks_;
  std::uint32_t usedChunks_ = 0;
  std::uint32_t freeChunk_ = kNoChunk;
  std::vector<Bucket> buckets_;
};

}  // namespace floodwall
