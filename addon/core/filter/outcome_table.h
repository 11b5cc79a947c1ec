// Watched destinations in the kernel, and what became of the packets to each. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "filter/bucket_table.h"
#include "filter/filter_maps.h"

namespace floodwall {

class OutcomeTable {
 public:
  /// Forgets the destinations that the maps hold: their counts began with another process.
  explicit OutcomeTable(const FilterMaps& maps);

  /// Replaces the watched destinations. One that stays keeps its counts, one that is new begins with what was kept from
  /// it shortly before; of packets that passed before, nothing is known. Those beyond
  /// OUTCOME_DESTINATIONS_MAX, the last ones, are not watched.
  void watch(std::span<const ip_address> destinations);
  /// Counts of all CPUs for each destination of the last watch(), in its order; `isWatched` false: not known.
  struct Counts {
    bool isWatched = false;
    outcome_row row{};
  };
  [[nodiscard]] std::vector<Counts> read() const;

 private:
  struct AddressHash {
    std::size_t operator()(const ip_address& address) const noexcept {
      return static_cast<std::size_t>(address.halves[0] * 0x9e3779b97f4a7c15ULL ^ address.halves[1]);
    }
  };
  struct SameAddress {
    bool operator()(const ip_address& a, const ip_address& b) const noexcept {
      return a.halves[0] == b.halves[0] && a.halves[1] == b.halves[1];
    }
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  [[nodiscard]] std::uint64_t hashOf(const ip_address& destination) const;
  /// kNone: there is no room.
  std::uint32_t add(const ip_address& destination);
  void remove(const ip_address& destination, std::uint32_t number);
  /// The packets kept from it in the last one to two times OUTCOME_EARLY_NS, and forgets them.
  outcome_row takeEarly(const ip_address& destination, std::uint64_t hash);

  const FilterMaps& maps_;
  BucketTable buckets_;
  std::unordered_map<ip_address, std::uint32_t, AddressHash, SameAddress> numbers_;
  /// In the order of the last watch(): numbers of rows, or kNone.
  std::vector<std::uint32_t> order_;
  /// By number of the row: from before the destination was watched.
  std::vector<outcome_row> early_;
  /// The longest unused first.
  std::deque<std::uint32_t> free_;
};

}  // namespace floodwall
