// Whether records that tell of what is long over do not count, or count when they come, since all of their exporter do.
#pragma once

#include <cstdint>

namespace floodwall {

/// Some routers are wrong about the times of their flows, all of the time (Ubiquiti's EdgeRouter by years): their
/// records count as they come. Of others a late record is left out, which came of a queue, or twice. Which it is shows
/// in the records of the last one to two minutes.
class RecordAge {
 public:
  static constexpr std::uint64_t kSpanMs = 60'000;
  /// So many more records that are not late make an exporter one whose times are right.
  static constexpr std::uint64_t kMore = 16;

  /// Whether a late record counts. Times of the monotonic clock.
  [[nodiscard]] bool countsLate(std::uint64_t nowMs) noexcept {
    turn(nowMs);
    now_.late++;
    return now_.timely + before_.timely < now_.late + before_.late + kMore;
  }
  /// A record that says its time, and is not late.
  void noteTimely(std::uint64_t nowMs) noexcept {
    turn(nowMs);
    now_.timely++;
  }

 private:
  struct Counts {
    std::uint64_t late = 0;
    std::uint64_t timely = 0;
  };
  void turn(std::uint64_t nowMs) noexcept {
    if (nowMs < sinceMs_ + kSpanMs) return;
    before_ = nowMs < sinceMs_ + 2 * kSpanMs ? now_ : Counts{};
    now_ = {};
    sinceMs_ = nowMs;
  }

  Counts now_;
  Counts before_;
  std::uint64_t sinceMs_ = 0;
};

}  // namespace floodwall
