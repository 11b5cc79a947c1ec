// The normal rates of each hour of the week (168 slots, UTC), for those rows of the baseline table that have a place
// here. At the end of an hour its mean goes into the slot with half the weight. Knows no limits.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/lazy_array.h"

namespace floodwall {

/// Packets, 10^6 bits and new flows per second: the metrics that are learned.
inline constexpr std::size_t kBaseTrio = 3;
using BaseTrio = std::array<double, kBaseTrio>;

/// A time as hours since the epoch and seconds into the present hour.
struct HourMoment {
  std::int64_t hour = 0;
  double intoSeconds = 0;
};

/// A rate in one byte, logarithmic: 0 means not learned, 1 means zero, the rest are 36 octaves from 2^-6, above every
/// possible rate. The error is at most 5.1 %.
[[nodiscard]] std::uint8_t codeOfRate(double rate) noexcept;
[[nodiscard]] double rateOfCode(std::uint8_t code) noexcept;

class SeasonTable {
 public:
  static constexpr std::size_t kSlots = 168;
  /// Codes of one direction of a row: one byte for each slot and metric.
  static constexpr std::size_t kCodes = kSlots * kBaseTrio;
  static constexpr std::uint32_t kNone = 0xffffffff;

  /// The state of one direction beside the codes, as it is kept on disk.
  struct Hour {
    /// 1 + the last hour with traffic since the epoch; 0: none.
    std::uint32_t last;
    /// Seconds of traffic in it, their mean, and the normal at its start.
    float seconds;
    std::array<float, kBaseTrio> mean;
    std::array<float, kBaseTrio> from;
  };

  /// `rows` of the baseline table; places for `hosts`, and `groups` places more that only whole hostgroups take.
  SeasonTable(std::uint32_t rows, std::uint32_t directions, std::uint32_t hosts, std::uint32_t groups);

  [[nodiscard]] std::uint32_t count() const noexcept { return used_ - static_cast<std::uint32_t>(free_.size()); }
  /// Number of refused requests for a place.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
  /// Rows with a place.
  [[nodiscard]] std::vector<std::uint32_t> rows() const;

  /// Call this before each pass over all hosts: it has a bound for the search for idle rows.
  void beginPass() noexcept { candidates_ = kCandidates; }

  /// kNone: the row has no place.
  [[nodiscard]] std::uint32_t find(std::uint32_t row) const noexcept { return placeOf_[row] - 1; }
  /// `isIdle(row)`: it had no traffic for long enough to lose its place. kNone when all places are taken.
  template <typename IsIdle>
  std::uint32_t findOrAdd(std::uint32_t row, bool isHost, IsIdle&& isIdle) {
    const std::uint32_t found = find(row);
    if (found != kNone) return found;
    const std::uint32_t most = isHost ? hosts_ : capacity_;
    if (count() >= most) freeIdle(isIdle);
    if (count() < most) return add(row);
    refused_++;
    return kNone;
  }
  /// Frees the row's place: the row gets another key.
  void release(std::uint32_t row);

  [[nodiscard]] bool isLearned(std::uint32_t place, std::uint32_t side, std::int64_t hour) const noexcept {
    return codes(place, side)[codeAt(hour)] != 0;
  }
  /// `recent`: the normal rate for hours that are not learned yet.
  [[nodiscard]] double normal(std::uint32_t place, std::uint32_t side, std::size_t metric, const HourMoment& moment,
                              double recent) const noexcept;
  /// Call this before the first rates of an hour: it stores the last hour in its slot.
  void startHour(std::uint32_t place, std::uint32_t side, const HourMoment& moment, const float* recents) noexcept;
  /// Learns `seconds` of traffic at these rates, for the hour of the last startHour().
  void learn(std::uint32_t place, std::uint32_t side, const BaseTrio& rates, double seconds) noexcept;

  [[nodiscard]] Hour& hour(std::uint32_t place, std::uint32_t side) const noexcept {
    return hours_[std::size_t{place} * directions_ + side];
  }
  [[nodiscard]] std::span<std::uint8_t, kCodes> codes(std::uint32_t place, std::uint32_t side) const noexcept {
    return std::span<std::uint8_t, kCodes>(&codes_[(std::size_t{place} * directions_ + side) * kCodes], kCodes);
  }

 private:
  /// Candidates checked for a place in one pass over all hosts: up to a million rows may be refused.
  static constexpr std::uint32_t kCandidates = 256;

  [[nodiscard]] static std::size_t codeAt(std::int64_t hour) noexcept {
    constexpr auto kHours = static_cast<std::int64_t>(kSlots);
    return static_cast<std::size_t>((hour % kHours + kHours) % kHours) * kBaseTrio;
  }
  [[nodiscard]] double ofHour(std::uint32_t place, std::uint32_t side, std::size_t metric, std::int64_t hour,
                              double recent) const noexcept {
    const std::uint8_t code = codes(place, side)[codeAt(hour) + metric];
    return code == 0 ? recent : rateOfCode(code);
  }
  void keep(std::uint32_t place, std::uint32_t side, std::int64_t hour) noexcept;
  std::uint32_t add(std::uint32_t row);

  template <typename IsIdle>
  void freeIdle(IsIdle&& isIdle) {
    for (; candidates_ > 0; candidates_--) {
      const std::uint32_t place = hand_;
      hand_ = (hand_ + 1) % used_;
      const std::uint32_t row = rowOf_[place];
      if (find(row) != place || !isIdle(row)) continue;
      release(row);
      return;
    }
  }

  std::uint32_t directions_;
  std::uint32_t hosts_;
  std::uint32_t capacity_;
  /// Place + 1 of a row (0: none), and the reverse.
  LazyArray<std::uint32_t> placeOf_;
  LazyArray<std::uint32_t> rowOf_;
  LazyArray<std::uint8_t> codes_;
  LazyArray<Hour> hours_;
  std::vector<std::uint32_t> free_;
  /// Number of places that were ever used.
  std::uint32_t used_ = 0;
  std::uint32_t hand_ = 0;
  std::uint32_t candidates_ = kCandidates;
  std::uint64_t refused_ = 0;
};

}  // namespace floodwall
