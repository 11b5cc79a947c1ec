// The bits by which the kernel knows which hashes may be of a pair. Counts how many pairs share each bit, which only
// this process knows. One writer.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "filter_abi.h"

namespace floodwall {

class PairBits {
 public:
  /// The kernel reads `lines` meanwhile; `groups` is what filter_word_of() takes.
  PairBits(std::span<filter_bits> lines, std::uint32_t groups)
      : lines_(lines), groups_(groups), counts_(std::size_t{groups} * FILTER_GROUP_BITS) {}

  /// False: no added pair has this hash.
  [[nodiscard]] bool mayHave(std::uint64_t hash) const {
    const auto [one, other] = bitsOf(hash);
    return counts_[one] != 0 && counts_[other] != 0;
  }
  void add(std::uint64_t hash) {
    for (const std::uint32_t bit : bitsOf(hash)) {
      if (counts_[bit] != kUncounted) counts_[bit]++;
      store(bit, true);
    }
  }
  void remove(std::uint64_t hash) {
    for (const std::uint32_t bit : bitsOf(hash)) {
      if (counts_[bit] != kUncounted && --counts_[bit] == 0) store(bit, false);
    }
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

  /// Twice the same one where both bits are one.
  [[nodiscard]] std::array<std::uint32_t, 2> bitsOf(std::uint64_t hash) const {
    const std::uint32_t first = 64 * filter_word_of(hash, groups_);
    const std::uint64_t bits = filter_word_bits(hash);
    return {first + static_cast<std::uint32_t>(std::countr_zero(bits)),
            first + 63 - static_cast<std::uint32_t>(std::countl_zero(bits))};
  }

  void store(std::uint32_t bit, bool isSet) {
    __u64& word = lines_[bit / 512].words[bit / 64 % 8];
    const __u64 mask = __u64{1} << (bit % 64);
    if (((word & mask) != 0) == isSet) return;
    __atomic_store_n(&word, word ^ mask, __ATOMIC_RELEASE);
  }

  std::span<filter_bits> lines_;
  std::uint32_t groups_;
  std::vector<std::uint8_t> counts_;
};

}  // namespace floodwall
