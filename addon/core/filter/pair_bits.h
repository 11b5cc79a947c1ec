// The bits by which the kernel knows which hashes may be of a pair. Counts how many pairs share each bit, which only
// this process knows. One writer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filter_abi.h"

namespace floodwall {

class PairBits {
 public:
  /// The kernel reads `lines` meanwhile; `rows` is what filter_bit_of() takes.
  PairBits(std::span<filter_bits> lines, std::uint32_t rows)
      : lines_(lines), rows_(rows), counts_(std::size_t{rows} * FILTER_PAIR_BITS) {}

  void add(std::uint64_t hash) {
    const std::uint32_t bit = filter_bit_of(hash, rows_);
    if (counts_[bit] != kUncounted) counts_[bit]++;
    store(bit, true);
  }
  void remove(std::uint64_t hash) {
    const std::uint32_t bit = filter_bit_of(hash, rows_);
    if (counts_[bit] == kUncounted || --counts_[bit] != 0) return;
    store(bit, false);
  }
  /// Clears the bits that no added pair has: a crash may have left them.
  void clearOthers() {
    for (std::uint32_t bit = 0; bit < counts_.size(); bit++) {
      if (counts_[bit] == 0) store(bit, false);
    }
  }

 private:
  /// A bit that this number of pairs share is never cleared.
  static constexpr std::uint8_t kUncounted = UINT8_MAX;

  void store(std::uint32_t bit, bool isSet) {
    __u64& word = lines_[bit / 512].words[bit / 64 % 8];
    const __u64 mask = __u64{1} << (bit % 64);
    if (((word & mask) != 0) == isSet) return;
    __atomic_store_n(&word, word ^ mask, __ATOMIC_RELEASE);
  }

  std::span<filter_bits> lines_;
  std::uint32_t rows_;
  std::vector<std::uint8_t> counts_;
};

}  // namespace floodwall
