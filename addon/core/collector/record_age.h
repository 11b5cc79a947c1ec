// Decides whether late records are left out, or count when they come because all records of their exporter are late.
#pragma once

#include <cstdint>

namespace floodwall {

/// Some routers are wrong about the times of their flows, all of the time (Ubiquiti's EdgeRouter by years): their
/// records count as they come. A late record of another exporter is left out: it waited in a queue, or came twice. The
/// records of the last one to two minutes show which exporter it is.
class RecordAge {
 public:
  static constexpr std::uint64_t kSpanMs = 60'000;
  /// The times of an exporter are right if it sent more timely records than late ones, by this number.
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
