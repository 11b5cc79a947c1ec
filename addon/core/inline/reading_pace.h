// When an inline interface is read next: soon after each fold and shortly before the next one, so that a fold finds
// what was counted in its tick; and more often while some hosts may reach their screen before the next fold.
#pragma once

#include <algorithm>
#include <cstdint>

namespace floodwall {

class ReadingPace {
 public:
  explicit ReadingPace(std::uint32_t tickMs) : tickMs_(std::max(tickMs, 2U)) {}

  /// All times in ms, of one clock. `foldedMs`: when the last fold began, 0 before the first. A reading that took long
  /// leaves as much time between: it is half of a CPU at most.
  [[nodiscard]] std::uint32_t pauseMs(std::uint64_t nowMs, std::uint32_t tookMs, std::uint64_t foldedMs,
                                      bool hasRising) const noexcept {
    const std::uint32_t due = foldedMs == 0 || foldedMs > nowMs
                                  ? tickMs_ / 2
                                  : dueIn(static_cast<std::uint32_t>((nowMs - foldedMs) % tickMs_), tookMs);
    return std::max({hasRising ? std::min(due, kRisingPauseMs) : due, tookMs, 1U});
  }

 private:
  static constexpr std::uint32_t kRisingPauseMs = 10;
  /// Before a fold, beside what a reading takes.
  static constexpr std::uint32_t kLeadMs = 5;
  /// A reading that is due so soon has just been made: clocks are rounded.
  static constexpr std::uint32_t kSlackMs = 2;

  [[nodiscard]] std::uint32_t dueIn(std::uint32_t phaseMs, std::uint32_t tookMs) const noexcept {
    const std::uint32_t soon = tickMs_ / 5, late = tickMs_ - std::min(tookMs + kLeadMs, tickMs_ / 2);
    if (phaseMs + kSlackMs < soon) return soon - phaseMs;
    if (phaseMs + kSlackMs < late) return late - phaseMs;
    return tickMs_ + soon - phaseMs;
  }

  std::uint32_t tickMs_;
};

}  // namespace floodwall
