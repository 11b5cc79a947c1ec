// Writes the ways of a table of buckets (filter_abi.h) while the kernel reads it. Knows rows by number only; one
// writer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "filter_abi.h"

namespace floodwall {

class BucketTable {
 public:
  /// A power of two of buckets.
  explicit BucketTable(std::span<filter_bucket> buckets) : buckets_(buckets) {}

  /// At most, of 15: then hardly a row finds its bucket full, and next to none both of them.
  static constexpr std::uint32_t kRowsPerBucket = 7;

  /// The row of this hash for which `is` holds.
  template <typename Is>
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t hash, Is&& is) const {
    for (const std::uint32_t bucket : {first(hash), second(hash)}) {
      for (const std::uint32_t way : buckets_[bucket].ways) {
        if (way == 0 || (way & FILTER_TAG_MASK) != filter_tag(hash)) continue;
        const std::uint32_t row = (way & ~FILTER_TAG_MASK) - 1;
        if (is(row)) return row;
      }
    }
    return std::nullopt;
  }

  /// False when both its buckets are full. The row must be whole: the kernel sees it from now on.
  [[nodiscard]] bool insert(std::uint64_t hash, std::uint32_t row) {
    const std::uint32_t way = filter_tag(hash) | (row + 1);
    if (put(first(hash), 0, way)) return true;
    if (!put(second(hash), 0, way)) return false;
    addElsewhere(hash, 1);
    return true;
  }

  /// As insert(), for a table of which the kernel reads the first bucket alone.
  [[nodiscard]] bool insertFirst(std::uint64_t hash, std::uint32_t row) {
    return put(first(hash), 0, filter_tag(hash) | (row + 1));
  }

  void erase(std::uint64_t hash, std::uint32_t row) {
    const std::uint32_t way = filter_tag(hash) | (row + 1);
    if (!put(first(hash), way, 0) && put(second(hash), way, 0)) addElsewhere(hash, UINT32_MAX);
  }

  [[nodiscard]] std::uint32_t first(std::uint64_t hash) const { return filter_bucket_of(hash, size()); }
  [[nodiscard]] std::uint32_t second(std::uint64_t hash) const { return filter_second_bucket_of(hash, size()); }

 private:
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(buckets_.size()); }

  bool put(std::uint32_t bucket, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t& way : buckets_[bucket].ways) {
      if (replace(way, from, to)) return true;
    }
    return false;
  }
  static bool replace(std::uint32_t& way, std::uint32_t from, std::uint32_t to) {
    if (way != from) return false;
    __atomic_store_n(&way, to, __ATOMIC_RELEASE);
    return true;
  }
  void addElsewhere(std::uint64_t hash, std::uint32_t change) {
    __atomic_fetch_add(&buckets_[first(hash)].elsewhere, change, __ATOMIC_RELEASE);
  }

  std::span<filter_bucket> buckets_;
};

}  // namespace floodwall
