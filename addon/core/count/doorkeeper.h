// Decides which new address may take a row when the table is crowded: one that keeps sending, not one that is seen
// once in a flood of random destinations.
#pragma once

#include <cstdint>

#include "base/lazy_array.h"

namespace floodwall {

/// A fixed table of recently seen addresses, each a 24-bit tag and a count of packets, in sets of one cache line.
/// Random addresses push one another out, while one that has come twice stays ahead of them; counts are halved about
/// once a second.
class Doorkeeper {
 public:
  Doorkeeper() : sets_(kSets) {}

  enum class Answer : std::uint8_t { admit, wait, firstSeen };

  struct Table {
    /// `used` of `limit` rows are taken, or more than that.
    std::uint32_t used, limit;
    bool hasFreeRow;
  };
  /// Up to half full every address is admitted; beyond, the fuller the table, the more packets an address needs.
  [[nodiscard]] Answer ask(std::uint64_t hash, const Table& table, std::uint32_t packets) noexcept;

  /// Ages an n-th of the table, the next at each call; call it n times a second.
  void age(std::uint32_t n) noexcept;

  [[nodiscard]] std::size_t residentBytes() const { return sets_.residentBytes(); }

 private:
  static constexpr std::uint32_t kWays = 16, kSets = 1U << 14, kCountBits = 8, kCountMax = 255;
  struct alignas(64) Set {
    std::uint32_t entries[kWays];
  };

  LazyArray<Set> sets_;
  bool isInUse_ = false;
  std::uint32_t agedTo_ = 0;
};

}  // namespace floodwall
